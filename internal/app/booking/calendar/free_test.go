package calendar_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
)

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func date(tb testing.TB, s string) calendar.Date {
	tb.Helper()
	d, err := calendar.ParseDate(s)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func every(shifts ...calendar.Shift) (week [7][]calendar.Shift) {
	for i := range week {
		week[i] = shifts
	}
	return week
}

func worker(id string, shifts ...calendar.Shift) calendar.Schedule {
	return calendar.Schedule{Staff: calendar.Staff{ID: id, Name: id}, Hours: every(shifts...)}
}

// small is a world with one service of an hour on the half hour.
func small(loc *time.Location, staff ...calendar.Schedule) calendar.World {
	return calendar.World{
		Zone: loc, Policy: calendar.Policy{Horizon: 30}, Staff: staff,
		Service: calendar.Service{ID: "s", Duration: time.Hour, Interval: 30 * time.Minute},
	}
}

func on(d calendar.Date, now time.Time) calendar.Query {
	return calendar.Query{Now: now, From: d, To: d}
}

// clocks writes the starts as the wall clock shows them, with the offset where
// it says more than the time.
func clocks(a calendar.Availability, loc *time.Location) []string {
	var out []string
	for _, s := range a.Slots {
		out = append(out, s.Start.In(loc).Format("15:04"))
	}
	return out
}

const h = calendar.Clock(60)

func TestStartsAcrossChangesOfTheClock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, zone, date string
		shift            calendar.Shift
		interval         time.Duration
		length           time.Duration
		want             []string
		firstUTC         string
	}{
		{
			"London's skipped hour holds no start, and the shift is an hour shorter", "Europe/London", "2026-03-29",
			calendar.Shift{From: 0, To: 4 * h},
			30 * time.Minute, time.Hour,
			[]string{"00:00", "00:30", "02:00", "02:30", "03:00"},
			"2026-03-29T00:00:00Z",
		},
		{
			"a shop that opens in the skipped hour opens when the clocks have jumped", "Europe/London", "2026-03-29",
			calendar.Shift{From: h + 30, To: 4 * h},
			30 * time.Minute, time.Hour,
			[]string{"02:00", "02:30", "03:00"},
			"2026-03-29T01:00:00Z",
		},
		{
			"London's repeated hour is offered once, the first time", "Europe/London", "2026-10-25",
			calendar.Shift{From: 0, To: 3 * h},
			30 * time.Minute, 30 * time.Minute,
			[]string{"00:00", "00:30", "01:00", "01:30", "02:00", "02:30"},
			"2026-10-24T23:00:00Z",
		},
		{
			"a visit over the repeated hour lasts its real length", "Europe/London", "2026-10-25",
			calendar.Shift{From: h, To: 2 * h},
			30 * time.Minute, 2 * time.Hour,
			[]string{"01:00"},
			"2026-10-25T00:00:00Z",
		},
		{
			"afternoons of the day New York springs forward", "America/New_York", "2026-03-08",
			calendar.Shift{From: 13 * h, To: 15 * h},
			time.Hour, time.Hour,
			[]string{"13:00", "14:00"},
			"2026-03-08T17:00:00Z",
		},
		{
			"afternoons of the day New York falls back", "America/New_York", "2026-11-01",
			calendar.Shift{From: 13 * h, To: 15 * h},
			time.Hour, time.Hour,
			[]string{"13:00", "14:00"},
			"2026-11-01T18:00:00Z",
		},
		{
			"a night shift over the jump ends by the wall clock", "America/New_York", "2026-03-08",
			calendar.Shift{From: 22 * h, To: 4 * h},
			time.Hour, time.Hour,
			[]string{"00:00", "01:00", "03:00", "22:00", "23:00"},
			"2026-03-08T05:00:00Z",
		},
		{
			"a zone that changes by half an hour", "Australia/Lord_Howe", "2026-10-04",
			calendar.Shift{From: h, To: 4 * h},
			30 * time.Minute, 30 * time.Minute,
			[]string{"01:00", "01:30", "02:30", "03:00", "03:30"},
			"2026-10-03T14:30:00Z",
		},
		{
			"a zone whose midnight is skipped", "Africa/Cairo", "2026-04-24",
			calendar.Shift{From: 0, To: 3 * h},
			time.Hour, time.Hour,
			[]string{"01:00", "02:00"},
			"2026-04-23T22:00:00Z",
		},
		{
			"a day that a zone left out has no start", "Pacific/Apia", "2011-12-30",
			calendar.Shift{From: 0, To: 24 * h},
			time.Hour, time.Hour, nil, "",
		},
		{
			"Nairobi has no change", "Africa/Nairobi", "2026-03-29",
			calendar.Shift{From: 9 * h, To: 11 * h},
			30 * time.Minute, time.Hour,
			[]string{"09:00", "09:30", "10:00"},
			"2026-03-29T06:00:00Z",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			loc := zone(t, tc.zone)
			w := small(loc, worker("a", tc.shift))
			w.Service.Interval, w.Service.Duration = tc.interval, tc.length
			d := date(t, tc.date)
			begin, _ := calendar.Moment{Date: d}.In(loc)
			got := calendar.Free(on(d, begin.Add(-48*time.Hour)), w)
			if diff := cmp.Diff(tc.want, clocks(got, loc)); diff != "" {
				t.Fatalf("starts (-want +got):\n%s", diff)
			}
			if len(got.Slots) > 0 && got.Slots[0].Start.Format(time.RFC3339) != tc.firstUTC {
				t.Fatalf("first start is %s, want %s", got.Slots[0].Start.Format(time.RFC3339), tc.firstUTC)
			}
			for _, s := range got.Slots {
				if s.End.Sub(s.Start) != tc.length {
					t.Fatalf("a visit lasts %s", s.End.Sub(s.Start))
				}
			}
		})
	}
}

