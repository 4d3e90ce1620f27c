package calendar_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/money"
)

const studio = `
services:
  - {key: massage, name: {en: Massage}, minutes: 60, price: 10, needs: [room], skills: [touch]}
  - {key: duo, name: {en: Duo}, minutes: 60, price: 10, needs: [room, room, laser], staff: [grace]}
  - {key: yoga, name: {en: Yoga}, minutes: 60, price: 10, capacity: 8, starts: {mon-wed: ["18:00", "07:00"]}, day_intervals: {sat: 15}}
staff:
  - {key: grace, name: Grace, skills: [Touch, nails], hours: {mon-sun: ["07:00-20:00"]}, calendar_env: GRACE_CALENDAR}
  - {key: jane, name: Jane, skills: [touch], hours: {mon-sun: ["07:00-20:00"]}}
  - {key: zoe, name: Zoe, hours: {mon-sun: ["07:00-20:00"]}}
resources:
  - {key: room_1, name: Room 1, kind: room}
  - {key: room_2, name: Room 2, kind: room}
  - {key: laser, name: Laser}
blocks:
  - {days: mon-tue, hours: ["13:00-14:00"]}
  - {from: 2026-03-05, resources: [laser], note: serviced}
policy:
  {cancel_hours: 12, move_hours: 6, max_moves: 2, refunds: [{hours: 2, percent: 50}, {hours: 24, percent: 100}], no_show_percent: 10,
   no_show_hours: 5, reminder_hours: [1, 48], feedback_minutes: 0, offer_minutes: 20}
`

func TestParseSettingsReadsRoomsGroupsBlocksAndTerms(t *testing.T) {
	t.Parallel()
	s, err := calendar.ParseSettings([]byte(studio))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"grace", "jane"}, s.Services[0].Staff); diff != "" {
		t.Errorf("who has the skill:\n%s", diff)
	}
	yoga := s.Services[2]
	if yoga.Capacity != 8 || !yoga.Group() || s.Services[0].Group() {
		t.Errorf("capacity: %+v", yoga)
	}
	if diff := cmp.Diff(map[int][]calendar.Clock{1: {7 * h, 18 * h}, 2: {7 * h, 18 * h}, 3: {7 * h, 18 * h}}, yoga.Starts); diff != "" {
		t.Errorf("starts:\n%s", diff)
	}
	if diff := cmp.Diff(map[int]time.Duration{6: 15 * time.Minute}, yoga.DayInterval); diff != "" {
		t.Errorf("intervals:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"grace": "GRACE_CALENDAR"}, s.Feeds); diff != "" {
		t.Errorf("calendars:\n%s", diff)
	}
	if b := s.Blocks[0]; b.Dated() || len(b.Staff) != 3 || b.Weekly[1] == nil || b.Weekly[3] != nil {
		t.Errorf("weekly block: %+v", b)
	}
	if b := s.Blocks[1]; !b.Dated() || len(b.Staff) != 0 || b.Note != "serviced" {
		t.Errorf("dated block: %+v", b)
	}
	want := calendar.Terms{
		Cancel: 12 * time.Hour, Move: 6 * time.Hour, MaxMoves: 2, NoShowRefund: 10, NoShow: 5 * time.Hour,
		Refunds:   []calendar.RefundStep{{Before: 24 * time.Hour, Percent: 100}, {Before: 2 * time.Hour, Percent: 50}},
		Reminders: []time.Duration{48 * time.Hour, time.Hour},
	}
	if diff := cmp.Diff(want, s.Policy.Terms); diff != "" {
		t.Errorf("terms:\n%s", diff)
	}
}

func rooms(ids ...string) []calendar.Room {
	var out []calendar.Room
	for _, id := range ids {
		out = append(out, calendar.Room{Resource: calendar.Resource{ID: id, Name: id, Kind: "room"}})
	}
	return out
}

