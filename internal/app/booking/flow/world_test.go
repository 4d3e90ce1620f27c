package flow_test

import (
	"encoding/json"
	"slices"
	"sort"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
)

// settings of a spa: two masseuses and a nail artist. Massages need a deposit.
const settings = `{
 "address": "Ngong Road, Nairobi", "map_link": "https://maps.example/spa",
 "parking": {"en": "Parking is free.", "sw": "Maegesho ni bure."},
 "policy": {"notice_minutes": 60, "horizon_days": 60, "cancel_hours": 12, "hold_minutes": 10, "max_holds": 2},
 "services": [
  {"key": "massage_60", "name": {"en": "Massage 60 min", "sw": "Masaji dakika 60"}, "minutes": 60, "interval": 30,
   "price": 3000, "deposit": 500, "staff": ["grace", "amina"]},
  {"key": "massage_90", "name": {"en": "Massage 90 min", "sw": "Masaji dakika 90"}, "minutes": 90, "interval": 30,
   "price": 4500, "deposit": 1000, "staff": ["grace", "amina"]},
  {"key": "package", "name": {"en": "Full day package with everything", "sw": "Huduma zote za siku nzima"}, "minutes": 240, "interval": 60,
   "price": 9000, "staff": ["grace"]},
  {"key": "manicure", "name": {"en": "Manicure", "sw": "Manicure"}, "minutes": 30, "interval": 30, "price": 1200, "staff": ["njeri"]}
 ],
 "staff": [
  {"key": "grace", "name": "Grace", "hours": {"mon-sat": ["09:00-17:00"]}},
  {"key": "amina", "name": "Amina", "hours": {"mon-sun": ["09:00-17:00"]}},
  {"key": "njeri", "name": "Njeri", "hours": {"mon-sat": ["02:00-18:00"]}}
 ],
 "closures": [{"from": "2026-12-25", "to": "2026-12-26", "name": {"en": "Christmas", "sw": "Krismasi"}}],
 "faqs": [{"keys": ["towel", "taulo"], "en": "Towels are here for you.", "sw": "Taulo ziko hapa."}]
}`

var nairobi = time.FixedZone("EAT", 3*60*60)

// tb is what a test and a property test have in common.
type tb interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world is a calendar in memory that answers the booking tools as they promise.
type world struct {
	t        tb
	settings calendar.Settings
	bookings map[string]*calendar.Booking
	returns  bool                    // payments can be given back
	refuse   map[string]graph.Result // by tool: answered once in place of doing it
	calls    []graph.Call            // writes that were made
	waits    []calendar.Wait
	feedback []calendar.RecordFeedbackArgs
}

func newWorld(t tb) *world {
	t.Helper()
	s, err := calendar.ParseSettings([]byte(settings))
	if err != nil {
		t.Fatalf("settings: %v", err)
	}
	return &world{t: t, settings: s.In("KES"), bookings: map[string]*calendar.Booking{}, refuse: map[string]graph.Result{}}
}

func (w *world) clone() *world {
	c := *w
	c.bookings = map[string]*calendar.Booking{}
	for id, b := range w.bookings {
		copied := *b
		c.bookings[id] = &copied
	}
	c.calls = slices.Clone(w.calls)
	return &c
}

func (w *world) service(id string) calendar.Service {
	for _, s := range w.settings.Services {
		if s.ID == id {
			return s
		}
	}
	return calendar.Service{}
}

func (w *world) staffName(id string) string {
	for _, s := range w.settings.Staff {
		if s.ID == id {
			return s.Name
		}
	}
	return id
}

func takes(b *calendar.Booking, now time.Time) bool {
	return b.Status == calendar.Confirmed || (b.Status == calendar.Held || b.Status == calendar.PendingPayment) && b.HoldUntil.After(now)
}