func TestNoticeOnTheDayOfChangeIsRealTime(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/London")
	w := small(loc, worker("a", calendar.Shift{From: 0, To: 24 * h}))
	w.Policy.Notice = 3 * time.Hour
	now := time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC) // three real hours later clocks show 03:00
	got := calendar.Free(on(date(t, "2026-03-29"), now), w)
	if first := clocks(got, loc)[0]; first != "03:00" {
		t.Fatalf("first start is %s, want 03:00", first)
	}
}

// monday is a date far from any change of clocks.
const monday = "2026-06-01"

func TestWhatTakesTimeAway(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Africa/Nairobi")
	d := date(t, monday)
	at := func(hour, minute int) time.Time { return time.Date(2026, 6, 1, hour-3, minute, 0, 0, time.UTC) }
	now := at(9, 0).AddDate(0, 0, -3)
	nineToNoon := calendar.Shift{From: 9 * h, To: 12 * h}
	for _, tc := range []struct {
		name   string
		edit   func(*calendar.World, *calendar.Query)
		want   []string
		reason string
	}{
		{"an empty morning", func(*calendar.World, *calendar.Query) {}, []string{"09:00", "09:30", "10:00", "10:30", "11:00"}, ""},
		{"a break is the gap between two shifts", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].Hours = every(calendar.Shift{From: 9 * h, To: 10 * h}, calendar.Shift{From: 10*h + 30, To: 12 * h})
		}, []string{"09:00", "10:30", "11:00"}, ""},
		{"shifts that touch are one", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].Hours = every(calendar.Shift{From: 10 * h, To: 11 * h}, calendar.Shift{From: 9 * h, To: 10 * h})
		}, []string{"09:00", "09:30", "10:00"}, ""},
		{"a shift to midnight joins the one after it", func(w *calendar.World, q *calendar.Query) {
			w.Staff[0].Hours = every(calendar.Shift{From: 0, To: h}, calendar.Shift{From: 23 * h, To: 24 * h})
			q.TimeFrom = 22 * h
		}, []string{"23:00", "23:30"}, ""},
		{"both buffers count between two bookings", func(w *calendar.World, _ *calendar.Query) {
			w.Service.BufferBefore = 30 * time.Minute
			w.Busy = []calendar.Busy{{StaffID: "a", Start: at(9, 0), From: at(9, 0), To: at(10, 15)}} // ended 10:00
		}, []string{"11:00"}, ""},
		{"a buffer after keeps its distance to what follows", func(w *calendar.World, _ *calendar.Query) {
			w.Service.BufferAfter = 15 * time.Minute
			w.Busy = []calendar.Busy{{StaffID: "a", Start: at(11, 0), From: at(11, 0), To: at(12, 0)}}
		}, []string{"09:00", "09:30"}, ""},
		{"a buffer may reach past closing time", func(w *calendar.World, _ *calendar.Query) {
			w.Service.BufferAfter = time.Hour
		}, []string{"09:00", "09:30", "10:00", "10:30", "11:00"}, ""},
		{"a dated exception takes the place of the hours", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].Exceptions = map[calendar.Date][]calendar.Shift{d: {{From: 15 * h, To: 16 * h}}}
		}, []string{"15:00"}, ""},
		{"a dated exception without hours is a day off", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].Exceptions = map[calendar.Date][]calendar.Shift{d: nil}
		}, nil, calendar.Closed},
		{"a day off of one is no closed day while another works", func(w *calendar.World, q *calendar.Query) {
			w.Staff[0].Exceptions = map[calendar.Date][]calendar.Shift{d: nil}
			w.Staff = append(w.Staff, worker("b", nineToNoon))
			q.Staff = "a"
		}, nil, calendar.OutsideHours},
		{"time off is cut out", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].TimeOff = []calendar.Span{{From: calendar.Moment{Date: d, Clock: 9 * h}, To: calendar.Moment{Date: d, Clock: 10 * h}}}
		}, []string{"10:00", "10:30", "11:00"}, ""},
		{"time off in the middle leaves both ends", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].TimeOff = []calendar.Span{{From: calendar.Moment{Date: d, Clock: 10 * h}, To: calendar.Moment{Date: d, Clock: 11 * h}}}
		}, []string{"09:00", "11:00"}, ""},
		{"a closure is stronger than an exception", func(w *calendar.World, _ *calendar.Query) {
			w.Staff[0].Exceptions = map[calendar.Date][]calendar.Shift{d: {{From: 15 * h, To: 16 * h}}}
			w.Closures = []calendar.Span{{From: calendar.Moment{Date: d}, To: calendar.Moment{Date: d.Add(1)}}}
		}, nil, calendar.Closed},
		{"a closure of part of a day is named where it was asked for", func(w *calendar.World, q *calendar.Query) {
			w.Closures = []calendar.Span{{From: calendar.Moment{Date: d, Clock: 11 * h}, To: calendar.Moment{Date: d.Add(1)}}}
			q.TimeFrom = 11 * h
			q.TimeTo = 11*h + 30
		}, nil, calendar.Closed},
		{"before opening", func(_ *calendar.World, q *calendar.Query) { q.TimeTo = 8 * h }, nil, calendar.OutsideHours},
		{"a window that holds no start", func(_ *calendar.World, q *calendar.Query) {
			q.TimeFrom, q.TimeTo = 9*h+10, 9*h+20
		}, nil, calendar.OffGrid},
		{"a start at the window's end is outside", func(_ *calendar.World, q *calendar.Query) {
			q.TimeFrom, q.TimeTo = 10*h, 11*h
		}, []string{"10:00", "10:30"}, ""},
		{"a full day is taken", func(w *calendar.World, _ *calendar.Query) {
			w.Busy = []calendar.Busy{{StaffID: "a", Start: at(9, 0), From: at(9, 0), To: at(12, 0)}}
		}, nil, calendar.SlotTaken},
		{"one may not be in two chairs", func(w *calendar.World, _ *calendar.Query) {
			w.Own = []calendar.Interval{{From: at(9, 30), To: at(10, 30)}}
		}, []string{"10:30", "11:00"}, ""},
		{"elsewhere all morning", func(w *calendar.World, _ *calendar.Query) {
			w.Own = []calendar.Interval{{From: at(8, 0), To: at(13, 0)}}
		}, nil, calendar.OwnOverlap},
		{"notice counts from now", func(w *calendar.World, q *calendar.Query) {
			q.Now, w.Policy.Notice = at(9, 0), 90*time.Minute
		}, []string{"10:30", "11:00"}, ""},
		{"notice is exact to the second", func(w *calendar.World, q *calendar.Query) {
			q.Now, w.Policy.Notice = at(9, 0).Add(time.Nanosecond), 90*time.Minute
		}, []string{"11:00"}, ""},
		{"too soon all morning", func(_ *calendar.World, q *calendar.Query) { q.Now = at(11, 1) }, nil, calendar.TooSoon},
		{"a date in the past", func(_ *calendar.World, q *calendar.Query) { q.Now = at(9, 0).AddDate(0, 0, 5) }, nil, calendar.TooSoon},
		{"a date past the horizon", func(w *calendar.World, _ *calendar.Query) { w.Policy.Horizon = 2 }, nil, calendar.TooFar},
		{"the last date of the horizon", func(w *calendar.World, q *calendar.Query) {
			w.Policy.Horizon, q.TimeTo = 3, 9*h+30
		}, []string{"09:00"}, ""},
		{"somebody who does not offer it", func(_ *calendar.World, q *calendar.Query) { q.Staff = "x" }, nil, calendar.NotEligible},
		{"nobody offers it", func(w *calendar.World, _ *calendar.Query) { w.Staff = nil }, nil, calendar.NotEligible},
		{"a limit cuts the list", func(_ *calendar.World, q *calendar.Query) { q.Limit = 2 }, []string{"09:00", "09:30"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, q := small(loc, worker("a", nineToNoon)), on(d, now)
			tc.edit(&w, &q)
			got := calendar.Free(q, w)
			if diff := cmp.Diff(tc.want, clocks(got, loc)); diff != "" {
				t.Errorf("starts (-want +got):\n%s", diff)
			}
			if got.Reason != tc.reason {
				t.Errorf("reason %q, want %q", got.Reason, tc.reason)
			}
			if got.More != (q.Limit > 0) {
				t.Errorf("more is %v", got.More)
			}
		})
	}
}

