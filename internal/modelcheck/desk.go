package modelcheck

import (
	"context"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tool"
)

// visit is a booking with the receipt that confirmed it.
type visit struct {
	calendar.Booking
	receipt string
}

func (v *visit) held() bool {
	return v.Status == calendar.Held || v.Status == calendar.PendingPayment
}

// takes reports whether the visit's time is another's no more.
func (v *visit) takes(now time.Time) bool {
	return v.Status == calendar.Confirmed || v.held() && v.HoldUntil.After(now)
}

// tools are the booking app's tools with its own definitions and safety
// classes, over memory in place of SQL.
type tools struct{ settings calendar.Settings }

// over gives each of the app's tools its handler over memory. What no explored
// message asks for has none and panics.
func (d tools) over(all []tool.Tool) []tool.Tool {
	handlers := map[string]tool.Handler{
		calendar.CheckAvailability: tool.Typed(d.availability), calendar.QueryBookings: tool.Typed(d.query),
		calendar.HoldSlot: tool.Typed(d.hold), calendar.ReleaseHold: tool.Typed(d.release),
		calendar.ConfirmBooking: tool.Guarded(d.confirm), calendar.PushPayment: tool.Guarded(d.push),
		calendar.CancelBooking: tool.Guarded(d.cancel), calendar.CompleteBooking: tool.Typed(d.complete),
	}
	for i := range all {
		if h, ok := handlers[nameOf(all[i])]; ok {
			all[i].Handler = h
		}
	}
	return all
}

func (d tools) world(m *memory, env tool.Env, service, except string) calendar.World {
	w := calendar.World{Zone: env.Tenant.Location(), Policy: d.settings.Policy}
	for _, s := range d.settings.Services {
		if s.ID == service {
			w.Service = s
		}
	}
	w.Staff = d.settings.Staff
	for _, v := range m.bookings {
		if v.ID == except || !v.takes(env.Now) {
			continue
		}
		w.Busy = append(w.Busy, calendar.Busy{StaffID: v.StaffID, Start: v.Start, From: v.Start, To: v.End})
		if v.ContactID == string(env.Contact.ID) {
			w.Own = append(w.Own, calendar.Interval{From: v.Start, To: v.End})
		}
	}
	return w
}

func (d tools) availability(_ context.Context, env tool.Env, a calendar.CheckAvailabilityArgs) (graph.Result, error) {
	q := calendar.Query{Now: env.Now, Staff: a.StaffID, Limit: a.Limit}
	var err error
	if q.From, err = calendar.ParseDate(a.From); err != nil {
		return graph.Result{}, err
	}
	if q.To, err = calendar.ParseDate(a.To); err != nil {
		return graph.Result{}, err
	}
	for _, p := range []struct {
		text string
		to   *calendar.Clock
	}{{a.TimeFrom, &q.TimeFrom}, {a.TimeTo, &q.TimeTo}} {
		if p.text == "" {
			continue
		}
		if *p.to, err = calendar.ParseClock(p.text); err != nil {
			return graph.Result{}, err
		}
	}
	w := d.world(in(env.Q), env, a.ServiceID, a.BookingID)
	out := calendar.Free(q, w)
	if len(out.Slots) == 0 {
		out.Slots = []calendar.Slot{}
		clock := q.TimeFrom
		if a.TimeFrom == "" {
			clock = 12 * 60
		}
		want, _ := calendar.Moment{Date: q.From, Clock: clock}.In(w.Zone)
		out.Nearest = near(w, env.Now, want)
	}
	return tool.OK(out)
}

// near lists the free starts within a week of one, nearest first.
func near(w calendar.World, now, want time.Time) []calendar.Slot {
	d := calendar.DateIn(want, w.Zone)
	return calendar.Nearest(calendar.Query{Now: now, From: d.Add(-7), To: d.Add(7)}, w, want, 3)
}

func (d tools) query(_ context.Context, env tool.Env, a calendar.QueryBookingsArgs) (graph.Result, error) {
	out := calendar.Bookings{Bookings: []calendar.Booking{}}
	for _, v := range in(env.Q).bookings {
		if a.BookingID == v.ID || a.BookingID == "" && v.takes(env.Now) {
			out.Bookings = append(out.Bookings, v.Booking)
		}
	}
	slices.SortStableFunc(out.Bookings, func(a, b calendar.Booking) int { return a.Start.Compare(b.Start) })
	return tool.OK(out)
}

