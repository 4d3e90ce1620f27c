package when_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/when"
)

var nairobi = time.FixedZone("EAT", 3*60*60)

// ten is 10:00 in Nairobi on Wednesday 25 November 2026.
func ten() time.Time { return time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC) }

type row struct {
	text  string
	want  graph.When
	doubt bool // the confidence stays below the acting threshold
}

func date(d string) graph.When             { return graph.When{Date: d} }
func days(a, b string) graph.When          { return graph.When{Date: a, DateTo: b} }
func at(t string) graph.When               { return graph.When{Time: t} }
func either(ts ...string) graph.When       { return graph.When{Options: ts} }
func window(from, to string) graph.When    { return graph.When{From: from, To: to} }
func fault(f string) graph.When            { return graph.When{Fault: f} }
func on(d string, w graph.When) graph.When { w.Date = d; return w }

func run(t *testing.T, expect when.Expect, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.text, func(t *testing.T) {
			t.Parallel()
			got := when.Parse(r.text, ten(), nairobi, expect)
			if d := cmp.Diff(r.want, got, cmpopts.IgnoreFields(graph.When{}, "Confidence", "Span")); d != "" {
				t.Errorf("want - got +:\n%s", d)
			}
			if !r.want.Empty() && (got.Confidence < 0.85) != r.doubt {
				t.Errorf("confidence %.2f, want doubt=%v", got.Confidence, r.doubt)
			}
		})
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	run(t, when.Expect{}, []row{
		{"today", date("2026-11-25"), false},
		{"leo", date("2026-11-25"), false},
		{"tomorrow", date("2026-11-26"), false},
		{"tommorow please", date("2026-11-26"), false},
		{"kesho", date("2026-11-26"), false},
		{"kesho kutwa", date("2026-11-27"), false},
		{"keshokutwa", date("2026-11-27"), false},
		{"the day after tomorrow", date("2026-11-27"), false},
		{"on Friday", date("2026-11-27"), false},
		{"this Saturday", date("2026-11-28"), false},
		{"ijumaa", date("2026-11-27"), false},
		{"Jumatatu", date("2026-11-30"), false},
		{"juma tatu", date("2026-11-30"), false},
		{"jumapili hii", date("2026-11-29"), false},
		{"thurdsay", date("2026-11-26"), false},
		{"next Friday", date("2026-12-04"), true},
		{"ijumaa ijayo", date("2026-12-04"), true},
		{"next Monday", date("2026-11-30"), false},
		{"Friday next week", date("2026-12-04"), false},
		{"jumanne ya wiki ijayo", date("2026-12-01"), false},
		{"wiki ijayo jumanne", date("2026-12-01"), false},
		{"next week on Tuesday", date("2026-12-01"), false},
		{"next week", days("2026-11-30", "2026-12-06"), false},
		{"wiki hii", days("2026-11-25", "2026-11-29"), false},
		{"this weekend", days("2026-11-28", "2026-11-29"), false},
		{"wikendi ijayo", days("2026-12-05", "2026-12-06"), false},
		{"next month", days("2026-12-01", "2026-12-31"), false},
		{"in December", days("2026-12-01", "2026-12-31"), false},
		{"mwezi wa kwanza", graph.When{}, false},
		{"mwezi wa 12", days("2026-12-01", "2026-12-31"), false},
		{"mwisho wa mwezi", days("2026-11-25", "2026-11-30"), true},
		{"any day", days("2026-11-25", "2026-12-09"), false},
		{"in two weeks", date("2026-12-09"), false},
		{"two weeks from now", date("2026-12-09"), false},
		{"in 3 days", date("2026-11-28"), false},
		{"baada ya siku tatu", date("2026-11-28"), false},
		{"in a month", date("2026-12-25"), false},
		{"12/12", date("2026-12-12"), false},
		{"5/12/2026", date("2026-12-05"), false},
		{"5-12-26", date("2026-12-05"), false},
		{"12/25", date("2026-12-25"), true},
		{"2026-12-05", date("2026-12-05"), false},
		{"5 December", date("2026-12-05"), false},
		{"5th of Dec", date("2026-12-05"), false},
		{"December 5th", date("2026-12-05"), false},
		{"5 Desemba", date("2026-12-05"), false},
		{"Desemba tarehe 5", date("2026-12-05"), false},
		{"tarehe 5", date("2026-12-05"), false},
		{"tarehe tano mwezi ujao", date("2026-12-05"), false},
		{"tarehe ishirini na nane", date("2026-11-28"), false},
		{"tarehe 3 mwezi wa kumi na mbili", date("2026-12-03"), false},
		{"the 5th", date("2026-12-05"), false},
		{"on the 28th", date("2026-11-28"), false},
		{"the 31st", date("2026-12-31"), true},
		{"5 March", date("2027-03-05"), false},
		{"fifth of march 2027", date("2027-03-05"), false},
		{"Friday the 27th", date("2026-11-27"), false},
		{"Friday 28 November", date("2026-11-28"), true},
		{"tomorrow, Thursday", date("2026-11-26"), false},
		{"no, Thursday", date("2026-11-26"), false},
		{"not Friday, Saturday", date("2026-11-28"), false},
		{"Friday doesn't work, Saturday", date("2026-11-28"), false},
		{"Friday, sorry, Saturday", date("2026-11-28"), false},
		{"Friday or Saturday", days("2026-11-27", "2026-11-28"), true},
		{"Friday to Sunday", days("2026-11-27", "2026-11-29"), true},
		{"Friday, Tuesday", date("2026-12-01"), true},
		{"move it from Friday to Monday", date("2026-11-30"), true},
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	run(t, when.Expect{}, []row{
		{"31/02", fault(when.NoSuchDate), false},
		{"30 February", fault(when.NoSuchDate), false},
		{"tarehe 32", fault(when.NoSuchDate), false},
		{"the 32nd", fault(when.NoSuchDate), false},
		{"31 Novemba", fault(when.NoSuchDate), false},
		{"2026-13-01", fault(when.NoSuchDate), false},
		{"29 February 2027", fault(when.NoSuchDate), false},
		{"45/12", fault(when.NoSuchDate), false},
		{"31/02 at 3pm", graph.When{Fault: when.NoSuchDate, Time: "15:00"}, false},
		{"25:00", fault(when.NoSuchTime), false},
		{"kesho 25:00", graph.When{Fault: when.NoSuchTime, Date: "2026-11-26"}, false},
		{"10:75", fault(when.NoSuchTime), false},
		{"saa kumi na tatu", fault(when.NoSuchTime), false},
		{"saa 25", fault(when.NoSuchTime), false},
		{"2561hrs", fault(when.NoSuchTime), false},
		{"1 November 2026", fault(when.Past), false},
		{"20/11", fault(when.Past), false},
		{"2026-11-24", fault(when.Past), false},
		{"the 5th of this month", fault(when.Past), false},
		{"today at 9am", fault(when.Past), false},
		{"leo saa tatu asubuhi", fault(when.Past), false},
	})
	run(t, when.Expect{Date: true}, []row{
		{"yesterday", fault(when.Past), false},
		{"last Friday", fault(when.Past), false},
		{"ijumaa iliyopita", fault(when.Past), false},
	})
}

func TestClockTimes(t *testing.T) {
	t.Parallel()
	run(t, when.Expect{}, []row{
		{"15:00", at("15:00"), false},
		{"3pm", at("15:00"), false},
		{"3.30 pm", at("15:30"), false},
		{"10 a.m.", at("10:00"), false},
		{"12pm", at("12:00"), false},
		{"12 am", at("00:00"), false},
		{"five pm", at("17:00"), false},
		{"1500hrs", at("15:00"), false},
		{"0900 hours", at("09:00"), false},
		{"15h30", at("15:30"), false},
		{"noon", at("12:00"), false},
		{"at midday", at("12:00"), false},
		{"half past 3", either("15:30", "03:30"), false},
		{"quarter to four in the afternoon", at("15:45"), false},
		{"ten past two pm", at("14:10"), false},
		{"half past 9 in the morning", at("09:30"), false},
		{"at half three", either("15:30", "03:30"), false},
		{"at 3", either("15:00", "03:00"), false},
		{"at 10", either("10:00", "22:00"), false},
		{"at 12", at("12:00"), false},
		{"3 o'clock", either("15:00", "03:00"), false},
		{"3:30", either("15:30", "03:30"), false},
		{"at 4.30", either("16:30", "04:30"), false},
		{"08:30", at("08:30"), false},
		{"3 in the afternoon", at("15:00"), false},
		{"eleven in the morning", at("11:00"), false},
		{"morning 10", at("10:00"), false},
		{"8 at night", at("20:00"), false},
		{"2pm or 3pm", either("14:00", "15:00"), true},
		{"3pm, sorry 4pm", at("16:00"), false},
		{"3pm and 4pm", at("16:00"), true},
		{"in an hour", on("2026-11-25", at("11:00")), false},
		{"in 30 minutes", on("2026-11-25", at("10:30")), false},
		{"today at 9", on("2026-11-25", at("21:00")), false},
		{"Friday 3", on("2026-11-27", either("15:00", "03:00")), true},
		{"tonight at 8", on("2026-11-25", at("20:00")), false},
	})
}

func TestSwahiliClock(t *testing.T) {
	t.Parallel()
	run(t, when.Expect{}, []row{
		{"saa tisa", at("15:00"), false},
		{"saa tisa mchana", at("15:00"), false},
		{"saa tatu asubuhi", at("09:00"), false},
		{"saa nne usiku", at("22:00"), false},
		{"saa sita mchana", at("12:00"), false},
		{"saa sita usiku", at("00:00"), false},
		{"saa kumi jioni", at("16:00"), false},
		{"saa kumi na mbili jioni", at("18:00"), false},
		{"saa kumi na moja alfajiri", at("05:00"), false},
		{"saa moja jioni", at("19:00"), false},
		{"saa mbili", either("08:00", "20:00"), false},
		{"saa moja", either("07:00", "19:00"), false},
		{"saa mbili usiku", at("20:00"), false},
		{"saa tatu na nusu", at("09:30"), false},
		{"saa tatu na robo", at("09:15"), false},
		{"saa tatu kasorobo", at("08:45"), false},
		{"saa nne kasoro robo", at("09:45"), false},
		{"saa nne kasoro dakika tano", at("09:55"), false},
		{"saa nne na dakika kumi", at("10:10"), false},
		{"saa nane kamili", at("14:00"), false},
		{"saa 9", at("15:00"), false},
		{"saa 3.30", at("09:30"), false},
		{"saa 9 asubuhi", at("09:00"), false},
		{"saa 15:00", at("15:00"), false},
		{"saa 3 pm", at("15:00"), false},
		{"nataka massage kesho saa 9", on("2026-11-26", at("15:00")), false},
		{"book me kesho saa 9", on("2026-11-26", either("15:00", "09:00")), true},
		{"kesho 9 asubuhi", on("2026-11-26", at("09:00")), false},
		{"8 mchana", at("14:00"), false},
		{"10 jioni", at("16:00"), false},
		{"kesho saa tisa", on("2026-11-26", at("15:00")), false},
		{"saa ngapi", graph.When{}, false},
		{"ijumaa saa nane na nusu", on("2026-11-27", at("14:30")), false},
	})
}

func TestWindows(t *testing.T) {
	t.Parallel()
	run(t, when.Expect{}, []row{
		{"tomorrow afternoon", on("2026-11-26", window("12:00", "17:00")), false},
		{"morning please, tomorrow morning", on("2026-11-26", window("06:00", "12:00")), false},
		{"kesho jioni", on("2026-11-26", window("16:00", "19:00")), false},
		{"asubuhi", window("06:00", "12:00"), false},
		{"mchana", window("12:00", "16:00"), false},
		{"late afternoon", window("15:00", "18:00"), false},
		{"early morning", window("06:00", "09:00"), false},
		{"over lunch", window("12:00", "14:00"), false},
		{"after work", window("17:00", "21:00"), false},
		{"after 3", window("15:00", ""), false},
		{"after 3 tomorrow", on("2026-11-26", window("15:00", "")), false},
		{"tomorrow afternoon after 3", on("2026-11-26", window("15:00", "17:00")), false},
		{"from 10 onwards", window("10:00", ""), false},
		{"3pm onwards", window("15:00", ""), false},
		{"before noon", window("", "12:00"), false},
		{"not later than 4pm", window("", "16:00"), false},
		{"by 5", window("", "17:00"), false},
		{"between 2 and 4", window("14:00", "16:00"), false},
		{"from 10 to 2", window("10:00", "14:00"), false},
		{"2-4pm", window("14:00", "16:00"), false},
		{"between 11am and 1pm", window("11:00", "13:00"), false},
		{"baada ya saa nane", window("14:00", ""), false},
		{"kabla ya saa sita", window("", "12:00"), false},
		{"kati ya saa nane na saa kumi", window("14:00", "16:00"), false},
		{"kutoka saa tatu hadi saa tano", window("09:00", "11:00"), false},
		{"kuanzia saa nne asubuhi", window("10:00", "12:00"), false},
		{"hadi saa kumi", window("", "16:00"), false},
		{"any time tomorrow", on("2026-11-26", window("00:00", "23:59")), false},
		{"right now", on("2026-11-25", window("10:00", "23:59")), false},
		{"morning or afternoon", window("06:00", "17:00"), false},
		{"move it from 3pm to 5pm", at("17:00"), true},
	})
}

func TestWhatIsNoTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a 90 minute massage", "1 hour", "dakika 90", "for an hour and a half", "kwa saa moja", "masaa mawili", "KES 3,500", "ksh 1500", "500 bob",
		"3500/=", "0712345678", "0712 345 678", "+254 712 345 678", "2 people", "watu 2", "the second one", "2nd option", "3rd floor", "option 2",
		"24/7", "good morning", "habari ya asubuhi", "have a nice evening", "how are you today", "version 1.2", "K7", "#12", "I may come", "",
		"hello", "one", "4", "mtu mmoja", "usiku mwema", "3 sessions", "at 3 branches",
	} {
		if w := when.Parse(text, ten(), nairobi, when.Expect{}); !w.Empty() {
			t.Errorf("%q: got %+v", text, w)
		}
	}
	if w := when.Parse("massage ya saa moja", ten(), nairobi, when.Expect{}); w.Confidence >= 0.7 {
		t.Errorf("an hour long or at seven: got %+v", w)
	}
}

