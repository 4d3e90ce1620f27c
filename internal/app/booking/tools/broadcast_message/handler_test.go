package broadcastmessage_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestABroadcastIsStartedOnceWithTrueCounts(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	args := calendar.BroadcastArgs{BroadcastID: "x1", Text: "We are open on Sunday."}
	if res := s.Preview(calendar.Broadcast, args); res.Code != calendar.NobodyToTell {
		t.Errorf("nobody to tell: %+v", res)
	}
	desktest.Refused[any](s, "", calendar.Broadcast, args, calendar.NobodyToTell)
	s.Broadcasts.Reach = broadcast.Counts{InWindow: 10, ByTemplate: 90, OptedOut: 3}
	var shown broadcast.Counts
	if res := s.Preview(calendar.Broadcast, args); !res.OK || res.Decode(&shown) != nil || shown.Recipients() != 100 || shown.CostUSD != "0.9" || shown.OptedOut != 3 {
		t.Errorf("the preview shows %+v", shown)
	}
	for range 2 {
		desktest.Must[broadcast.Counts](s, "", calendar.Broadcast, args)
	}
	if len(s.Broadcasts.Started) != 1 || len(s.Effects) != 1 || s.Effects[0].Key != "broadcast:x1:step:0" {
		t.Fatalf("started %+v with %+v", s.Broadcasts.Started, s.Effects)
	}
	if o := s.Broadcasts.Started[0]; o.By != s.As.ID || o.Number != "100" || len(o.Admins) != 1 {
		t.Errorf("ordered %+v", o)
	}
	args.Text = "We are closed on Sunday."
	desktest.Refused[any](s, "", calendar.Broadcast, args, calendar.AlreadyDone)
	s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: "grace"}
	desktest.Refused[any](s, "", calendar.Broadcast, args, tool.NotPermitted)
}
