package flow

import (
	"slices"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

// mine reads the contact's bookings; ok is false until they have been read.
func mine(i in, id string) (bookings []calendar.Booking, read graph.Call, ok bool) {
	read = graph.Call{Tool: calendar.QueryBookings, Args: calendar.QueryBookingsArgs{ContactID: i.Facts.Contact.ID, BookingID: id}}
	res, ok := i.Results.Get(read)
	if !ok {
		return nil, read, false
	}
	var found calendar.Bookings
	if err := res.Decode(&found); err != nil {
		return nil, read, true
	}
	return found.Bookings, read, true
}

func confirmedOnly(all []calendar.Booking, i in) []calendar.Booking {
	return slices.DeleteFunc(slices.Clone(all), func(b calendar.Booking) bool {
		return b.Status != calendar.Confirmed || !b.Start.After(i.Now)
	})
}

// rows makes bookings something to tap, each id carrying the booking.
func rows(b business, prefix string, bookings []calendar.Booking) []graph.Choice {
	var out []graph.Choice
	for _, k := range bookings[:min(len(bookings), maxRows)] {
		start := k.Start.In(b.zone)
		name := k.ServiceID
		if sv, ok := b.service(k.ServiceID); ok {
			name = sv.Name.In(b.lang)
		}
		out = append(out, row(prefix+k.ID, wording.ShortMoment(b.lang, start), k.Code+" · "+name+" · "+k.StaffName))
	}
	return out
}

func (b business) bookingFacts(k calendar.Booking) facts {
	return facts{
		"Code": k.Code, "Service": b.serviceName(k.ServiceID), "Staff": k.StaffName, "Start": k.Start, "Paid": k.Paid, "Name": k.Name,
		"ChangeUntil": k.ChangeUntil,
	}
}

// choose finds the booking that is to be changed: the one tapped, or the only
// one. done is true when the turn ends without one.
func choose(i in, s State, at graph.Name, prefix, ask string) (k calendar.Booking, o out, done bool) {
	id := tapped(i)
	if s.Spent {
		id = ""
	}
	wanted, _ := carried(id, prefix)
	if v, ok := carried(id, tapMoveSlot); ok {
		wanted, _, _ = slotOf(v, about(i))
	}
	all, read, ok := mine(i, "")
	if !ok {
		return k, out{State: i.State, Reads: []graph.Call{read}}, true
	}
	bookings := confirmedOnly(all, i)
	if n := slices.IndexFunc(bookings, func(b calendar.Booking) bool { return b.ID == wanted }); n >= 0 {
		bookings = bookings[n : n+1]
	}
	if len(bookings) == 0 {
		return k, rest(i, s.settle(), Greet, say(i, "bookings.none", nil, menu()...)), true
	}
	if len(bookings) > 1 {
		q := say(i, ask, nil, rows(about(i), prefix, bookings)...)
		q.ListLabel = "label.bookings"
		s.Asked = askBooking
		if s.At == at && !s.Spent {
			return k, lost(i, s, at, q), true
		}
		return k, rest(i, s, at, q), true
	}
	k = bookings[0]
	if k.ChangeUntil.Before(i.Now) {
		return k, rest(i, s.settle(), Greet, say(i, "change.too_late", about(i).bookingFacts(k), button(tapHuman, "button.human"))), true
	}
	return k, o, false
}

// movePick finds the booking to move.
func movePick(i in) out {
	s := i.State
	k, o, done := choose(i, s, MovePick, tapMove, "move.which")
	if done {
		if o.Rest == MovePick {
			o.State.Want.When = s.Want.When.merge(i.Input.When)
		}
		return o
	}
	when := When{}
	if s.At == MovePick {
		when = s.Want.When
	}
	s = s.settle()
	s.Booking, s.Around = &k, about(i).civil(k.Start)
	s.Want = Want{Service: k.ServiceID, Staff: k.StaffID, When: when.merge(i.Input.When)}
	if e := i.Input.Entities[kindStaff]; e.ID != "" {
		s.Want.Staff = e.ID
	}
	if w := &s.Want.When; w.Time == "" && len(w.Options) == 0 && w.From == "" && says(i.Input.Text, "same time", "saa ile", "saa hiyo", "wakati ule", "wakati huo") {
		w.Time = s.Around.Time
	}
	return onward(s, MoveWhen)
}

// moveWhen asks when the visit should be instead.
func moveWhen(i in) out {
	s, b := i.State, about(i)
	if s.Booking == nil {
		return rest(i, s, MoveWhen, say(i, "move.when", facts{"Service": "", "Start": i.Now}))
	}
	missed := false
	if !s.Spent {
		heard := s.takeTime(tapped(i))
		changed := s.takeForMove(i)
		if i.Input.Answer == graph.No && !heard && !changed {
			return rest(i, s.settle(), Closed, say(i, "kept", b.bookingFacts(*s.Booking)))
		}
		if i.Input.When.Fault != "" {
			o := rest(i, s, MoveWhen, faultText(i), whichDay(i, "move.when", b.bookingFacts(*s.Booking)))
			o.Reprompt = true
			return o
		}
		missed = !heard && !changed
	}
	if w := &s.Want.When; !w.dated() && (w.Time != "" || len(w.Options) > 0) {
		w.Date = s.Around.Date // "push it to five": on its day
	}
	s.Want.When = s.Want.When.sensible(b, s.Want.Service)
	q := whichDay(i, "move.when", b.bookingFacts(*s.Booking))
	s.Asked = askDate
	if w := s.Want.When; w.dated() {
		if len(w.Options) == 0 && !missed {
			return onward(s, MoveOffer)
		}
		q, s.Asked = whichTime(i, w), askTime
	}
	if missed {
		return lost(i, s, MoveWhen, q)
	}
	return rest(i, s, MoveWhen, q)
}

// takeForMove takes what was said about the new time; the service stays.
func (s *State) takeForMove(i in) bool {
	service := s.Want.Service
	changed := s.take(i)
	s.Want.Service, s.Want.Services = service, nil
	return changed
}

// moveOffer shows free starts for the booking that is being moved.
func moveOffer(i in) out {
	s := i.State
	if s.Booking == nil {
		return onward(s, MoveWhen)
	}
	sh := shelf{at: MoveOffer, ask: MoveWhen, picked: MoveConfirm, prefix: tapMoveSlot, bookingID: s.Booking.ID}
	return s.offer(i, sh)
}

// moveConfirm shows the old and the new time and moves on a yes.
func moveConfirm(i in) out {
	s, b := i.State, about(i)
	if s.Booking == nil || s.Picked == nil {
		return onward(s, MoveWhen)
	}
	if i.Conflict != nil {
		return s.moveRefused(i)
	}
	if !s.Spent {
		id := tapped(i)
		s.Spent = true
		switch {
		case i.Input.Confirmed && s.Ask != nil:
			return out{State: s, Write: &graph.Write{Call: s.Ask.call(), Success: Moved, Conflict: MoveConfirm}}
		case id == tapKeep || i.Input.Answer == graph.No:
			return rest(i, s.settle(), Closed, say(i, "kept", b.bookingFacts(*s.Booking)))
		case id == tapTime:
			s.Want.When, s.Picked, s.Offer = When{}, nil, nil
			return onward(s, MoveWhen)
		case s.takeForMove(i):
			s.Picked, s.Offer = nil, nil
			return onward(s, MoveWhen)
		case id == tapYes || i.Input.Answer == graph.Yes:
		default:
			return lostAt(i, s.moveSummary(i, b), s)
		}
	}
	return s.moveSummary(i, b)
}

func (s State) moveSummary(i in, b business) out {
	s.Ask = &Ask{Reschedule: &calendar.RescheduleBookingArgs{
		BookingID: s.Booking.ID, StaffID: s.Picked.StaffID, Start: s.Picked.Start, Version: s.Booking.Version,
	}}
	s.Asked = askConfirm
	f := b.bookingFacts(*s.Booking)
	f["New"], f["NewStaff"] = s.Picked.Start, s.Picked.StaffName
	q := say(i, "move.summary", f, button(tapYes, "button.move"), button(tapTime, "button.other_time"), button(tapKeep, "button.keep"))
	q.Confirm = &graph.Confirm{Calls: []graph.Call{s.Ask.call()}, Yes: tapYes, Shown: f}
	return rest(i, s, MoveConfirm, q)
}

// moveRefused answers a move that could not be made; the booking stands.
func (s State) moveRefused(i in) out {
	var alt calendar.Alternatives
	if err := i.Conflict.Decode(&alt); err == nil && len(alt.Slots) > 0 {
		s.Picked, s.Spent = nil, true
		s.Offer, s.Want.When = &Offer{Slots: inOrder(alt.Slots), Given: true}, When{}
		return onward(s, MoveOffer, say(i, "move.refused", about(i).bookingFacts(*s.Booking)))
	}
	return rest(i, s.settle(), Closed, say(i, notChanged(i.Conflict.Code), about(i).bookingFacts(*s.Booking)))
}

func notChanged(code string) string {
	if code == calendar.PolicyCutoff {
		return "change.too_late"
	}
	return "change.changed"
}

// moved says the new time, to the customer and to the business.
func moved(i in) out {
	s, b := i.State, about(i)
	if s.Booking == nil || s.Picked == nil {
		return rest(i, s.settle(), Closed)
	}
	f := b.bookingFacts(*s.Booking)
	f["New"], f["NewStaff"] = s.Picked.Start, s.Picked.StaffName
	return rest(i, s.settle(), Closed, say(i, "moved", f), toAdmins(i, "admin.moved", f))
}

// dropPick finds the booking to cancel.
func dropPick(i in) out {
	s := i.State
	k, o, done := choose(i, s, DropPick, tapDrop, "drop.which")
	if done {
		return o
	}
	s = s.settle()
	s.Booking = &k
	return onward(s, DropConfirm)
}

// dropConfirm asks whether to cancel, and cancels on a yes. While a payment
// prompt is out, it is the held time that is given up.
func dropConfirm(i in) out {
	s, b := i.State, about(i)
	if i.Conflict != nil {
		return s.dropRefused(i)
	}
	missed := 0
	if !s.Spent {
		id := tapped(i)
		s.Spent = true
		switch {
		case i.Input.Confirmed && s.Ask != nil && s.Ask.Cancel != nil:
			w := &graph.Write{Call: s.Ask.call(), Success: Dropped, Conflict: DropConfirm}
			if s.Pay != nil {
				w.Success = PayerCancelled
			}
			return out{State: s, Write: w}
		case id == tapKeep || i.Input.Answer == graph.No:
			return s.keep(i)
		case id == tapStop || id == tapYes || i.Input.Answer == graph.Yes || i.Input.Intent == graph.Cancel:
		default:
			missed = s.Misses + 1
		}
	}
	s.Misses = missed
	id := ""
	switch {
	case s.Pay != nil && s.Hold != nil:
		id = s.Hold.BookingID
	case s.Booking != nil:
		id = s.Booking.ID
	}
	found, read, ok := mine(i, id)
	if !ok {
		return out{State: i.State, Reads: []graph.Call{read}}
	}
	if id == "" || len(found) == 0 {
		return rest(i, s.settle(), Closed, say(i, "change.changed", b.bookingFacts(calendar.Booking{Start: i.Now, ChangeUntil: i.Now})))
	}
	return s.dropSummary(i, b, found[0])
}

func (s State) dropSummary(i in, b business, k calendar.Booking) out {
	s.Booking = &k
	s.Ask = &Ask{Cancel: &calendar.CancelBookingArgs{BookingID: k.ID, Reason: "customer", Version: k.Version}}
	s.Asked = askConfirm
	key := "drop.summary"
	if s.Pay != nil {
		key = "drop.summary_paying"
	}
	calls := []graph.Call{s.Ask.call()}
	back := refundable(k, i.Now)
	if back.Minor > 0 && s.Pay == nil {
		s.Ask.Refund = &calendar.RefundPaymentArgs{BookingID: k.ID, Amount: back, Reason: "cancelled"}
		calls = append(calls, graph.Call{Tool: calendar.RefundPayment, Args: *s.Ask.Refund})
	}
	f := b.bookingFacts(k)
	f["Paid"] = back
	q := say(i, key, f, button(tapYes, "button.cancel_it"), button(tapKeep, "button.keep"))
	q.Confirm = &graph.Confirm{Calls: calls, Yes: tapYes, Shown: f}
	if s.Misses > 1 {
		q.Choices = append(q.Choices, button(tapHuman, "button.human"))
	}
	o := rest(i, s, DropConfirm, q)
	if s.Misses > 0 {
		o.State.Misses, o.Reprompt = s.Misses, true
	}
	return o
}

// keep goes back to what was about to be cancelled.
func (s State) keep(i in) out {
	if s.Pay == nil {
		f := about(i).bookingFacts(calendar.Booking{Start: i.Now, ChangeUntil: i.Now})
		if s.Booking != nil {
			f = about(i).bookingFacts(*s.Booking)
		}
		return rest(i, s.settle(), Closed, say(i, "kept", f))
	}
	s.At, s.Repeat, s.Booking, s.Ask = AwaitPayment, true, nil, nil
	if s.Pay.Failed != "" {
		s.At = PaymentFailed
	}
	return onward(s, Back)
}

// dropRefused answers a cancellation that could not be made.
func (s State) dropRefused(i in) out {
	f := about(i).bookingFacts(calendar.Booking{Start: i.Now, ChangeUntil: i.Now})
	if s.Booking != nil {
		f = about(i).bookingFacts(*s.Booking)
	}
	return rest(i, s.settle(), Closed, say(i, notChanged(i.Conflict.Code), f))
}

// dropped says that the booking is cancelled, to the customer and the business.
func dropped(i in) out {
	s, b := i.State, about(i)
	if s.Booking == nil {
		return rest(i, s.settle(), Closed)
	}
	back := refundable(*s.Booking, i.Now)
	f := b.bookingFacts(*s.Booking)
	f["Paid"] = back
	if s.Ask != nil && s.Ask.Refund != nil && i.Conflict == nil {
		call := graph.Call{Tool: calendar.RefundPayment, Args: *s.Ask.Refund}
		ask := *s.Ask
		ask.Refund = nil
		s.Ask = &ask
		s.Returning = true
		return out{State: s, Write: &graph.Write{Call: call, Success: Dropped, Conflict: Dropped}}
	}
	if s.Returning && i.Conflict == nil {
		return rest(i, s.settle(), Closed, say(i, "dropped.returning", f), toAdmins(i, "admin.dropped_returning", f))
	}
	key := "dropped"
	if back.Minor > 0 {
		key = "dropped.paid"
	}
	o := rest(i, s.settle(), Closed, say(i, key, f), toAdmins(i, "admin.dropped", f))
	if back.Minor > 0 {
		o.Tasks = []graph.Task{{
			Kind: "refund", Key: "cancelled:" + s.Booking.ID, Due: i.Now.Add(refundWithin),
			Detail: back.String() + ", cancelled booking " + s.Booking.Code,
		}}
	}
	return o
}
