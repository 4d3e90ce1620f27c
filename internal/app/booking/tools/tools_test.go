package tools_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestEveryFolderIsAToolTheRegistryAccepts(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(tools.All(tools.Stores{})...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]tool.Safety{
		calendar.ListServices: tool.Read, calendar.CheckAvailability: tool.Read, calendar.QueryBookings: tool.Read,
		calendar.HoldSlot: tool.Write, calendar.ReleaseHold: tool.Write, calendar.ConfirmBooking: tool.Irreversible,
		calendar.RescheduleBooking: tool.Irreversible, calendar.CancelBooking: tool.Irreversible, calendar.PushPayment: tool.Irreversible,
		calendar.LookupContact: tool.Read, calendar.UpsertContact: tool.Write, calendar.QueryStats: tool.Read, calendar.BlockTime: tool.Irreversible,
		calendar.SendReminder: tool.Write, calendar.Broadcast: tool.Irreversible, calendar.DeleteService: tool.Irreversible, calendar.AskKnowledge: tool.Read,
		calendar.CompleteBooking: tool.Write, calendar.RecordFeedback: tool.Write,
		calendar.JoinWaitlist: tool.Write, calendar.LeaveWaitlist: tool.Write, calendar.QueryWaitlist: tool.Read,
		calendar.SendPaymentLink: tool.Write, calendar.RefundPayment: tool.Irreversible,
	}
	got := map[string]tool.Safety{}
	for _, name := range r.Names() {
		m, _ := r.Metadata(name)
		got[name] = m.SafetyClass
		wantPolicies := 0
		if name == calendar.ConfirmBooking || name == calendar.RefundPayment {
			wantPolicies = 1
		}
		if len(m.Policies) != wantPolicies {
			t.Errorf("%s has the policies %v", name, m.Policies)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("tools and their safety (-want +got):\n%s", diff)
	}
}