func TestBareAnswers(t *testing.T) {
	t.Parallel()
	run(t, when.Expect{Time: true}, []row{
		{"3", either("15:00", "03:00"), false},
		{"three please", either("15:00", "03:00"), false},
		{"tisa", at("15:00"), false},
		{"15", at("15:00"), false},
		{"10.30", either("10:30", "22:30"), false},
		{"3 4", graph.When{}, false},
		{"3 bottles", graph.When{}, false},
	})
	run(t, when.Expect{Date: true}, []row{
		{"28", date("2026-11-28"), true},
		{"5 please", date("2026-12-05"), true},
		{"yes", graph.When{}, false},
	})
	run(t, when.Expect{Date: true, Time: true}, []row{
		{"3", either("15:00", "03:00"), true},
		{"28", date("2026-11-28"), true},
	})
}

func TestWeekdaysAtTheTurnOfDays(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) // 15:00 in Nairobi
	for text, want := range map[string]graph.When{
		"Friday at 5pm":      on("2026-11-27", at("17:00")),
		"Friday at 9am":      on("2026-12-04", at("09:00")),
		"next Friday":        date("2026-12-04"),
		"this Friday at 9am": fault(when.Past),
		"weekend":            days("2026-11-28", "2026-11-29"),
	} {
		got := when.Parse(text, friday, nairobi, when.Expect{})
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(graph.When{}, "Confidence", "Span")); d != "" {
			t.Errorf("%q, want - got +:\n%s", text, d)
		}
	}
	night := time.Date(2026, 11, 25, 22, 30, 0, 0, time.UTC) // already Thursday in Nairobi
	if got := when.Parse("today", night, nairobi, when.Expect{}).Date; got != "2026-11-26" {
		t.Errorf("today is the business's day, got %s", got)
	}
	if got := when.Parse("29 February", time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC), nil, when.Expect{}).Date; got != "2028-02-29" {
		t.Errorf("the next leap day, got %q", got)
	}
}

