package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
)

func TestAPhoneIsKnownByItsAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(nil)
	insert := func(id, phone string, status payment.Status, made, sent time.Time) {
		a := attempt(id, c)
		a.Subject, a.Phone, a.Status, a.CreatedAt, a.SentAt = "of "+id, phone, status, made, sent
		b.insert(a)
	}
	const phone = "+254711223344"
	insert("long ago", phone, payment.Failed, later(0), later(1))
	insert("no word yet", phone, payment.Prompted, later(1), later(2))
	insert("not sent yet", phone, payment.Created, later(2), time.Time{})
	insert("sent late", phone, payment.Failed, later(3), later(60))
	insert("made now", phone, payment.Withdrawn, later(60), time.Time{})
	insert("another phone", "+254711223345", payment.Prompted, later(60), later(60))
	err := b.Write(t.Context(), func(tx db.Tx) error {
		list, err := store.Payments{}.OnPhone(t.Context(), tx, phone, later(60))
		var got []string
		for _, a := range list {
			got = append(got, a.ID)
		}
		if diff := cmp.Diff([]string{"made now", "sent late", "not sent yet", "no word yet"}, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Two nodes would prompt one phone for two bookings at the same instant: the
// second to look sees the first.
func TestAPhoneIsPromptedOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	c := a.turn(nil)
	ask := func(n *bundle, node string) func(int) error {
		return func(i int) error {
			p := attempt(fmt.Sprintf("%s%d", node, i), c)
			p.Subject, p.Amount, p.Status, p.CreatedAt, p.SentAt = p.ID, money.Major(10, "KES"), payment.Created, later(0), time.Time{}
			return n.Write(t.Context(), func(tx db.Tx) error {
				on, err := store.Payments{}.OnPhone(t.Context(), tx, p.Phone, later(-120))
				if err != nil || payment.FreeAt(on, later(0)).After(later(0)) {
					return err
				}
				return store.Payments{}.Insert(t.Context(), tx, p)
			})
		}
	}
	race(t, 10, ask(a, "a"), ask(b, "b"))
	a.want("1", "SELECT COUNT(*) FROM payment_attempts")
}