func TestAnyStaffIsWhoHasFewestBookingsThatDayThenTheFirstByName(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Africa/Nairobi")
	d := date(t, monday)
	at := func(hour int) time.Time { return time.Date(2026, 6, 1, hour-3, 0, 0, 0, time.UTC) }
	w := small(loc, worker("c", calendar.Shift{From: 9 * h, To: 17 * h}), worker("a", calendar.Shift{From: 9 * h, To: 17 * h}),
		worker("b", calendar.Shift{From: 9 * h, To: 17 * h}))
	w.Busy = []calendar.Busy{
		{StaffID: "a", Start: at(9), From: at(9), To: at(10)},
		{StaffID: "b", Start: at(9), From: at(9), To: at(10)},
		{StaffID: "b", Start: at(12), From: at(12), To: at(13)},
		{StaffID: "c", Start: at(9), From: at(9), To: at(10)},
		{StaffID: "gone", Start: at(9), From: at(9), To: at(10)},
	}
	q := on(d, at(0))
	q.TimeFrom, q.TimeTo = 10*h, 10*h+30
	if got := calendar.Free(q, w).Slots[0].StaffID; got != "a" {
		t.Errorf("%s was chosen, want a: as few bookings as c, and first by name", got)
	}
	w.Busy = append(w.Busy, calendar.Busy{StaffID: "a", Start: at(15), From: at(15), To: at(16)})
	if got := calendar.Free(q, w).Slots[0].StaffID; got != "c" {
		t.Errorf("%s was chosen, want c: fewest bookings", got)
	}
	q.Staff = "b"
	if got := calendar.Free(q, w).Slots[0].StaffID; got != "b" {
		t.Errorf("%s was chosen, want b, who was asked for", got)
	}
}

