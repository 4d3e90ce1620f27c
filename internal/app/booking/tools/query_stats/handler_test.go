package querystats_test

import (
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func stats(s *desktest.Shop, r calendar.Report, date, staff string) calendar.Stats {
	return desktest.Must[calendar.Stats](s, "", calendar.QueryStats, calendar.QueryStatsArgs{Report: r, Date: date, StaffID: staff})
}

func TestReports(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	s.Confirmed("ben", "B2", desktest.At(4, 14, 0))
	s.Hold("cia", "B3", desktest.At(5, 10, 0))
	gone := s.Confirmed("asha", "B4", desktest.At(6, 10, 0))
	desktest.Must[calendar.Booking](s, "", calendar.CancelBooking, calendar.CancelBookingArgs{BookingID: gone.ID, Reason: "ill", Version: gone.Version})

	week := stats(s, calendar.ReportWeek, "2026-03-08", "")
	if w := week.Totals; week.From != "2026-03-02" || week.To != "2026-03-08" || w.Visits != 2 || w.Waiting != 1 || w.Cancelled != 1 || w.Customers != 2 ||
		w.Booked.String() != "KES 7,000" || w.Paid.Minor != 200000 || week.Days[2].Visits != 2 {
		t.Errorf("week: %+v %+v", week, w)
	}
	day := stats(s, calendar.ReportDay, "2026-03-04", "")
	if len(day.Visits) != 2 || day.Visits[0].BookingID != "B1" || day.Visits[0].Service["en"] != "Massage" || day.Visits[1].StaffName != "Grace" {
		t.Errorf("day: %+v", day)
	}
	month := stats(s, calendar.ReportRevenue, "2026-03-31", "")
	if len(month.Revenue) != 1 || month.From != "2026-03-01" || month.To != "2026-03-31" || month.Revenue[0].Booked.Minor != 700000 || month.Revenue[0].Visits != 2 {
		t.Errorf("month: %+v", month)
	}
	if none := stats(s, calendar.ReportRevenue, "2026-02-01", ""); len(none.Revenue) != 0 || none.To != "2026-02-28" {
		t.Errorf("a month without visits: %+v", none)
	}
	free := stats(s, calendar.ReportFreeHours, "2026-03-04", "grace")
	var spans []string
	for _, f := range free.Free[0].Spans {
		spans = append(spans, f.From.Format("15:04")+"-"+f.To.Format("15:04"))
	}
	if got := strings.Join(spans, " "); len(free.Free) != 1 || got != "09:00-10:00 11:00-13:00 15:00-18:00" {
		t.Errorf("free: %s", got)
	}
}

func TestStaffSeeTheirOwnCalendarAndNoMoney(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Confirmed("asha", "B1", desktest.At(4, 10, 0)) // with Grace
	s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: "jane"}
	if day := stats(s, calendar.ReportDay, "2026-03-04", ""); len(day.Visits) != 0 {
		t.Errorf("Jane sees %+v", day.Visits)
	}
	if w := stats(s, calendar.ReportWeek, "2026-03-04", "").Totals; w.Visits != 0 || w.Booked != nil || w.Paid != nil {
		t.Errorf("Jane's week: %+v", w)
	}
	ask := func(r calendar.Report, staff, code string) {
		t.Helper()
		desktest.Refused[any](s, "", calendar.QueryStats, calendar.QueryStatsArgs{Report: r, Date: "2026-03-04", StaffID: staff}, code)
	}
	ask(calendar.ReportDay, "grace", calendar.NotYours)
	ask(calendar.ReportRevenue, "", calendar.OwnersOnly)
	ask(calendar.ReportBroadcasts, "", calendar.OwnersOnly)
	s.As.Role = tenant.Owner
	ask(calendar.ReportDay, "nobody", calendar.NoSuchStaff)
}