func (w *world) view(service, contact, except string, now time.Time) calendar.World {
	v := calendar.World{Zone: nairobi, Policy: w.settings.Policy, Service: w.service(service)}
	for _, st := range w.settings.Staff {
		if slices.Contains(v.Service.Staff, st.ID) {
			v.Staff = append(v.Staff, st)
		}
	}
	for _, c := range w.settings.Closures {
		v.Closures = append(v.Closures, c.Span)
	}
	for _, b := range w.bookings {
		if b.ID == except || !takes(b, now) {
			continue
		}
		v.Busy = append(v.Busy, calendar.Busy{StaffID: b.StaffID, Start: b.Start, From: b.Start, To: b.End})
		if b.ContactID == contact {
			v.Own = append(v.Own, calendar.Interval{From: b.Start, To: b.End})
		}
	}
	return v
}

func answer(t tb, data any) graph.Result {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return graph.Result{OK: true, Data: raw}
}

func refusal(t tb, code string, data any) graph.Result {
	t.Helper()
	r := answer(t, data)
	r.OK, r.Code = false, code
	return r
}

func args[A any](t tb, c graph.Call) A {
	t.Helper()
	a, ok := c.Args.(A)
	if !ok {
		t.Fatalf("%s was called with %T", c.Tool, c.Args)
	}
	return a
}

func (w *world) read(c graph.Call, now time.Time) graph.Result {
	switch c.Tool {
	case calendar.CheckAvailability:
		return w.availability(args[calendar.CheckAvailabilityArgs](w.t, c), now)
	case calendar.QueryBookings:
		a := args[calendar.QueryBookingsArgs](w.t, c)
		out := calendar.Bookings{}
		for _, b := range w.bookings {
			if b.ContactID == a.ContactID && (a.BookingID == b.ID || a.BookingID == "" && (a.Past || takes(b, now))) {
				out.Bookings = append(out.Bookings, *b)
			}
		}
		sort.Slice(out.Bookings, func(i, j int) bool { return out.Bookings[i].Start.Before(out.Bookings[j].Start) })
		return answer(w.t, out)
	}
	if c.Tool == calendar.QueryWaitlist {
		return answer(w.t, calendar.Waits{Waits: w.waits})
	}
	w.t.Fatalf("no read is called %s", c.Tool)
	return graph.Result{}
}

func (w *world) availability(a calendar.CheckAvailabilityArgs, now time.Time) graph.Result {
	q := calendar.Query{Now: now, Staff: a.StaffID, Limit: a.Limit}
	var err error
	if q.From, err = calendar.ParseDate(a.From); err != nil {
		return refusal(w.t, "invalid_arguments", nil)
	}
	if q.To, err = calendar.ParseDate(a.To); err != nil {
		return refusal(w.t, "invalid_arguments", nil)
	}
	for _, p := range []struct {
		text string
		to   *calendar.Clock
	}{{a.TimeFrom, &q.TimeFrom}, {a.TimeTo, &q.TimeTo}} {
		if p.text == "" {
			continue
		}
		if *p.to, err = calendar.ParseClock(p.text); err != nil {
			return refusal(w.t, "invalid_arguments", nil)
		}
	}
	v := w.view(a.ServiceID, customer, a.BookingID, now)
	out := calendar.Free(q, v)
	if len(out.Slots) == 0 {
		want, _ := calendar.Moment{Date: q.From, Clock: q.TimeFrom}.In(nairobi)
		out.Nearest = near(v, a.StaffID, want, now)
	}
	return answer(w.t, out)
}

// near lists free starts within a week of one, nearest first.
func near(v calendar.World, staff string, want, now time.Time) []calendar.Slot {
	d := calendar.DateIn(want, nairobi)
	return calendar.Nearest(calendar.Query{Now: now, From: d.Add(-7), To: d.Add(7), Staff: staff}, v, want, 3)
}

