package notices_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/notices"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

var start = time.Date(2026, 3, 10, 7, 0, 0, 0, time.UTC)

func visit(status calendar.Status) calendar.Booking {
	return calendar.Booking{
		ID: "b1", Code: "ABC234", Name: "Asha", ContactID: "asha", ServiceID: "massage", StaffName: "Grace", Version: 3, Status: status,
		Start: start, End: start.Add(time.Hour), HoldUntil: start.Add(-time.Hour),
		ChangeUntil: start.Add(-12 * time.Hour), MoveUntil: start.Add(-12 * time.Hour),
		Terms: calendar.Terms{Reminders: []time.Duration{24 * time.Hour, 2 * time.Hour}, Feedback: time.Hour},
	}
}

// took is what an event came to.
type took struct {
	Said, Wrote, Next string
	NextAt            time.Duration // after the start
	Taps              []string
}

// take takes an event through the graph as the engine does, with what bookings
// the contact has.
func take(t *testing.T, e graph.Event, now time.Time, have ...calendar.Booking) (got took) {
	t.Helper()
	g, err := notices.New()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := wording.Load(notices.Texts())
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("EAT", 3*60*60)
	in := graph.In[notices.State]{
		Node: g.Start(), Input: graph.Input{Event: &e}, Now: now, Results: graph.Results{},
		Facts: graph.Facts{Business: "Serenity", Zone: zone, Contact: graph.ContactFacts{ID: "asha"}, Settings: calendar.Settings{
			Address: "Ngong Road", Services: []calendar.Service{{ID: "massage", Name: calendar.Text{"en": "Massage", "sw": "Masaji"}}},
		}},
	}
	if in.Node, err = g.Begin(in); err != nil {
		t.Fatal(err)
	}
	for {
		out, err := g.Step(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.Reads {
			raw, err := json.Marshal(calendar.Bookings{Bookings: have})
			if err != nil {
				t.Fatal(err)
			}
			in.Results[r.Digest()] = graph.Result{OK: true, Data: raw}
		}
		if len(out.Reads) > 0 {
			continue
		}
		for _, s := range out.Say {
			got.Said = s.Text
			for _, lang := range []string{wording.English, wording.Swahili} {
				if _, err := texts.Render(lang, s.Text, zone, s.Facts); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range s.Choices {
				got.Taps = append(got.Taps, c.ID)
			}
		}
		for _, timer := range out.Timers {
			touch, ok := timer.Data.(calendar.Touch)
			if !ok || !touch.At.Equal(timer.At) || timer.Name != calendar.VisitTimer+touch.BookingID {
				t.Fatalf("timer %+v", timer)
			}
			got.Next, got.NextAt = touch.Kind, touch.At.Sub(start)
		}
		if out.Write != nil {
			got.Wrote, in.Node = out.Write.Tool, out.Write.Success
		} else {
			in.Node = out.Rest
		}
		if g.Ends(in.Node) {
			return got
		}
	}
}

func TestWhatABookingsTimerDoes(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	for _, tc := range []struct {
		name   string
		status calendar.Status
		kind   string
		at     time.Duration // when it was due, after the start
		now    time.Duration
		edit   func(*calendar.Booking)
		want   took
	}{
		{
			"the first reminder, which may still be answered with a change", calendar.Confirmed, calendar.TouchRemind, -24 * h, -24 * h, nil,
			took{Said: "reminder", Next: calendar.TouchRemind, NextAt: -2 * h, Taps: []string{"move/b1", "drop/b1"}},
		},
		{
			"the second, when it is too late for one", calendar.Confirmed, calendar.TouchRemind, -2 * h, -2 * h, nil,
			took{Said: "reminder.soon", Next: calendar.TouchComplete, NextAt: h},
		},
		{
			"two that are overdue are one", calendar.Confirmed, calendar.TouchRemind, -24 * h, -h, nil,
			took{Said: "reminder.soon", Next: calendar.TouchComplete, NextAt: h},
		},
		{
			"a reminder of what has begun is not said", calendar.Confirmed, calendar.TouchRemind, -24 * h, 0, nil,
			took{Next: calendar.TouchComplete, NextAt: h},
		},
		{"a reminder of what was cancelled is not said", calendar.Cancelled, calendar.TouchRemind, -24 * h, -24 * h, func(b *calendar.Booking) { b.Version++ }, took{}},
		{"nor of what was moved", calendar.Confirmed, calendar.TouchRemind, -24 * h, -24 * h, func(b *calendar.Booking) { b.Version++ }, took{}},
		{"nor of what is somebody else's", calendar.Confirmed, calendar.TouchRemind, -24 * h, -24 * h, func(b *calendar.Booking) { *b = calendar.Booking{} }, took{}},
		{
			"the clock was put back, so it is waited for again", calendar.Confirmed, calendar.TouchRemind, -24 * h, -30 * h, nil,
			took{Next: calendar.TouchRemind, NextAt: -24 * h},
		},
		{"a visit that is over is completed", calendar.Confirmed, calendar.TouchComplete, h, h, nil, took{Wrote: calendar.CompleteBooking}},
		{
			"and asked about", calendar.Completed, calendar.TouchFeedback, 2 * h, 2 * h, nil,
			took{Said: "feedback.ask", Taps: []string{"rate/up/b1", "rate/down/b1", "rate/say/b1"}},
		},
		{"one nobody came to is not", calendar.NoShow, calendar.TouchFeedback, 2 * h, 2 * h, nil, took{}},
		{"a hold that ran out is given back", calendar.Held, calendar.TouchExpire, -h, -h, nil, took{Wrote: calendar.ReleaseHold}},
		{"so is one that waited for money", calendar.PendingPayment, calendar.TouchExpire, -h, -h, nil, took{Wrote: calendar.ReleaseHold}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := visit(tc.status)
			raw, err := json.Marshal(calendar.Touch{BookingID: b.ID, Version: b.Version, Kind: tc.kind, At: start.Add(tc.at)})
			if err != nil {
				t.Fatal(err)
			}
			if tc.edit != nil {
				tc.edit(&b)
			}
			got := take(t, graph.Event{Kind: "timer", Name: calendar.VisitTimer + "b1", Data: raw}, start.Add(tc.now), b)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOfferIsToldWhileItIsKept(t *testing.T) {
	t.Parallel()
	e := graph.Event{Kind: "notice", Name: calendar.OfferNotice, Data: json.RawMessage(`{"booking_id":"b1"}`)}
	b := visit(calendar.Held)
	want := took{Said: "waitlist.offer", Taps: []string{"take/b1", "pass/b1"}}
	if diff := cmp.Diff(want, take(t, e, b.HoldUntil.Add(-time.Second), b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := take(t, e, b.HoldUntil, b); !cmp.Equal(got, took{}) {
		t.Errorf("an offer that ran out came to %+v", got)
	}
	b.Status = calendar.Confirmed
	if got := take(t, e, start.Add(-time.Hour), b); !cmp.Equal(got, took{}) {
		t.Errorf("an offer that was taken came to %+v", got)
	}
}

func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, e := range []graph.Event{
		{Kind: "timer", Name: "another"},
		{Kind: "timer", Name: calendar.VisitTimer + "b1", Data: json.RawMessage(`"no touch"`)},
		{Kind: "notice", Name: "another"},
		{Kind: "notice", Name: calendar.OfferNotice, Data: json.RawMessage(`"no offer"`)},
	} {
		if got := take(t, e, start); !cmp.Equal(got, took{}) {
			t.Errorf("%+v came to %+v", e, got)
		}
	}
}
