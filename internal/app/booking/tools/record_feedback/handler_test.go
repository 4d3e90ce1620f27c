package recordfeedback_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestFeedbackNamesTheConversationThatBooked(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	args := calendar.RecordFeedbackArgs{BookingID: b.ID, Rating: "up"}
	s.Now = b.Start.Add(-time.Second)
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.RecordFeedback, args, calendar.WrongState)
	s.Now = b.End
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.RecordFeedback, args, calendar.NoSuchBooking)
	desktest.Must[struct{}](s, "asha", calendar.RecordFeedback, args)
	desktest.Must[struct{}](s, "asha", calendar.RecordFeedback, calendar.RecordFeedbackArgs{BookingID: b.ID, Comment: " Lovely "})
	want := desktest.Feedback{
		Rating: "up", Comment: "Lovely", Thread: "thread", Turn: "turn", Models: `[{"role":"intent_classifier","prompt":"1.0.0","arm":"control"}]`,
	}
	if diff := cmp.Diff(want, s.Feedback(b.ID)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
