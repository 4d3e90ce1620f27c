package booking_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/understand"
)

const settings = `{
 "address": "Moi Avenue",
 "services": [
  {"key": "cut", "name": {"en": "Haircut", "sw": "Kunyoa"}, "aliases": ["trim"], "description": {"en": "With a wash"}, "minutes": 30,
   "price": 800, "staff": ["otieno"]},
  {"key": "secret", "name": {"en": "Secret", "sw": "Secret"}, "minutes": 30, "price": 1, "hidden": true, "staff": ["otieno"]}
 ],
 "staff": [{"key": "otieno", "name": "Otieno", "aliases": ["Oti"], "hours": {"mon-sat": ["09:00-17:00"]}}],
 "faqs": [{"keys": ["park"], "en": "Park behind the shop.", "sw": "Egesha nyuma."}]
}`

func newApp(t *testing.T) app.App {
	t.Helper()
	a, err := booking.New(tools.Stores{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheToolsAreComplete(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(newApp(t).Tools...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		calendar.CheckAvailability, calendar.QueryBookings, calendar.HoldSlot, calendar.ReleaseHold, calendar.ConfirmBooking,
		calendar.RescheduleBooking, calendar.CancelBooking, calendar.PushPayment,
	} {
		if _, ok := r.Metadata(name); !ok {
			t.Errorf("the flow calls %s, and there is no such tool", name)
		}
	}
	if m, _ := r.Metadata(calendar.ConfirmBooking); !cmp.Equal(m.Policies, []string{flow.PolicyDepositPaid}) {
		t.Errorf("the rule the flow confirms under is not the tool's: %v", m.Policies)
	}
}

func TestSectionIsWhatPeopleMaySayAndStepsRead(t *testing.T) {
	t.Parallel()
	got, err := newApp(t).Section(&tenant.Tenant{Settings: json.RawMessage(settings), Currency: "KES"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]understand.Noun{
		understand.KindService: {{ID: "cut", Names: []string{"Haircut", "Kunyoa", "trim"}}},
		understand.KindStaff:   {{ID: "otieno", Names: []string{"Otieno", "Oti"}}},
	}
	if diff := cmp.Diff(want, got.Nouns); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s, ok := got.Settings.(calendar.Settings); !ok || len(s.Services) == 0 || s.Services[0].Price.Currency != "KES" {
		t.Errorf("steps read %v, want settings with amounts in the business's currency", got.Settings)
	}
	if _, err := newApp(t).Section(&tenant.Tenant{Settings: json.RawMessage(`{"services": 3}`)}); err == nil {
		t.Error("a section that makes no sense is read")
	}
}

func TestExpectIsWhatTheCustomerSaw(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	state := encode(t, flow.State{
		Lang: "sw", Asked: "date",
		Shown: []flow.Shown{{ID: "on/2026-11-22", Text: "button.tomorrow"}, {ID: "slot/1", Title: "9:00 mchana"}, {ID: "x", Text: "no.such"}},
	})
	want := understand.Expect{
		Intent: graph.Reschedule, Slots: []string{understand.SlotDate},
		Choices: []message.Choice{{ID: "on/2026-11-22", Title: "Kesho"}, {ID: "slot/1", Title: "9:00 mchana"}},
	}
	if diff := cmp.Diff(want, a.Expect(string(flow.MoveWhen), state)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for node, intent := range map[graph.Name]graph.Intent{
		flow.Greet: graph.Book, flow.DropConfirm: graph.Cancel, flow.MyBookings: graph.MyBookings,
	} {
		if got := a.Expect(string(node), encode(t, flow.State{})); got.Intent != intent {
			t.Errorf("at %s a bare answer goes on with %s, want %s", node, got.Intent, intent)
		}
	}
	if got := a.Expect("GREET", json.RawMessage("no state")); len(got.Choices) > 0 {
		t.Errorf("a state that cannot be read expects %v", got)
	}
}

func TestAThreadOwnsItsHoldAndGivesItBack(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	held := encode(t, flow.State{Hold: &flow.Hold{BookingID: "b1"}, Gone: []string{"b0"}})
	for subject, want := range map[string]bool{"b1": true, "b0": true, "b2": false} {
		if got := a.Owns(held, subject); got != want {
			t.Errorf("owns %s: %v", subject, got)
		}
	}
	want := []graph.Call{{Tool: calendar.ReleaseHold, Args: calendar.ReleaseHoldArgs{BookingID: "b1"}}}
	if diff := cmp.Diff(want, a.Close(held)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, fresh := a.Flow.Start()
	if calls := a.Close(fresh); len(calls) > 0 || a.Owns(fresh, "") {
		t.Errorf("a new thread holds %v", calls)
	}
}

func TestCheckNamesAFaultyDefinition(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	if err := a.Check(&tenant.Tenant{Settings: json.RawMessage(settings)}); err != nil {
		t.Error(err)
	}
	if err := a.Check(&tenant.Tenant{Settings: json.RawMessage(`{"services": [{"key": "x"}]}`)}); err == nil {
		t.Error("a service without a name passed")
	}
	deposit := strings.Replace(settings, `"price": `, `"deposit": 100, "price": `, 1)
	if err := a.Check(&tenant.Tenant{Settings: json.RawMessage(deposit)}); err == nil || !strings.Contains(err.Error(), "mpesa") {
		t.Errorf("a deposit nobody can pay passed: %v", err)
	}
	if err := a.Check(&tenant.Tenant{Settings: json.RawMessage(deposit), Mpesa: &tenant.Mpesa{}}); err != nil {
		t.Error(err)
	}
}

func encode(t *testing.T, s flow.State) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