// write does what a tool would, or answers the conflict it would.
func (w *world) write(c graph.Call, now time.Time) graph.Result {
	if r, ok := w.refuse[c.Tool]; ok {
		return r
	}
	w.calls = append(w.calls, c)
	switch c.Tool {
	case calendar.HoldSlot:
		return w.hold(args[calendar.HoldSlotArgs](w.t, c), now)
	case calendar.JoinWaitlist:
		w.waits = append(slices.Clone(w.waits), calendar.Wait{JoinWaitlistArgs: args[calendar.JoinWaitlistArgs](w.t, c), Status: calendar.Waiting})
		return answer(w.t, nil)
	case calendar.LeaveWaitlist:
		w.waits = nil
		return answer(w.t, nil)
	case calendar.RecordFeedback:
		w.feedback = append(slices.Clone(w.feedback), args[calendar.RecordFeedbackArgs](w.t, c))
		return answer(w.t, nil)
	case calendar.ReleaseHold:
		if b := w.bookings[args[calendar.ReleaseHoldArgs](w.t, c).BookingID]; b != nil && b.Status != calendar.Confirmed {
			b.Status = calendar.Expired
		}
		return answer(w.t, nil)
	case calendar.ConfirmBooking:
		return w.confirm(args[calendar.ConfirmBookingArgs](w.t, c), now)
	case calendar.PushPayment, calendar.SendPaymentLink:
		a := args[calendar.PushPaymentArgs](w.t, c)
		b := w.bookings[a.BookingID]
		if b == nil || a.Amount != b.Deposit {
			return refusal(w.t, calendar.Changed, nil)
		}
		b.Status, b.HoldUntil = calendar.PendingPayment, a.HoldUntil
		b.Version++
		return answer(w.t, nil)
	case calendar.RescheduleBooking:
		a := args[calendar.RescheduleBookingArgs](w.t, c)
		b := w.bookings[a.BookingID]
		if b.Version != a.Version {
			return refusal(w.t, calendar.Changed, nil)
		}
		b.End, b.Start, b.StaffID, b.StaffName = a.Start.Add(b.End.Sub(b.Start)), a.Start, a.StaffID, w.staffName(a.StaffID)
		b.Version++
		return answer(w.t, nil)
	case calendar.RefundPayment:
		if !w.returns {
			return refusal(w.t, calendar.CannotRefund, nil)
		}
		return answer(w.t, nil)
	case calendar.CancelBooking:
		a := args[calendar.CancelBookingArgs](w.t, c)
		b := w.bookings[a.BookingID]
		if b.Version != a.Version {
			return refusal(w.t, calendar.Changed, nil)
		}
		b.Status = calendar.Cancelled
		b.Version++
		return answer(w.t, nil)
	}
	w.t.Fatalf("no write is called %s", c.Tool)
	return graph.Result{}
}

func (w *world) hold(a calendar.HoldSlotArgs, now time.Time) graph.Result {
	if old := w.bookings[a.Replaces]; old != nil {
		old.Status = calendar.Expired
	}
	v := w.view(a.ServiceID, a.ContactID, "", now)
	if code := calendar.Check(a.Start, a.StaffID, now, v); code != "" {
		return refusal(w.t, code, calendar.Alternatives{Slots: near(v, "", a.Start, now)})
	}
	sv := w.service(a.ServiceID)
	w.bookings[a.BookingID] = &calendar.Booking{
		ID: a.BookingID, Code: a.Code, ContactID: a.ContactID, Name: a.Name, ServiceID: a.ServiceID, StaffID: a.StaffID,
		StaffName: w.staffName(a.StaffID), Start: a.Start, End: a.Start.Add(sv.Duration), Status: calendar.Held, Price: sv.Price,
		Deposit: sv.Deposit, Paid: money.Amount{Currency: "KES"}, HoldUntil: a.HoldUntil,
		ChangeUntil: a.Start.Add(-w.settings.Policy.Cancel), Version: 1,
	}
	return answer(w.t, nil)
}

func (w *world) confirm(a calendar.ConfirmBookingArgs, now time.Time) graph.Result {
	b := w.bookings[a.BookingID]
	switch {
	case b == nil:
		return refusal(w.t, calendar.NoSuchBooking, nil)
	case b.Status == calendar.Cancelled:
		return refusal(w.t, calendar.WrongState, nil)
	case a.Paid.Minor < b.Deposit.Minor:
		return refusal(w.t, calendar.DepositDue, nil)
	case b.Status == calendar.Expired:
		v := w.view(b.ServiceID, "", b.ID, now)
		if code := calendar.Check(b.Start, b.StaffID, now, v); code != "" {
			return refusal(w.t, calendar.HoldExpired, calendar.Alternatives{Slots: near(v, "", b.Start, now)})
		}
	}
	b.Status, b.Paid = calendar.Confirmed, a.Paid
	b.Version++
	return answer(w.t, nil)
}
