package demo_test

import (
	"testing"
	"time"
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
	gone.quiet()
}
