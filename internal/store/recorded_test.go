package store_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/turn"
)

func TestACommittedTurnIsReadWithWhatItDid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a")
	c := b.turn(func(c *turn.Commit) { c.Digest, c.Outbox = "d", append(c.Outbox, row(c, "o1", "l", "agent")) })
	got, err := b.Committed(t.Context(), c.TurnID)
	if err != nil || got.ID != c.TurnID || got.Digest != "d" || string(got.Inputs) != "{}" || len(got.Sent) != 1 || got.Sent[0].ID != "o1" ||
		got.Thread == nil || got.Thread.ID != c.Thread.ID || got.Thread.Version != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.Committed(t.Context(), "nowhere"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of no turn: %v", err)
	}
}