func TestWhatAVisitNeedsBesideItsStaff(t *testing.T) {
	t.Parallel()
	loc, monday := zone(t, "Africa/Nairobi"), date(t, "2026-03-02")
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 2, hour-3, minute, 0, 0, time.UTC) }
	for _, tc := range []struct {
		name string
		edit func(*calendar.World)
		want []string
	}{
		{"a room that is free takes nothing away", func(w *calendar.World) {
			w.Service.Needs, w.Rooms = []string{"room"}, rooms("a")
		}, []string{"09:00", "09:30", "10:00", "10:30", "11:00"}},
		{"a room that is taken takes its time away, buffers of both included", func(w *calendar.World) {
			w.Service.Needs, w.Rooms, w.Service.BufferAfter = []string{"room"}, rooms("a"), 15*time.Minute
			w.Rooms[0].Busy = []calendar.Interval{{From: at(10, 0), To: at(10, 30)}}
		}, []string{"10:30", "11:00"}},
		{"the other room does as well", func(w *calendar.World) {
			w.Service.Needs, w.Rooms = []string{"room"}, rooms("a", "b")
			w.Rooms[0].Busy = []calendar.Interval{{From: at(9, 0), To: at(12, 0)}}
		}, []string{"09:00", "09:30", "10:00", "10:30", "11:00"}},
		{"two rooms at once are two", func(w *calendar.World) {
			w.Service.Needs, w.Rooms = []string{"room", "room"}, rooms("a", "b")
			w.Rooms[1].Busy = []calendar.Interval{{From: at(9, 0), To: at(11, 0)}}
		}, []string{"11:00"}},
		{"a named room leaves the kind to the others", func(w *calendar.World) {
			w.Service.Needs, w.Rooms = []string{"room", "a"}, rooms("a", "b")
		}, []string{"09:00", "09:30", "10:00", "10:30", "11:00"}},
		{"a room out of use", func(w *calendar.World) {
			w.Service.Needs, w.Rooms = []string{"room"}, rooms("a")
			w.Rooms[0].TimeOff = []calendar.Span{{From: calendar.Moment{Date: monday, Clock: 9 * h}, To: calendar.Moment{Date: monday, Clock: 11 * h}}}
		}, []string{"11:00"}},
		{"a room that is cleaned every week", func(w *calendar.World) {
			w.Service.Needs, w.Rooms = []string{"room"}, rooms("a")
			w.Rooms[0].Breaks[1] = []calendar.Shift{{From: 10 * h, To: 12 * h}}
		}, []string{"09:00"}},
		{"a break of every week", func(w *calendar.World) {
			w.Staff[0].Breaks[1] = []calendar.Shift{{From: 9*h + 30, To: 10 * h}}
		}, []string{"10:00", "10:30", "11:00"}},
		{"somebody's own calendar", func(w *calendar.World) {
			w.Away = []calendar.Away{{StaffID: "grace", Interval: calendar.Interval{From: at(9, 0), To: at(10, 1)}}}
		}, []string{"10:30", "11:00"}},
		{"fixed starts in place of the grid", func(w *calendar.World) {
			w.Service.Starts = map[int][]calendar.Clock{1: {9*h + 10, 11 * h}, 2: {10 * h}}
		}, []string{"09:10", "11:00"}},
		{"an interval of that weekday", func(w *calendar.World) {
			w.Service.DayInterval = map[int]time.Duration{1: time.Hour, 2: 15 * time.Minute}
		}, []string{"09:00", "10:00", "11:00"}},
		{"a session with a seat left is open, and its staff busy around it", func(w *calendar.World) {
			w.Service.Capacity = 3
			w.Sessions = []calendar.Session{{StaffID: "grace", Start: at(10, 0), Left: 1}}
		}, []string{"09:00", "10:00", "11:00"}},
		{"a full session", func(w *calendar.World) {
			w.Service.Capacity = 3
			w.Sessions = []calendar.Session{{StaffID: "grace", Start: at(10, 0)}}
		}, []string{"09:00", "11:00"}},
		{"a seat in a session needs no second room", func(w *calendar.World) {
			w.Service.Capacity, w.Service.Needs, w.Rooms = 3, []string{"room"}, rooms("a")
			w.Rooms[0].Busy = []calendar.Interval{{From: at(10, 0), To: at(11, 0)}}
			w.Sessions = []calendar.Session{{StaffID: "grace", Start: at(10, 0), Left: 1}}
		}, []string{"09:00", "10:00", "11:00"}},
		{"a session nobody may work at any more", func(w *calendar.World) {
			w.Service.Capacity = 3
			w.Sessions = []calendar.Session{{StaffID: "grace", Start: at(10, 0), Left: 1}}
			w.Closures = []calendar.Span{{From: calendar.Moment{Date: monday, Clock: 10 * h}, To: calendar.Moment{Date: monday, Clock: 11 * h}}}
		}, []string{"09:00", "11:00"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := small(loc, worker("grace", calendar.Shift{From: 9 * h, To: 12 * h}))
			tc.edit(&w)
			if diff := cmp.Diff(tc.want, clocks(calendar.Free(on(monday, now), w), loc)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASeatInABegunSessionGoesBeforeASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	loc, monday := zone(t, "Africa/Nairobi"), date(t, "2026-03-02")
	at := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)
	w := small(loc, worker("abel", calendar.Shift{From: 9 * h, To: 12 * h}), worker("grace", calendar.Shift{From: 9 * h, To: 12 * h}))
	w.Service.Capacity, w.Sessions = 2, []calendar.Session{{StaffID: "grace", Start: at, Left: 1}}
	q := on(monday, at.Add(-24*time.Hour))
	q.TimeFrom, q.TimeTo = 10*h, 10*h+1
	if got := calendar.Free(q, w).Slots; len(got) != 1 || got[0].StaffID != "grace" {
		t.Errorf("the seat is with %v", got)
	}
}

// What Equip hands out serves its needs, twice nothing, and nothing that is taken.
func TestEquipHandsOutWhatIsFree(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/London")
	rapid.Check(t, func(r *rapid.T) {
		start := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 20).Draw(r, "quarters")) * 15 * time.Minute)
		w := small(loc, worker("a"))
		kinds := []string{"room", "chair"}
		for i := range rapid.IntRange(1, 5).Draw(r, "rooms") {
			room := calendar.Room{Resource: calendar.Resource{ID: string(rune('a' + i)), Kind: rapid.SampledFrom(kinds).Draw(r, "kind")}}
			if rapid.Bool().Draw(r, "busy") {
				from := start.Add(time.Duration(rapid.IntRange(-8, 8).Draw(r, "from")) * 15 * time.Minute)
				room.Busy = []calendar.Interval{{From: from, To: from.Add(30 * time.Minute)}}
			}
			w.Rooms = append(w.Rooms, room)
		}
		w.Service.Needs = rapid.SliceOfN(rapid.SampledFrom(append(kinds, "a", "b")), 1, 3).Draw(r, "needs")
		got, ok := calendar.Equip(w, start)
		seen := map[string]bool{}
		for i, id := range got {
			for _, room := range w.Rooms {
				if room.ID != id {
					continue
				}
				if seen[id] || !room.Serves(w.Service.Needs[i]) {
					r.Fatalf("%v for %v", got, w.Service.Needs)
				}
				for _, b := range room.Busy {
					if b.From.Before(start.Add(w.Service.Duration)) && start.Before(b.To) {
						r.Fatalf("%s is taken", id)
					}
				}
			}
			seen[id] = true
		}
		if ok != (len(got) == len(w.Service.Needs)) {
			r.Fatalf("%v of %v, and all of it: %v", got, w.Service.Needs, ok)
		}
	})
}