// lapse gives back what ran out, except for the visit named keep.
func lapse(m *memory, now time.Time, keep string) {
	for _, v := range m.bookings {
		if v.held() && !v.HoldUntil.After(now) && v.ID != keep {
			m.change(v.ID, func(v *visit) { v.Status = calendar.Expired })
		}
	}
}

func (m *memory) visit(id string) *visit {
	for _, v := range m.bookings {
		if v.ID == id {
			return v
		}
	}
	return nil
}

func (m *memory) change(id string, fn func(v *visit)) *visit {
	for i, v := range m.bookings {
		if v.ID == id {
			next := *v
			fn(&next)
			next.Version++
			m.bookings[i] = &next
			return &next
		}
	}
	return nil
}

func (d tools) hold(_ context.Context, env tool.Env, a calendar.HoldSlotArgs) (graph.Result, error) {
	m := in(env.Tx)
	if v := m.visit(a.BookingID); v != nil {
		return desk.Changed(env, v.Booking, nil)
	}
	lapse(m, env.Now, "")
	if old := m.visit(a.Replaces); old != nil && old.held() {
		m.change(old.ID, func(v *visit) { v.Status = calendar.Expired })
	}
	w := d.world(m, env, a.ServiceID, "")
	holds := 0
	for _, v := range m.bookings {
		if v.held() && v.HoldUntil.After(env.Now) {
			holds++
		}
	}
	if holds >= d.settings.Policy.MaxHolds {
		return desk.Refuse(calendar.HoldLimit)
	}
	if code := calendar.Check(a.Start, a.StaffID, env.Now, w); code != "" {
		return desk.Answer(nil, &calendar.Refusal{Code: code, Alternatives: near(w, env.Now, a.Start)})
	}
	v := visit{Booking: calendar.Booking{
		ID: a.BookingID, Code: a.Code, ContactID: a.ContactID, Name: a.Name, ServiceID: a.ServiceID, StaffID: a.StaffID,
		StaffName: w.Staff[0].Name, Start: a.Start.UTC(), End: a.Start.Add(w.Service.Duration).UTC(), Status: calendar.Held,
		Price: w.Service.Price, Deposit: w.Service.Deposit, Paid: money.Amount{Currency: w.Service.Price.Currency},
		HoldUntil: a.HoldUntil.UTC(), ChangeUntil: a.Start.Add(-d.settings.Policy.Cancel), MoveUntil: a.Start.Add(-d.settings.Policy.Move), Version: 1,
		Terms: d.settings.Policy.Terms,
	}}
	m.bookings = append(m.bookings, &v)
	return desk.Changed(env, v.Booking, nil)
}

func (d tools) release(_ context.Context, env tool.Env, a calendar.ReleaseHoldArgs) (graph.Result, error) {
	m := in(env.Tx)
	v := m.visit(a.BookingID)
	if v == nil {
		return desk.Refuse(calendar.NoSuchBooking)
	}
	if v.held() {
		v = m.change(v.ID, func(v *visit) { v.Status = calendar.Expired })
	}
	desk.Keep(env, v.Booking)
	return tool.OK(struct{}{})
}

func (d tools) complete(_ context.Context, env tool.Env, a calendar.CompleteBookingArgs) (graph.Result, error) {
	m := in(env.Tx)
	v := m.visit(a.BookingID)
	if v == nil || v.Status != calendar.Confirmed || env.Now.Before(v.End) {
		return desk.Refuse(calendar.WrongState)
	}
	return desk.Changed(env, m.change(v.ID, func(v *visit) { v.Status = calendar.Completed }).Booking, nil)
}

// retake makes sure that a hold still has its time, taking it again when it
// ran out.
func (d tools) retake(m *memory, env tool.Env, v *visit) error {
	gone := !v.Start.After(env.Now)
	if (v.Status == calendar.Expired || !v.HoldUntil.After(env.Now)) && !gone {
		lapse(m, env.Now, v.ID)
		for _, o := range m.bookings {
			gone = gone || o.ID != v.ID && o.takes(env.Now) && o.Start.Before(v.End) && o.End.After(v.Start)
		}
	}
	if !gone {
		return nil
	}
	w := d.world(m, env, v.ServiceID, v.ID)
	return &calendar.Refusal{Code: calendar.HoldExpired, Alternatives: near(w, env.Now, v.Start)}
}