func TestSpanIsWhatWasRead(t *testing.T) {
	t.Parallel()
	got := when.Parse("a 90 minute massage kesho na Grace saa tisa", ten(), nairobi, when.Expect{}).Span
	if got != "kesho saa tisa" {
		t.Errorf("got %q", got)
	}
}

// sound holds for everything that can be said.
func sound(t interface{ Fatalf(string, ...any) }, w graph.When, now time.Time) {
	today := now.In(nairobi).Format(time.DateOnly)
	for _, d := range []string{w.Date, w.DateTo} {
		if d == "" {
			continue
		}
		if p, err := time.Parse(time.DateOnly, d); err != nil || p.Format(time.DateOnly) != d || d < today {
			t.Fatalf("an impossible day: %+v", w)
		}
	}
	for _, c := range append([]string{w.Time, w.From, w.To}, w.Options...) {
		if p, err := time.Parse("15:04", c); c != "" && (err != nil || p.Format("15:04") != c) {
			t.Fatalf("an impossible time: %+v", w)
		}
	}
	if w.Empty() != (w.Confidence == 0) || w.Confidence < 0 || w.Confidence > 1 || len(w.Options) == 1 || len(w.Options) > 0 && w.Time != "" {
		t.Fatalf("not sound: %+v", w)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	pieces := strings.Fields(`saa tisa moja kumi na nusu robo kasoro mchana usiku at after before between and to - 3 12 25 30 31 / : . pm am half past
		quarter next this friday ijumaa ijayo week wiki month mwezi the 5th tarehe december feb february not sorry or au from kati ya kesho leo today now in
		2 days weeks hours minutes dakika any time noon right 2026 00 1500 hrs o'clock`)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 16).Draw(t, "pieces"), rapid.SampledFrom([]string{" ", ""}).Draw(t, "glue"))
		now := ten().Add(time.Duration(rapid.IntRange(0, 1500*24).Draw(t, "hours")) * time.Hour)
		expect := when.Expect{Date: rapid.Bool().Draw(t, "date"), Time: rapid.Bool().Draw(t, "time")}
		w := when.Parse(text, now, nairobi, expect)
		sound(t, w, now)
		if d := cmp.Diff(w, when.Parse(text, now, nairobi, expect)); d != "" {
			t.Fatalf("two readings differ: %s", d)
		}
	})
}

func TestEveryHourIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Date(2026, 12, 1, rapid.IntRange(0, 23).Draw(t, "h"), rapid.IntRange(0, 59).Draw(t, "m"), 0, 0, time.UTC)
		want := at.Format("15:04")
		if got := when.Parse("tomorrow at "+at.Format("3:04pm"), ten(), nairobi, when.Expect{}); got.Time != want {
			t.Fatalf("%s: got %+v", at.Format("3:04pm"), got)
		}
		day := at.AddDate(0, 0, rapid.IntRange(0, 300).Draw(t, "days"))
		for _, layout := range []string{"2006-01-02", "2/1/2006", "2 January 2006", "January 2, 2006", "tarehe 2/1/2006"} {
			if got := when.Parse(day.Format(layout), ten(), nairobi, when.Expect{}); got.Date != day.Format(time.DateOnly) {
				t.Fatalf("%s: got %+v", day.Format(layout), got)
			}
		}
	})
}

func FuzzWhen(f *testing.F) {
	for _, s := range []string{
		"kesho saa tisa na nusu", "31/02 at 25:00", "between 2 and 4pm next friday", "tarehe 5 mwezi wa kumi na mbili", "in 999 months", "saa 99",
		"quarter to 13", "2-4", "5th 5th 5th", "from friday to monday", "99/99/9999", "half past", "saa", "the",
	} {
		f.Add(s, true, true)
	}
	f.Fuzz(func(t *testing.T, text string, date, clock bool) {
		sound(t, when.Parse(text, ten(), nairobi, when.Expect{Date: date, Time: clock}), ten())
	})
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		_ = when.Parse("naomba massage ya dakika 90 ijumaa ijayo saa tisa na nusu mchana", ten(), nairobi, when.Expect{})
	}
}
