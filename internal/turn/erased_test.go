package turn_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ratiba/ratiba/internal/turn"
)

func TestAnErasedTurnSaysThatItCannotBeReplayed(t *testing.T) {
	t.Parallel()
	_, err := turn.New(turn.Config{}).Replay(t.Context(), turn.Business{}, json.RawMessage(turn.ErasedInputs))
	if !errors.Is(err, turn.ErrErased) {
		t.Errorf("got %v, want ErrErased", err)
	}
}
