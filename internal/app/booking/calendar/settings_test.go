package calendar_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/money"
)

const whole = `
address: Ngong Road 12
map_link: https://maps.example/x
parking: {en: Behind the house, sw: Nyuma ya nyumba}
payment: {en: M-Pesa only}
policy: {notice_minutes: 90, horizon_days: 45, cancel_hours: 12, hold_minutes: 15, max_holds: 3}
services:
  - key: Deep-Tissue 90
    name: {en: Deep tissue, sw: Masaji ya kina}
    aliases: [deep, kina]
    description: {en: Firm pressure}
    minutes: 90
    interval: 45
    buffer_before: 5
    buffer_after: 15
    price: "4500.50"
    deposit: 1000
    staff: [grace]
  - {key: facial, name: {sw: Usafi wa uso}, minutes: 30, price: 2000, hidden: true}
staff:
  - key: grace
    name: Grace
    aliases: [Shiku]
    hours: {sat-mon: ["14:00-18:00", "09:00-13:00"], wed: ["20:00-02:00"]}
    exceptions:
      - {date: 2026-12-24, hours: ["09:00-12:00"]}
      - {date: 2026-12-27, closed: true}
    time_off:
      - {from: 2026-12-01, to: 2026-12-07}
      - {from: "2026-11-03 09:00", to: "2026-11-03 24:00"}
  - {key: jane, name: Jane, hours: {tue: ["00:00-24:00"]}}
closures:
  - {from: 2026-12-25, to: 2026-12-26, name: {en: Christmas}}
  - {from: 2026-06-01}
faqs:
  - {keys: [wifi], en: "Yes", sw: Ndiyo}
`