func TestNearestComesFromBothSides(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Africa/Nairobi")
	d := date(t, monday)
	want := time.Date(2026, 6, 1, 7, 0, 0, 0, time.UTC) // 10:00
	w := small(loc, worker("a", calendar.Shift{From: 9 * h, To: 12 * h}))
	w.Busy = []calendar.Busy{{StaffID: "a", Start: want, From: want, To: want.Add(30 * time.Minute)}}
	w.Service.Duration = 30 * time.Minute
	got := calendar.Availability{Slots: calendar.Nearest(on(d, want.AddDate(0, 0, -1)), w, want, 3)}
	if diff := cmp.Diff([]string{"09:30", "10:30", "09:00"}, clocks(got, loc)); diff != "" {
		t.Fatal(diff)
	}
}

func TestCheckRefusesAStartOnTheSecondPassOfARepeatedHour(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/London")
	w := small(loc, worker("a", calendar.Shift{From: 0, To: 24 * h}))
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC) // 01:30 in summer time
	now := first.AddDate(0, 0, -1)
	for name, tc := range map[string]struct {
		start time.Time
		want  string
	}{
		"the first 01:30 is a start":         {first, ""},
		"the second 01:30 is none":           {first.Add(time.Hour), calendar.OffGrid},
		"a second past the grid is no start": {first.Add(time.Second), calendar.OffGrid},
		"ten minutes past are no start":      {first.Add(10 * time.Minute), calendar.OffGrid},
	} {
		if got := calendar.Check(tc.start, "a", now, w); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// Every start that Free lists passes Check, overlaps nothing and lies in hours,
// in any world; and with no reason there is a start.
func TestFreeStartsAreFree(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{zone(t, "Africa/Nairobi"), zone(t, "Europe/London"), zone(t, "America/New_York"), zone(t, "Australia/Lord_Howe")}
	rapid.Check(t, func(r *rapid.T) {
		loc := rapid.SampledFrom(zones).Draw(r, "zone")
		d := calendar.Date{Year: 2026, Month: time.Month(rapid.SampledFrom([]int{3, 4, 10, 11}).Draw(r, "month")), Day: rapid.IntRange(1, 28).Draw(r, "day")}
		begin, _ := calendar.Moment{Date: d}.In(loc)
		w := randomWorld(r, loc, begin)
		now := begin.Add(time.Duration(rapid.IntRange(-100, 30).Draw(r, "now")) * time.Hour)
		got := calendar.Free(calendar.Query{Now: now, From: d, To: d.Add(rapid.IntRange(0, 3).Draw(r, "days"))}, w)
		if (got.Reason == "") != (len(got.Slots) > 0) {
			r.Fatalf("%d slots with reason %q", len(got.Slots), got.Reason)
		}
		for i, s := range got.Slots {
			if i > 0 && !got.Slots[i-1].Start.Before(s.Start) {
				r.Fatalf("starts are not in order")
			}
			if code := calendar.Check(s.Start, s.StaffID, now, w); code != "" {
				r.Fatalf("%s with %s is offered, but refused with %s", s.Start, s.StaffID, code)
			}
			if s.Start.Before(now.Add(w.Policy.Notice)) {
				r.Fatalf("%s is inside the notice", s.Start)
			}
			for _, b := range w.Busy {
				if b.StaffID == s.StaffID && b.From.Before(s.End.Add(w.Service.BufferAfter)) && s.Start.Add(-w.Service.BufferBefore).Before(b.To) {
					r.Fatalf("%s overlaps a booking from %s", s.Start, b.From)
				}
			}
		}
	})
}

func randomWorld(r *rapid.T, loc *time.Location, begin time.Time) calendar.World {
	minutes := func(label string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(r, label)) * time.Minute
	}
	w := calendar.World{Zone: loc, Policy: calendar.Policy{Notice: minutes("notice", 0, 300), Horizon: 4}}
	w.Service = calendar.Service{
		Duration: minutes("duration", 5, 300), Interval: rapid.SampledFrom([]time.Duration{15, 30, 45, 60, 90}).Draw(r, "interval") * time.Minute,
		BufferBefore: minutes("before", 0, 40), BufferAfter: minutes("after", 0, 40),
	}
	for i := range rapid.IntRange(1, 3).Draw(r, "staff") {
		from := calendar.Clock(rapid.IntRange(0, 23).Draw(r, "opens")) * h
		m := worker(strconv.Itoa(i), calendar.Shift{From: from, To: calendar.Clock(rapid.IntRange(1, 24).Draw(r, "closes")) * h})
		w.Staff = append(w.Staff, m)
		for range rapid.IntRange(0, 5).Draw(r, "bookings") {
			start := begin.Add(minutes("booked", -600, 4000))
			w.Busy = append(w.Busy, calendar.Busy{StaffID: m.ID, Start: start, From: start, To: start.Add(minutes("busy", 1, 200))})
		}
	}
	return w
}

func BenchmarkFree(b *testing.B) {
	loc := zone(b, "Europe/London")
	d := date(b, "2026-03-01")
	w := small(loc)
	w.Policy.Horizon = 90
	for i := range 20 {
		m := worker(fmt.Sprintf("s%02d", i), calendar.Shift{From: 9 * h, To: 13 * h}, calendar.Shift{From: 14 * h, To: 18 * h})
		w.Staff = append(w.Staff, m)
		for day := range 60 {
			at, _ := calendar.Moment{Date: d.Add(day), Clock: 10 * h}.In(loc)
			for k := range 4 {
				from := at.Add(time.Duration(k) * 2 * time.Hour)
				w.Busy = append(w.Busy, calendar.Busy{StaffID: m.ID, Start: from, From: from, To: from.Add(time.Hour)})
			}
		}
	}
	now, _ := calendar.Moment{Date: d}.In(loc)
	q := calendar.Query{Now: now, From: d, To: d.Add(60)}
	for b.Loop() {
		if len(calendar.Free(q, w).Slots) == 0 {
			b.Fatal("nothing is free")
		}
	}
}
