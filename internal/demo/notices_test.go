package demo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/tenant"
)

// A customer is reminded of a visit by itself, may answer with one tap, and is
// asked afterwards how it was. What is cancelled is not spoken of again.
func TestRemindersAndFeedbackComeByThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.paid(mary, tomorrowAfternoon, "Mary Wambui") // Tuesday afternoon
	gone := w.phone("+254700000002")
	gone.say("a facial tomorrow at 11 am with Njeri please")
	book(t, gone, "Brian Otieno")
	gone.tap("yes")
	if h := gone.last; len(h.choices()) == 0 {
		gone.pin("1234")
		mustSay(t, gone.hear(), "confirmed")
	}
	gone.say("cancel my booking")
	gone.tapYes()
	w.advance(6 * time.Hour)
	mustSay(t, p.hear(), "reminder", "massage", "Mary Wambui")
	w.advance(22 * time.Hour)
	mustSay(t, p.hear(), "see you soon")
	w.advance(5 * time.Hour)
	mustSay(t, p.hear(), "thank you for coming")
	p.quiet()
	mustSay(t, gone.hear(), "has been returned")
	gone.quiet()
}

// Who waits for a time is offered it when it becomes free, and the next in line
// when they do not answer.
func TestAFreedTimeIsOfferedDownTheLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.phone(mary)
	first.say("a facial tomorrow at 3 pm with Njeri please")
	book(t, first, "Mary Wambui")
	first.tap("yes")
	first.pin("1234")
	mustSay(t, first.hear(), "confirmed")
	second, third := w.phone("+254700000002"), w.phone("+254700000003")
	for i, p := range []*phone{second, third} {
		p.say("hello")
		w.waits(p.number, i)
	}
	second.quiet() // nothing is free
	first.say("cancel my booking")
	mustSay(t, first.tapYes(), "is cancelled")
	mustSay(t, second.hear(), "has become free", "Facial", "3:00 pm", "9:45 am")
	third.quiet()
	w.advance(15 * time.Minute)
	mustSay(t, third.hear(), "has become free", "3:00 pm", "10:00 am")
	second.quiet()
	third.tap("take/")
	book(t, third, "Amina Hassan")
	mustSay(t, third.last, "check your booking", "3:00 pm", "Njeri")
	mustSay(t, third.tapYes(), "M-Pesa")
	third.pin("1234")
	mustSay(t, third.hear(), "confirmed")
	w.advance(16 * time.Minute)
	second.quiet()
	third.quiet()
}

// waits puts the person with a number in line for a facial tomorrow at three.
func (w world) waits(number string, place int) {
	w.t.Helper()
	st, err := w.Server.Store(w.Server.Tenants()[tenantOf(w, "serenity")].ID)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := w.t.Context()
	if err := st.Write(ctx, func(tx db.Tx) error {
		var contactID string
		if err := tx.QueryRowContext(ctx, "SELECT contact_id FROM contact_identities WHERE value = $1", number).Scan(&contactID); err != nil {
			return err
		}
		_, err := bookingsql.Join(ctx, tx, bookingsql.Caller{Zone: time.FixedZone("EAT", 3*60*60), Now: monday}, calendar.JoinWaitlistArgs{
			ID: fmt.Sprint("W", place), ContactID: contactID, Name: "Someone", ServiceID: "facial", StaffID: "njeri",
			From: "2026-11-24", To: "2026-11-24", TimeFrom: "15:00", TimeTo: "15:30",
		})
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

func tenantOf(w world, slug string) int {
	return slices.IndexFunc(w.Server.Tenants(), func(t tenant.Tenant) bool { return t.Slug == slug })
}
