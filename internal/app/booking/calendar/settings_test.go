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
		Policy: calendar.Policy{Notice: 90 * time.Minute, Horizon: 45, Cancel: 12 * time.Hour, Hold: 15 * time.Minute, MaxHolds: 3},
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
	want := calendar.Policy{Notice: time.Hour, Horizon: 60, Cancel: 24 * time.Hour, Hold: 10 * time.Minute, MaxHolds: 2}
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
		{"a weekday twice", `staff: [{hours: {mon: ["09:00-10:00"], sun-tue: []}}]`, "staff[0].hours.sun-tue: mon has hours twice"},
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
