package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/turn"
)

// A prompt that will never be sent has no callback and no timer: its attempt
// would stay open for ever, and its thread with it.
func TestAPromptThatWillNotBeSentIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		drop func(b *bundle)
		want int
	}{
		{"it came too late", func(b *bundle) { b.send(later(7200), later(7200)) }, 1},
		{"it was given up", func(b *bundle) {
			rows, _ := b.send(noon, noon)
			b.settle(rows[0], outbox.Failed, noon, outbox.Outcome{Verdict: outbox.GiveUp})
		}, 1},
		{"it was begun, and its own timer speaks", func(b *bundle) {
			rows, _ := b.send(noon, noon)
			if _, err := b.ChangeAttempt(t.Context(), "a1", func(a payment.Attempt) (payment.Attempt, bool) { return payment.Begin(a, noon) },
				func(payment.Attempt) time.Time { return time.Time{} }); err != nil {
				b.t.Fatal(err)
			}
			b.settle(rows[0], outbox.Failed, noon, outbox.Outcome{Verdict: outbox.GiveUp})
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.write("m1")
			first := b.turn(func(c *turn.Commit) {
				prompt := row(c, "o1", "mpesa", outbox.Payment)
				prompt.Kind, prompt.ExpiresAt, prompt.Payload = payment.EffectPrompt, later(600), json.RawMessage(`{"attempt_id":"a1"}`)
				c.Outbox = []outbox.Row{prompt}
			})
			b.insert(attempt("a1", first))
			c.drop(b)
			snap := b.load()
			if len(snap.Items) != c.want {
				t.Fatalf("%d events wait, want %d", len(snap.Items), c.want)
			}
			if c.want == 0 {
				return
			}
			var r payment.Report
			if err := json.Unmarshal(snap.Items[0].Event.Data, &r); err != nil || r.Outcome.Kind != payment.Rejected || snap.Attempt.ID != "a1" {
				t.Errorf("report %+v of %v, %v; want the attempt's rejection", r, snap.Attempt, err)
			}
		})
	}
}

// One row whose thread is not there must not hold up a whole business.
func TestARowWithoutItsThreadIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) {
		orphan := row(c, "o1", "a", outbox.Agent)
		orphan.ThreadID = "01NOTHREAD"
		c.Outbox = []outbox.Row{orphan, row(c, "o2", "b", outbox.Agent)}
	})
	if _, sent := b.send(noon, noon); len(sent) != 2 {
		t.Errorf("sent %v, want both", sent)
	}
}

func TestAChangedNumberReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	owner := b.text("SELECT contact_id FROM contact_identities WHERE value = $1", amina)
	changed := said("m2", amina)
	changed.Kind, changed.NewIDs = message.System, []contact.Identity{{Kind: contact.Phone, Value: "+254799000111"}}
	b.deliver(changed, 60)
	b.want(owner, "SELECT contact_id FROM contact_identities WHERE value = '+254799000111'")
	b.want("0", "SELECT COUNT(*) FROM contact_identities WHERE value = $1", amina)
	b.deliver(said("m3", amina), 120) // the old number is somebody else's now
	b.want("2", "SELECT COUNT(*) FROM contacts")
	b.deliver(said("m3b", "+254799000111"), 130)
	moved := said("m3c", "+254799000333") // known by the user id, from yet another number
	moved.From = append(moved.From, contact.Identity{Kind: contact.BSUID, Value: "KE.7"})
	known := said("m3d", "+254799000111")
	known.From = append(known.From, moved.From[1])
	b.deliver(known, 140)
	b.deliver(moved, 150)
	b.want(owner, "SELECT contact_id FROM contact_identities WHERE value = '+254799000333'")
	b.want("0", "SELECT COUNT(*) FROM contact_identities WHERE value = '+254799000111'")

	taken := said("m4", "+254799000333")
	taken.Kind, taken.NewIDs = message.System, []contact.Identity{{Kind: contact.Phone, Value: amina}}
	b.deliver(taken, 180) // a number that is known as another person's moves nobody
	b.want(owner, "SELECT contact_id FROM contact_identities WHERE value = '+254799000333'")
	b.want("2", "SELECT COUNT(*) FROM contacts")
}