func (d tools) confirm(_ context.Context, env tool.Env, a calendar.ConfirmBookingArgs) (graph.Result, error) {
	m := in(env.Tx)
	v := m.visit(a.BookingID)
	switch {
	case v == nil:
		return desk.Refuse(calendar.NoSuchBooking)
	case !v.Start.Equal(a.Start):
		return desk.Refuse(calendar.Changed)
	case v.Status == calendar.Confirmed && v.receipt == a.Receipt:
		return desk.Changed(env, v.Booking, nil)
	case !v.held() && v.Status != calendar.Expired:
		return desk.Refuse(calendar.WrongState)
	case a.Paid.Minor < v.Deposit.Minor:
		return desk.Refuse(calendar.DepositDue)
	}
	if err := d.retake(m, env, v); err != nil {
		return desk.Answer(nil, err)
	}
	v = m.change(v.ID, func(v *visit) { v.Status, v.receipt, v.Paid.Minor = calendar.Confirmed, a.Receipt, a.Paid.Minor })
	return desk.Changed(env, v.Booking, nil)
}

func (d tools) cancel(_ context.Context, env tool.Env, a calendar.CancelBookingArgs) (graph.Result, error) {
	m := in(env.Tx)
	v := m.visit(a.BookingID)
	switch {
	case v == nil:
		return desk.Refuse(calendar.NoSuchBooking)
	case v.Status == calendar.Cancelled && v.Version == a.Version+1:
		return desk.Changed(env, v.Booking, nil)
	case !v.held() && v.Status != calendar.Confirmed:
		return desk.Refuse(calendar.WrongState)
	case v.Version != a.Version:
		return desk.Refuse(calendar.Changed)
	case v.Status == calendar.Confirmed && env.Now.After(v.ChangeUntil):
		return desk.Refuse(calendar.PolicyCutoff)
	}
	return desk.Changed(env, m.change(v.ID, func(v *visit) { v.Status = calendar.Cancelled }).Booking, nil)
}

func (d tools) push(ctx context.Context, env tool.Env, a calendar.PushPaymentArgs) (graph.Result, error) {
	m := in(env.Tx)
	if made := m.attempt(a.AttemptID); made != nil {
		return tool.OK(m.visit(made.Subject).Booking)
	}
	if slices.ContainsFunc(m.attempts, func(made *payment.Attempt) bool { return made.Subject == a.BookingID && made.Status.Live() }) {
		return desk.Refuse(calendar.PromptLive)
	}
	on, err := ledger{}.OnPhone(ctx, env.Tx, a.Phone, env.Now.Add(-payment.BetweenPrompts))
	if err != nil {
		return graph.Result{}, err
	}
	until := payment.FreeAt(on, env.Now)
	if until.After(env.Now) {
		sentence, next := calendar.Advice(calendar.PromptTooSoon)
		return tool.Conflict(calendar.PromptTooSoon, sentence, next, calendar.PromptWait{Until: until})
	}
	v := m.visit(a.BookingID)
	switch {
	case v == nil:
		return desk.Refuse(calendar.NoSuchBooking)
	case !v.held() && v.Status != calendar.Expired:
		return desk.Refuse(calendar.WrongState)
	}
	if err := d.retake(m, env, v); err != nil {
		return desk.Answer(nil, err)
	}
	if a.Amount != v.Deposit {
		return desk.Refuse(calendar.Changed)
	}
	v = m.change(v.ID, func(v *visit) {
		v.Status = calendar.PendingPayment
		if a.HoldUntil.After(v.HoldUntil) {
			v.HoldUntil = a.HoldUntil.UTC()
		}
	})
	err = ledger{}.Insert(ctx, env.Tx, payment.Attempt{
		ID: a.AttemptID, Thread: env.Thread, ContactID: ids.ContactID(v.ContactID), Subject: v.ID, Provider: "mpesa",
		Reference: "RTB-" + env.Tenant.Slug + "-" + a.AttemptID, Account: v.Code, Amount: a.Amount, Phone: a.Phone,
		Status: payment.Created, CreatedAt: env.Now,
	})
	if err == nil {
		err = env.Enqueue(ctx, tool.Effect{
			Lane: "mpesa", Kind: payment.EffectPrompt, Key: "prompt:" + a.AttemptID,
			Payload: payment.EffectPayload{AttemptID: a.AttemptID}, Expires: v.HoldUntil,
		})
	}
	if err != nil {
		return graph.Result{}, err
	}
	return desk.Changed(env, v.Booking, nil)
}
