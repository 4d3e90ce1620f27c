package booking_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/tenant"
)

const shop = `{
 "services": [
  {"key": "massage", "name": {"en": "Swedish massage", "sw": "Masaji ya Kiswidi"}, "aliases": ["swedish"], "minutes": 60, "interval": 60, "price": 3500, "staff": ["grace"]},
  {"key": "nails", "name": {"en": "Manicure", "sw": "Kucha"}, "minutes": 30, "interval": 30, "price": 1200, "staff": ["njeri"]}
 ],
 "staff": [
  {"key": "grace", "name": "Grace", "hours": {"mon-sat": ["09:00-17:00"]}},
  {"key": "njeri", "name": "Njeri", "hours": {"mon-sun": ["09:00-18:00"]}}
 ],
 "policy": {"notice_minutes": 60, "horizon_days": 30, "cancel_hours": 24, "hold_minutes": 10, "max_holds": 2}
}`

// filler gives a state's slots to the app; it is Saturday 25 April 2026, 12:00
// in Nairobi.
func filler(t *testing.T) func(s flow.State, lang, command string) (app.Filled, *graph.Say, string) {
	t.Helper()
	a, err := booking.New(tools.Stores{})
	if err != nil {
		t.Fatal(err)
	}
	section, err := a.Section(&tenant.Tenant{Settings: json.RawMessage(shop), Currency: "KES"})
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("EAT", 3*60*60)
	return func(s flow.State, lang, command string) (app.Filled, *graph.Say, string) {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		cmd, _ := handoff.ParseCommand(command)
		now := time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)
		filled, wrong := a.Fill(app.Said{
			Node: s.At, State: raw, Facts: graph.Facts{Zone: zone, Settings: section.Settings, Locale: "en"}, Now: now, Lang: lang,
		}, cmd.Slots)
		text := ""
		if wrong != nil {
			if text, err = a.Texts.Render(lang, wrong.Text, zone, wrong.Facts); err != nil {
				t.Fatal(err)
			}
		}
		return filled, wrong, text
	}
}

func TestAPersonFillsTheSlotsOfABooking(t *testing.T) {
	t.Parallel()
	fill := filler(t)
	filled, wrong, text := fill(flow.State{}, "en", "/done service=swedish when=tuesday 3 pm staff=grace name=mary wambui")
	if wrong != nil {
		t.Fatal(text)
	}
	var s flow.State
	if err := json.Unmarshal(filled.State, &s); err != nil {
		t.Fatal(err)
	}
	if w := s.Want; w.Service != "massage" || w.Staff != "grace" || w.Name != "mary wambui" || w.When.Date != "2026-04-28" || w.When.Time != "15:00" {
		t.Errorf("filled %+v", w)
	}
	if got := strings.Join(filled.Told, "; "); got != "Swedish massage; Grace; Tuesday 28 April 3:00 pm; mary wambui" {
		t.Errorf("told %q", got)
	}
	if filled.Node != flow.Collect || !s.Decided {
		t.Errorf("goes on at %s, decided %v", filled.Node, s.Decided)
	}
	filled, wrong, text = fill(flow.State{}, "sw", "/maliza huduma=kucha lini=kesho saa tisa mchana")
	if wrong != nil {
		t.Fatal(text)
	}
	if got := strings.Join(filled.Told, "; "); !strings.Contains(got, "Kucha") || !strings.Contains(got, "kesho") || !strings.Contains(got, "saa tisa mchana") {
		t.Errorf("told in Swahili %q", got)
	}
}

func TestWhatCannotBeFilledIsSaid(t *testing.T) {
	t.Parallel()
	fill := filler(t)
	move := flow.State{At: flow.MoveWhen, Around: flow.When{Date: "2026-04-28", Time: "10:00"}}
	for _, row := range []struct {
		command string
		state   flow.State
		lang    string
		want    []string
	}{
		{"/done when=31/02", flow.State{}, "en", []string{"no day like", "31/02", "26/04 15:00"}},
		{"/maliza lini=31/02", flow.State{}, "sw", []string{"Hakuna siku kama", "31/02", "26/04 15:00"}},
		{"/done colour=red", flow.State{}, "en", []string{`no "colour"`, "service, when, staff and name"}},
		{"/done service=", flow.State{}, "en", []string{"no value"}},
		{"/done service=haircut", flow.State{}, "en", []string{"haircut", "Swedish massage and Manicure"}},
		{"/maliza huduma=nywele", flow.State{}, "sw", []string{"nywele", "Masaji ya Kiswidi na Kucha"}},
		{"/done service=manicure staff=grace", flow.State{}, "en", []string{"cannot do that", "Njeri"}},
		{"/done when=soonish", flow.State{}, "en", []string{"can't read a time"}},
		{"/done when=yesterday 3pm", flow.State{}, "en", []string{"is over"}},
		{"/done when=25:61", flow.State{}, "en", []string{"25:61"}},
		{"/done when=15:00", flow.State{}, "en", []string{"Which day"}},
		{"/done service=massage when=tomorrow 3pm", flow.State{}, "en", []string{"Nobody works on Sunday 26 April"}},
		{"/done service=massage when=28/04 20:00", flow.State{}, "en", []string{"09:00 to 17:00"}},
		{"/done when=30/06 10:00", flow.State{}, "en", []string{"30 days"}},
		{"/done service=massage when=28/04 10:00", flow.State{At: flow.AwaitPayment, Pay: &flow.Pay{}}, "en", []string{"M-Pesa request"}},
		{"/done service=nails", move, "en", []string{"only its time"}},
	} {
		filled, wrong, text := fill(row.state, row.lang, row.command)
		if wrong == nil || filled.State != nil {
			t.Errorf("%s: filled %s", row.command, filled.State)
			continue
		}
		for _, want := range row.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q does not say %q", row.command, text, want)
			}
		}
	}
	filled, wrong, text := fill(move, "en", "/done when=12:00")
	if wrong != nil || filled.Node != flow.MoveWhen {
		t.Errorf("a move by the clock alone: %q, goes on at %s", text, filled.Node)
	}
}

func TestWhatIsAtStake(t *testing.T) {
	t.Parallel()
	a, err := booking.New(tools.Stores{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(flow.State{Credit: &flow.Credit{Paid: money.Major(6000, "KES")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.AtStake(raw); got != money.Major(6000, "KES") {
		t.Errorf("at stake is %v", got)
	}
	if got := a.AtStake(json.RawMessage(`{}`)); !got.IsZero() {
		t.Errorf("at stake with nothing paid is %v", got)
	}
}
