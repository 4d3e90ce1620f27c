package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
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
	err := b.Read(t.Context(), func(q db.Q) error {
		list, err := store.Payments{}.OnPhone(t.Context(), q, phone, later(60))
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
