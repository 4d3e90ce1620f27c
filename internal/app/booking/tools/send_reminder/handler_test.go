package sendreminder_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestAReminderGoesToTheBookingsCustomerOnceADay(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Book.Add("asha", "Asha", "+254700000001", s.Now)
	s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	s.Hold("ben", "B2", desktest.At(4, 14, 0))
	args := calendar.SendReminderArgs{BookingID: "B1"}
	for range 2 {
		if got := desktest.Must[calendar.Reminded](s, "", calendar.SendReminder, args); got.Name != "Asha" || got.Template {
			t.Errorf("reminded %+v", got)
		}
	}
	if len(s.Effects) != 2 || s.Effects[0].Key != s.Effects[1].Key || s.Effects[0].Contact != "asha" || s.Effects[0].Origin != outbox.Reminder {
		t.Fatalf("effects: %+v", s.Effects)
	}
	letter, ok := s.Effects[0].Payload.(outbox.Send)
	if !ok || letter.Number != "100" || !strings.Contains(letter.Out.Text, "Massage with Grace") || !strings.Contains(letter.Out.Text, "CODEB1") {
		t.Errorf("the letter is %+v", letter)
	}
	desktest.Refused[any](s, "", calendar.SendReminder, calendar.SendReminderArgs{BookingID: "B2"}, calendar.WrongState)
	desktest.Refused[any](s, "", calendar.SendReminder, calendar.SendReminderArgs{BookingID: "B9"}, calendar.NoSuchBooking)
	s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: "jane"}
	desktest.Refused[any](s, "", calendar.SendReminder, args, calendar.NoSuchBooking)
	s.As.Role, s.Now = tenant.Owner, s.Now.Add(25*time.Hour)
	if got := desktest.Must[calendar.Reminded](s, "", calendar.SendReminder, args); !got.Template {
		t.Errorf("outside the window: %+v", got)
	}
}