func TestParseSettingsReadsAWholeDefinition(t *testing.T) {
	t.Parallel()
	got, err := calendar.ParseSettings([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	got = got.In("KES")
	d := func(s string) calendar.Date { return date(t, s) }
	weekend := []calendar.Shift{{From: 9 * h, To: 13 * h}, {From: 14 * h, To: 18 * h}}
	want := calendar.Settings{
		Address: "Ngong Road 12", MapLink: "https://maps.example/x",
		Parking: calendar.Text{"en": "Behind the house", "sw": "Nyuma ya nyumba"}, Payment: calendar.Text{"en": "M-Pesa only"},
		Policy: calendar.Policy{
			Notice: 90 * time.Minute, Horizon: 45, Hold: 15 * time.Minute, MaxHolds: 3, Offer: 15 * time.Minute, Terms: terms(12 * time.Hour),
		},
		Services: []calendar.Service{
			{
				ID: "deep_tissue_90", Name: calendar.Text{"en": "Deep tissue", "sw": "Masaji ya kina"}, Aliases: []string{"deep", "kina"},
				Description: calendar.Text{"en": "Firm pressure"}, Duration: 90 * time.Minute, Interval: 45 * time.Minute,
				BufferBefore: 5 * time.Minute, BufferAfter: 15 * time.Minute, Staff: []string{"grace"},
				Price: money.Amount{Minor: 450050, Currency: "KES"}, Deposit: money.Major(1000, "KES"),
			},
			{
				ID: "facial", Name: calendar.Text{"sw": "Usafi wa uso"}, Duration: 30 * time.Minute, Interval: 30 * time.Minute,
				Staff: []string{"grace", "jane"}, Price: money.Major(2000, "KES"), Deposit: money.Major(0, "KES"), Hidden: true,
			},
		},
		Staff: []calendar.Schedule{
			{
				Staff: calendar.Staff{ID: "grace", Name: "Grace", Aliases: []string{"Shiku"}},
				Hours: [7][]calendar.Shift{0: weekend, 1: weekend, 6: weekend, 3: {{From: 20 * h, To: 2 * h}}},
				Exceptions: map[calendar.Date][]calendar.Shift{
					d("2026-12-24"): {{From: 9 * h, To: 12 * h}}, d("2026-12-27"): nil,
				},
				TimeOff: []calendar.Span{
					{From: calendar.Moment{Date: d("2026-12-01")}, To: calendar.Moment{Date: d("2026-12-08")}},
					{From: calendar.Moment{Date: d("2026-11-03"), Clock: 9 * h}, To: calendar.Moment{Date: d("2026-11-03"), Clock: 24 * h}},
				},
			},
			{
				Staff: calendar.Staff{ID: "jane", Name: "Jane"}, Hours: [7][]calendar.Shift{2: {{From: 0, To: 24 * h}}},
				Exceptions: map[calendar.Date][]calendar.Shift{},
			},
		},
		Closures: []calendar.Closure{
			{
				Span: calendar.Span{From: calendar.Moment{Date: d("2026-12-25")}, To: calendar.Moment{Date: d("2026-12-27")}},
				Name: calendar.Text{"en": "Christmas"},
			},
			{Span: calendar.Span{From: calendar.Moment{Date: d("2026-06-01")}, To: calendar.Moment{Date: d("2026-06-02")}}},
		},
		FAQs: []calendar.FAQ{{Keys: []string{"wifi"}, Answer: calendar.Text{"en": "Yes", "sw": "Ndiyo"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("settings (-want +got):\n%s", diff)
	}
}

const minimal = `{"services": [{"key": "cut", "name": {"en": "Cut"}, "minutes": 30, "price": 500}],
	"staff": [{"key": "ali", "name": "Ali", "hours": {"mon-fri": ["09:00-17:00"]}}]}`

func TestParseSettingsReadsJSONAndFillsInDefaults(t *testing.T) {
	t.Parallel()
	got, err := calendar.ParseSettings([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	want := calendar.Policy{
		Notice: time.Hour, Horizon: 60, Hold: 10 * time.Minute, MaxHolds: 2, Offer: 15 * time.Minute, Terms: terms(24 * time.Hour),
	}
	if diff := cmp.Diff(want, got.Policy); diff != "" {
		t.Error(diff)
	}
	if got.Services[0].Price.Minor != 50000 || !got.Services[0].Deposit.IsZero() || got.Staff[0].Hours[6] != nil {
		t.Errorf("settings: %+v", got)
	}
}

func TestParseSettingsNamesEveryFaultWithItsPath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"an unknown key", "colour: red", "colour: unknown key"},
		{"nothing at all", "", "services: want at least one"},
		{"no staff", "services: []", "staff: want at least one"},
		{"a list where a mapping belongs", "[]", "booking settings: want a mapping"},
		{"text where a list belongs", "services: x", "services: want a list"},
		{"text that is a number", "address: 5", "address: want text"},
		{"a link without https", "map_link: http://x", "map_link: want a link"},
		{"a policy out of range", "policy: {horizon_days: 0}", "policy.horizon_days: want a whole number from 1 to 365"},
		{"a policy that is no number", "policy: {max_holds: many}", "policy.max_holds: want a whole number"},
		{"a service without a name", "services: [{key: a}]", "services[0].name: missing"},
		{"a service without a length", "services: [{key: a}]", "services[0].minutes: want a whole number from 5"},
		{"a service without a price", "services: [{key: a}]", "services[0].price: want whole units"},
		{"a price that is not exact", "services: [{price: 10.5}]", "services[0].price: want whole units"},
		{"a price with too many cents", `services: [{price: "10.555"}]`, "services[0].price: want whole units"},
		{"a negative price", "services: [{price: -1}]", "services[0].price: want whole units"},
		{"a price beyond reason", `services: [{price: "9999999999"}]`, "services[0].price: want whole units"},
		{"a deposit above the price", "services: [{price: 10, deposit: 11}]", "services[0].deposit: is more than the price"},
		{"a key with other characters", "services: [{key: 'a/b'}]", "services[0].key: want a short name"},
		{"an interval that drifts over the day", "services: [{interval: 50}]", "services[0].interval: must divide the day"},
		{"staff that is nobody", "services: [{staff: [x]}]", `services[0].staff[0]: "x" is nobody`},
		{"staff named twice", "staff: [{key: x}]\nservices: [{staff: [x, X]}]", `services[0].staff[1]: "X" is named twice`},
		{"an empty list of staff", "services: [{staff: []}]", "services[0].staff: is empty"},
		{"a hidden that is no boolean", "services: [{hidden: si}]", "services[0].hidden: want true or false"},
		{"two services of one key", "services: [{key: a}, {key: A}]", `services[1].key: "a" is used twice`},
		{"two people of one key", "staff: [{key: a}, {key: A}]", `staff[1].key: "a" is used twice`},
		{"a name in no language", "services: [{name: {}}]", "services[0].name: want a text"},
		{"a name in another language", "services: [{name: {fr: x}}]", "services[0].name.fr: unknown key"},
		{"an alias that is no text", "services: [{aliases: [1]}]", "services[0].aliases[0]: want text"},
		{"nobody's name", "staff: [{key: a}]", "staff[0].name: missing"},
		{"no hours", "staff: [{key: a}]", "staff[0].hours: missing"},
		{"hours as a list", "staff: [{hours: []}]", "staff[0].hours: want a mapping of weekdays"},
		{"an unknown weekday", "staff: [{hours: {monday: []}}]", "staff[0].hours.monday: want a weekday"},
		{"a weekday twice", `staff: [{hours: {mon: ["09:00-10:00"], sun-tue: []}}]`, "staff[0].hours.sun-tue: mon is named twice"},
		{"hours that are none", `staff: [{hours: {mon: ["9-17"]}}]`, "staff[0].hours.mon[0]: \"9-17\": want hours"},
		{"hours with other characters", `staff: [{hours: {mon: ["0a:00-17:00"]}}]`, "staff[0].hours.mon[0]"},
		{"hours past midnight", `staff: [{hours: {mon: ["09:00-24:30"]}}]`, "staff[0].hours.mon[0]"},
		{"empty hours", `staff: [{hours: {mon: ["09:00-09:00"]}}]`, "staff[0].hours.mon[0]: \"09:00-09:00\" is empty"},
		{"hours that overlap", `staff: [{hours: {mon: ["09:00-12:00", "11:00-13:00"]}}]`, "staff[0].hours.mon: 09:00-12:00 overlaps 11:00-13:00"},
		{"a night shift that is not the last", `staff: [{hours: {mon: ["20:00-02:00", "21:00-22:00"]}}]`, "overlaps"},
		{"an exception without a date", "staff: [{exceptions: [{closed: true}]}]", "staff[0].exceptions[0].date"},
		{"an exception on no date", "staff: [{exceptions: [{date: 2026-02-30, closed: true}]}]", "staff[0].exceptions[0].date"},
		{"an exception open and closed", `staff: [{exceptions: [{date: 2026-02-03, closed: true, hours: ["09:00-10:00"]}]}]`, "want either hours or closed"},
		{"two exceptions on a date", "staff: [{exceptions: [{date: 2026-02-03, closed: true}, {date: 2026-02-03, closed: true}]}]", "2026-02-03 has two exceptions"},
		{"time off that ends first", "staff: [{time_off: [{from: 2026-02-03, to: 2026-02-01}]}]", "staff[0].time_off[0]: ends before it begins"},
		{"time off that is no time", `staff: [{time_off: [{from: "2026-02-30 10:00", to: "2026-02-03 1000"}]}]`, "staff[0].time_off[0].from: want a date"},
		{"a closure without an end", `closures: [{from: "2026-02-03 10:00"}]`, "closures[0].to: want a date"},
		{"a question without words", "faqs: [{en: x}]", "faqs[0]: want keys and an answer"},
		{"a capacity of nobody", "services: [{capacity: 0}]", "services[0].capacity: want a whole number from 1"},
		{"a need for nothing there is", "services: [{needs: [room]}]", `services[0].needs[0]: "room" is neither`},
		{"more needs than things", "resources: [{key: r, name: R}]\nservices: [{needs: [r, r]}]", "services[0].needs: there are not enough"},
		{"too many needs", "services: [{needs: [a, b, c, d, e]}]", "services[0].needs: want at most 4"},
		{"a weekday's interval that drifts", "services: [{day_intervals: {sat: 50}}]", "services[0].day_intervals.sat: must divide the day"},
		{"intervals as a list", "services: [{day_intervals: []}]", "services[0].day_intervals: want a mapping"},
		{"starts on no day", "services: [{starts: {}}]", "services[0].starts: names no weekday"},
		{"a start that is no time", `services: [{starts: {mon: ["7"]}}]`, "services[0].starts.mon[0]"},
		{"a start twice", `services: [{starts: {mon: ["07:00", "07:00"]}}]`, "services[0].starts.mon: want 1 to 48 different times"},
		{"a skill nobody has", "staff: [{key: x}]\nservices: [{skills: [nails]}]", "services[0].skills: nobody"},
		{"skills beside staff", "staff: [{key: x}]\nservices: [{skills: [nails], staff: [x]}]", "services[0].skills: name either"},
		{"a resource without a name", "resources: [{key: r}]", "resources[0].name: missing"},
		{"two resources of one key", "resources: [{key: r}, {key: R}]", `resources[1].key: "r" is used twice`},
		{"a kind with other characters", "resources: [{key: r, kind: a/b}]", "resources[0].kind: want a short name"},
		{"a block of nobody", "blocks: [{from: 2026-01-01, staff: [x]}]", `blocks[0].staff: "x" is nobody`},
		{"a block of nothing", "blocks: [{from: 2026-01-01, resources: [x]}]", `blocks[0].resources: "x" is none`},
		{"a block at no time", "blocks: [{}]", "blocks[0]: want either from and to, or days and hours"},
		{"a weekly block without hours", "blocks: [{days: mon}]", "blocks[0].hours: missing"},
		{"a weekly block with a date", `blocks: [{days: mon, from: 2026-01-01, hours: ["09:00-10:00"]}]`, "blocks[0]: want either"},
		{"a calendar's address in the definition", "staff: [{calendar_env: 'https://x'}]", "staff[0].calendar_env: want the name"},
		{"a reminder twice", "policy: {reminder_hours: [2, 2]}", "policy.reminder_hours[1]: want different"},
		{"too many reminders", "policy: {reminder_hours: [1, 2, 3, 4, 5, 6]}", "policy.reminder_hours: want at most 5"},
		{"a refund above what was paid", "policy: {refunds: [{hours: 1, percent: 101}]}", "policy.refunds[0].percent: want a whole number from 0 to 100"},
		{"a refund at no time", "policy: {refunds: [{percent: 50}]}", "policy.refunds[0].hours: want a whole number"},
		{"a key twice", "address: x\naddress: y", "booking settings:"},
		{"no YAML", "a: [", "booking settings:"},
		{"too large", strings.Repeat("#", 1<<20+1), "larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := calendar.ParseSettings([]byte(tc.in))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestParseSettingsNamesAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := calendar.ParseSettings([]byte("colour: red\nservices: [{key: a, price: x}]\nstaff: [{key: b}]"))
	if err == nil {
		t.Fatal("faulty settings were accepted")
	}
	for _, want := range []string{"colour", "services[0].name", "services[0].minutes", "services[0].price", "staff[0].name", "staff[0].hours"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in %v", want, err)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(minimal))
	f.Add([]byte("services: [{staff: [x]}]"))
	f.Add([]byte("{1: 2, a: &x [*x]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := calendar.ParseSettings(raw)
		if err != nil {
			return
		}
		if len(s.Services) == 0 || len(s.Staff) == 0 || s.Policy.Hold <= 0 {
			t.Fatalf("accepted settings that cannot be booked: %+v", s)
		}
		for _, svc := range s.Services {
			if svc.Duration <= 0 || svc.Interval <= 0 || svc.Price.Minor < svc.Deposit.Minor || len(svc.Staff) == 0 || svc.ID == "" {
				t.Fatalf("accepted a service that cannot be booked: %+v", svc)
			}
		}
	})
}

func FuzzParseMoment(f *testing.F) {
	f.Add("2026-03-31 14:00")
	f.Add("2026-03-31 24:00")
	f.Add("2026-02-30 00:00")
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := calendar.ParseMoment(s); err == nil && m.String() != s {
			t.Fatalf("%q was read as %s", s, m)
		}
	})
}

func TestEveryCodeHasAdvice(t *testing.T) {
	t.Parallel()
	fallback, _ := calendar.Advice("no such code")
	for _, code := range []string{
		calendar.SlotTaken, calendar.OutsideHours, calendar.TooSoon, calendar.TooFar, calendar.Closed, calendar.NotEligible,
		calendar.OffGrid, calendar.OwnOverlap, calendar.HoldLimit, calendar.HoldExpired, calendar.DepositDue, calendar.CannotRefund, calendar.PolicyCutoff,
		calendar.NoSuchBooking, calendar.WrongState, calendar.Changed, calendar.PromptLive, calendar.PromptTooSoon,
	} {
		if sentence, next := calendar.Advice(code); sentence == fallback || next == "" {
			t.Errorf("%s has no advice of its own", code)
		}
		if (&calendar.Refusal{Code: code}).Error() != "calendar: "+code {
			t.Errorf("%s does not name itself", code)
		}
	}
}

func TestTextFallsBackToWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, lang, want string
		text             calendar.Text
	}{
		{"the language asked for", "sw", "ndiyo", calendar.Text{"en": "yes", "sw": "ndiyo"}},
		{"English instead", "sw", "yes", calendar.Text{"en": "yes"}},
		{"Swahili when there is no English", "en", "ndiyo", calendar.Text{"sw": "ndiyo"}},
		{"nothing", "en", "", nil},
	} {
		if got := tc.text.In(tc.lang); got != tc.want {
			t.Errorf("%s: got %q", tc.name, got)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	d := date(t, "2026-02-27")
	if got := d.Add(2).String(); got != "2026-03-01" {
		t.Errorf("two days later is %s", got)
	}
	if d.Days(date(t, "2026-03-01")) != 2 || date(t, "2026-03-01").Days(d) != -2 {
		t.Error("days are counted wrongly")
	}
	for _, s := range []string{"", "2026-2-3", "2026-13-01", "2026-02-29", "26-02-03"} {
		if _, err := calendar.ParseDate(s); err == nil {
			t.Errorf("%q was read as a date", s)
		}
	}
}

// terms are those of a business that says only until when one may cancel.
func terms(cancel time.Duration) calendar.Terms {
	return calendar.Terms{
		Cancel: cancel, Move: cancel, Refunds: []calendar.RefundStep{{Before: cancel, Percent: 100}}, NoShow: 72 * time.Hour,
		Reminders: []time.Duration{24 * time.Hour, 2 * time.Hour}, Feedback: time.Hour,
	}
}
