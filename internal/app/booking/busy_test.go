package booking_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/tenant"
)

const barber = `{"services": [{"key": "cut", "name": {"en": "Cut"}, "minutes": 30, "price": 500}],
	"policy": {"notice_minutes": 0},
	"staff": [{"key": "ali", "name": "Ali", "hours": {"mon-sun": ["09:00-11:00"]}, "calendar_env": "ALI_CALENDAR"}]}`

const event = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20260303T060000Z\r\nDTEND:20260303T073000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

// A barber's own calendar takes their time away; what cannot be read is told to a
// person once, and what was read before goes on to count.
func TestStaffAreBusyByTheirOwnCalendars(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	now := time.Date(2026, 3, 2, 5, 0, 0, 0, time.UTC)
	business := &tenant.Tenant{ID: "t1", Slug: "barber", TimeZone: "Africa/Nairobi", Currency: "KES", Settings: json.RawMessage(barber)}
	a := newApp(t)
	if err := errors.Join(d.Migrate(t.Context(), "booking", a.Migrations),
		d.Write(t.Context(), func(tx db.Tx) error { return a.Apply(t.Context(), tx, business, now) })); err != nil {
		t.Fatal(err)
	}
	body, fetched, fail := event, 0, error(nil)
	var job app.Job
	for _, j := range a.Jobs {
		if j.Name == "busy" {
			job = j
		}
	}
	run := func() app.Piece {
		t.Helper()
		p, err := job.Run(t.Context(), app.Work{
			Tenant: business, Now: now, Read: d.Read, Secret: func(name string) string { return map[string]string{"ALI_CALENDAR": "https://x"}[name] },
			Fetch: func(_ context.Context, address, tag string) ([]byte, string, error) {
				fetched++
				if address != "https://x" || fail != nil {
					return nil, "", fail
				}
				if tag == body {
					return nil, tag, nil
				}
				return []byte(body), body, nil
			},
		})
		if err == nil && p.Write != nil {
			err = d.Write(t.Context(), func(tx db.Tx) error { return p.Write(t.Context(), tx) })
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	free := func() (n int) {
		t.Helper()
		if err := d.Read(t.Context(), func(q db.Q) error {
			out, err := bookingsql.Availability(t.Context(), q, bookingsql.Caller{Zone: business.Location(), Now: now}, calendar.CheckAvailabilityArgs{
				ServiceID: "cut", From: "2026-03-03", To: "2026-03-03", Limit: 50,
			})
			n = len(out.Slots)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if free() != 4 {
		t.Fatalf("before, %d starts are free", free())
	}
	if p := run(); len(p.Tasks) > 0 || free() != 1 {
		t.Fatalf("with a meeting %d starts are free, tasks %v", free(), p.Tasks)
	}
	if p := run(); fetched != 1 || !p.Again.Equal(now.Add(15*time.Minute)) {
		t.Errorf("fetched %d times, again %s", fetched, p.Again)
	}
	for i, change := range []func(){func() { fail = errors.New("away") }, func() { fail, body = nil, "no calendar" }} {
		change()
		now = now.Add(15 * time.Minute)
		if p := run(); len(p.Tasks) != 1 || free() != 1 {
			t.Errorf("fault %d: tasks %v, %d starts are free", i, p.Tasks, free())
		}
		now = now.Add(15 * time.Minute)
		if p := run(); len(p.Tasks) != 0 {
			t.Errorf("fault %d is told twice: %v", i, p.Tasks)
		}
	}
	business.Settings = json.RawMessage(settings) // names no calendar, and nobody called Ali
	run()
	if p := run(); p.Write != nil || !p.Again.IsZero() {
		t.Errorf("a calendar nobody names is asked for: %+v", p)
	}
	if free() != 4 {
		t.Errorf("once it is not named any more, %d starts are free", free())
	}
}
