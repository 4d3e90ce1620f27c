package ics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/ics"
)

func vcalendar(events ...string) []byte {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n")
	for _, e := range events {
		b.WriteString("BEGIN:VEVENT\r\n" + strings.ReplaceAll(e, "\n", "\r\n") + "\r\nEND:VEVENT\r\n")
	}
	b.WriteString("END:VCALENDAR\r\n")
	return []byte(b.String())
}

func london(tb testing.TB) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation("Europe/London")
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

// March 2026; clocks change on the 29th.
var (
	first = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	last  = time.Date(2026, 4, 10, 0, 0, 0, 0, time.UTC)
)

func TestWhenSomebodyIsBusy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, event string
		want        string // from-to in UTC, day of the month and time
		problem     string
	}{
		{"a meeting in UTC", "DTSTART:20260303T090000Z\nDTEND:20260303T100000Z", "03-03 09:00-10:00", ""},
		{"a meeting in a zone", "DTSTART;TZID=Africa/Nairobi:20260303T090000\nDURATION:PT1H30M", "03-03 06:00-07:30", ""},
		{"a zone in quotes", "DTSTART;TZID=\"Africa/Nairobi\":20260303T090000\nDURATION:PT1H", "03-03 06:00-07:00", ""},
		{"a meeting in the business's own time", "DTSTART:20260331T090000\nDTEND:20260331T100000", "03-31 08:00-09:00", ""},
		{"a day", "DTSTART;VALUE=DATE:20260303", "03-03 00:00-00:00", ""},
		{"two days over the change of the clock", "DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260330", "03-28 00:00-23:00", ""},
		{"a line that is folded", "DTSTART:2026\n 0303T090000Z\nDTEND:20260303T100000Z", "03-03 09:00-10:00", ""},
		{"what is marked as free", "DTSTART;VALUE=DATE:20260303\nTRANSP:TRANSPARENT", "", ""},
		{"what is cancelled", "DTSTART;VALUE=DATE:20260303\nSTATUS:CANCELLED", "", ""},
		{"a moment", "DTSTART:20260303T090000Z", "", ""},
		{"what is long past", "DTSTART:20200303T090000Z\nDTEND:20200303T100000Z", "", ""},
		{
			"every day, three times", "DTSTART:20260303T090000Z\nDTEND:20260303T100000Z\nRRULE:FREQ=DAILY;COUNT=3",
			"03-03 09:00-10:00 03-04 09:00-10:00 03-05 09:00-10:00", "",
		},
		{
			"every other day until", "DTSTART:20260303T090000Z\nDTEND:20260303T100000Z\nRRULE:FREQ=DAILY;INTERVAL=2;UNTIL=20260307T090000Z",
			"03-03 09:00-10:00 03-05 09:00-10:00 03-07 09:00-10:00", "",
		},
		{
			"on weekdays, a day left out", "DTSTART:20260303T090000Z\nDTEND:20260303T100000Z\nRRULE:FREQ=WEEKLY;BYDAY=TU,TH;COUNT=3\nEXDATE:20260305T090000Z",
			"03-03 09:00-10:00 03-10 09:00-10:00", "",
		},
		{
			"every other week, over the change of the clock", "DTSTART;TZID=Europe/London:20260317T090000\nDTEND;TZID=Europe/London:20260317T100000\nRRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=2",
			"03-17 09:00-10:00 03-31 08:00-09:00", "",
		},
		{"every month", "DTSTART:20260303T090000Z\nDTEND:20260303T100000Z\nRRULE:FREQ=MONTHLY", "", `it repeats "MONTHLY"`},
		{"the second Tuesday", "DTSTART:20260303T090000Z\nRRULE:FREQ=WEEKLY;BYDAY=2TU", "", `it repeats on "2TU"`},
		{"a zone nobody knows", "DTSTART;TZID=Moon:20260303T090000", "", "time zone"},
		{"a day that does not exist", "DTSTART;VALUE=DATE:20260230", "", "no time"},
		{"no start", "SUMMARY:x", "", "no start"},
		{"an end before the start", "DTSTART:20260303T090000Z\nDTEND:20260303T080000Z", "", "its end"},
		{"a length that is none", "DTSTART:20260303T090000Z\nDURATION:PX", "", "no length"},
	} {
		busy, problems, err := ics.Read(vcalendar(tc.event), london(t), first, last)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		var got []string
		for _, b := range busy {
			got = append(got, b.From.Format("01-02 15:04")+"-"+b.To.Format("15:04"))
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if (tc.problem == "") != (len(problems) == 0) || tc.problem != "" && !strings.Contains(problems[0], tc.problem) {
			t.Errorf("%s: problems %q, want %q", tc.name, problems, tc.problem)
		}
	}
}

func TestAnInstanceThatWasMovedIsNotWhereItWas(t *testing.T) {
	t.Parallel()
	busy, problems, err := ics.Read(vcalendar(
		"UID:a\nDTSTART:20260303T090000Z\nDTEND:20260303T100000Z\nRRULE:FREQ=DAILY;COUNT=2",
		"UID:a\nRECURRENCE-ID:20260304T090000Z\nDTSTART:20260304T150000Z\nDTEND:20260304T160000Z"), time.UTC, first, last)
	if err != nil || len(problems) > 0 || len(busy) != 2 || busy[1].From.Hour() != 15 {
		t.Errorf("%v %v %v", busy, problems, err)
	}
}

func TestWhatIsNoCalendar(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"nothing": "", "a web page": "<!doctype html>", "one that breaks off": "BEGIN:VCALENDAR\nBEGIN:VEVENT\n",
		"one that ends what is not open": "BEGIN:VCALENDAR\nEND:VEVENT\nEND:VCALENDAR", "a line without a colon": "BEGIN:VCALENDAR\nx\nEND:VCALENDAR",
		"too many events": "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nEND:VEVENT\n", 5001) + "END:VCALENDAR",
	} {
		if _, _, err := ics.Read([]byte(raw), time.UTC, first, last); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// What is written is read again, and nothing panics or runs away.
func FuzzRead(f *testing.F) {
	f.Add(vcalendar("DTSTART:20260303T090000Z\nDURATION:P1W\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU;WKST=SU;INTERVAL=3"))
	f.Add(vcalendar("DTSTART;VALUE=DATE:00010101\nRRULE:FREQ=DAILY", "EXDATE;TZID=UTC:20260303T090000"))
	f.Add(ics.Write("x", []ics.Event{{UID: "u", Start: noon, End: noon.Add(time.Hour), Changed: noon, Summary: "a;b", Status: ics.Confirmed}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		busy, _, err := ics.Read(raw, time.UTC, first, last)
		if err != nil {
			return
		}
		for _, b := range busy {
			if !b.To.After(b.From) || !b.To.After(first) || !b.From.Before(last) {
				t.Fatalf("%v", b)
			}
		}
	})
}