func TestWhatIsDoneAboutABookingByItself(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 10, 7, 0, 0, 0, time.UTC)
	b := calendar.Booking{
		ID: "b", Version: 4, Status: calendar.Confirmed, Start: start, End: start.Add(time.Hour), HoldUntil: start.Add(-time.Minute),
		Terms: terms(24 * time.Hour),
	}
	for _, tc := range []struct {
		name   string
		status calendar.Status
		after  time.Duration // the start
		kind   string
		at     time.Duration
	}{
		{"a hold runs out", calendar.Held, -10 * time.Hour, calendar.TouchExpire, -time.Minute},
		{"a hold that waits for money runs out", calendar.PendingPayment, -10 * time.Hour, calendar.TouchExpire, -time.Minute},
		{"the first reminder", calendar.Confirmed, -48 * time.Hour, calendar.TouchRemind, -24 * time.Hour},
		{"the second once the first is over", calendar.Confirmed, -24 * time.Hour, calendar.TouchRemind, -2 * time.Hour},
		{"reminders that were missed are not told", calendar.Confirmed, -time.Hour, calendar.TouchComplete, time.Hour},
		{"what ended long ago is completed all the same", calendar.Confirmed, 100 * time.Hour, calendar.TouchComplete, time.Hour},
		{"an hour later one may say how it was", calendar.Completed, time.Hour, calendar.TouchFeedback, 2 * time.Hour},
		{"but not days later", calendar.Completed, 3 * time.Hour, "", 0},
		{"nothing after a no-show", calendar.NoShow, time.Hour, "", 0},
		{"nothing after a cancellation", calendar.Cancelled, -48 * time.Hour, "", 0},
	} {
		b := b
		b.Status = tc.status
		touch, found := calendar.NextTouch(b, start.Add(tc.after))
		if found != (tc.kind != "") || found && (touch.Kind != tc.kind || !touch.At.Equal(start.Add(tc.at))) {
			t.Errorf("%s: %+v", tc.name, touch)
		}
		if !found {
			continue
		}
		if now := touch.At; touch.Due(b, now.Add(-time.Second)) || !touch.Due(b, now) {
			t.Errorf("%s: not due when it should be", tc.name)
		}
		moved := b
		moved.Version++
		if touch.Due(moved, touch.At) {
			t.Errorf("%s: done although the booking has changed", tc.name)
		}
	}
}

func TestRefunds(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 10, 7, 0, 0, 0, time.UTC)
	b := calendar.Booking{Start: start, Paid: money.Amount{Minor: 99_999, Currency: "KES"}, Terms: calendar.Terms{
		Refunds:      []calendar.RefundStep{{Before: 24 * time.Hour, Percent: 100}, {Before: 2 * time.Hour, Percent: 50}},
		NoShowRefund: 10,
	}}
	for _, tc := range []struct {
		name   string
		before time.Duration
		by     string
		want   int64
	}{
		{"early enough, all of it", 24 * time.Hour, calendar.ByCustomer, 99_999},
		{"a second late, half, rounded down", 24*time.Hour - time.Second, calendar.ByCustomer, 49_999},
		{"at the last moment, nothing", time.Hour, calendar.ByCustomer, 0},
		{"by the business, always all of it", 0, calendar.ByBusiness, 99_999},
	} {
		if got := b.RefundAt(start.Add(-tc.before), tc.by); got.Minor != tc.want || got.Currency != "KES" {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
	if got := b.NoShowRefund().Minor; got != 9_999 {
		t.Errorf("after a no-show %d goes back", got)
	}
}
