package flow

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// holdFor is how long a slot is kept where the business does not say.
const holdFor = 10 * time.Minute

func (b business) holdFor() time.Duration {
	if b.Policy.Hold > 0 {
		return b.Policy.Hold
	}
	return holdFor
}

// name returns whom the booking is for.
func (s State) name(i in) string {
	if s.Want.Name != "" || s.Want.Other {
		return s.Want.Name
	}
	return i.Facts.Contact.Name
}

// payer returns the phone a prompt would go to.
func (s State) payer(i in) string {
	if s.Payer != "" {
		return s.Payer
	}
	return i.Facts.Contact.Payer
}

// deposit returns what is due before the wanted booking is confirmed.
func (s State) deposit(b business) money.Amount {
	sv, _ := b.service(s.Want.Service)
	if s.Credit != nil && s.Credit.Paid.Minor >= sv.Deposit.Minor {
		return money.Amount{Currency: sv.Deposit.Currency}
	}
	return sv.Deposit
}

// hold keeps the picked start. A start that is already held is not taken twice.
func hold(i in) out {
	s, b := i.State, about(i)
	if s.Picked == nil || s.name(i) == "" {
		return onward(s, Collect)
	}
	if h := s.Hold; h != nil && h.ServiceID == s.Want.Service && h.Slot.Start.Equal(s.Picked.Start) && h.Slot.StaffID == s.Picked.StaffID && h.Name == s.name(i) {
		s.Picked, s.Offer = nil, nil
		s.Want.When = s.exactly(b)
		return onward(s, Confirming)
	}
	s.Next = &Hold{
		BookingID: i.IDs.New(), Code: i.IDs.Code(6), ServiceID: s.Want.Service, Slot: *s.Picked, Name: s.name(i),
		Until: i.Now.Add(b.holdFor()).Truncate(time.Second),
	}
	args := calendar.HoldSlotArgs{
		BookingID: s.Next.BookingID, Code: s.Next.Code, ContactID: i.Facts.Contact.ID, Name: s.name(i), ServiceID: s.Want.Service,
		StaffID: s.Picked.StaffID, Start: s.Picked.Start, HoldUntil: s.Next.Until,
	}
	if s.Hold != nil {
		args.Replaces = s.Hold.BookingID
	}
	s.Spent = true
	return out{State: s, Write: &graph.Write{
		Call: graph.Call{Tool: calendar.HoldSlot, Args: args}, Success: Confirming, Conflict: Offering,
	}}
}

// exactly is the held start as a wanted time.
func (s State) exactly(b business) When {
	return b.civil(s.Hold.Slot.Start)
}

func holdTimer(h *Hold) graph.Timer {
	return graph.Timer{Name: timerHold, At: h.Until, Data: h.BookingID}
}

// confirm shows the summary and does what its yes allows.
func confirm(i in) out {
	s, b := i.State, about(i)
	var timers []graph.Timer
	if s.Next != nil {
		if s.Pay != nil && s.Hold != nil {
			s.Gone = append(s.Gone, s.Hold.BookingID) // money that still comes for it is returned
		}
		s.Hold, s.Next, s.Picked, s.Offer, s.Pay = s.Next, nil, nil, nil, nil
		s.Want.When = s.exactly(b)
		timers = append(timers, holdTimer(s.Hold))
	}
	if s.Hold == nil {
		return onward(s, Collect)
	}
	if !s.Spent {
		s.Spent = true
		if o, done := s.confirmAnswer(i); done {
			return o
		}
	}
	if s.deposit(b).Minor > 0 && s.payer(i) == "" {
		o := onward(s, Collect)
		o.Timers = timers
		return o
	}
	o := s.summary(i, b)
	o.Timers = timers
	return o
}

// confirmAnswer reads an answer to the summary. done is false when the summary
// is to be shown again.
func (s *State) confirmAnswer(i in) (o out, done bool) {
	id := tapped(i)
	switch {
	case i.Input.Confirmed && s.Ask != nil:
		return s.carryOut(), true
	case s.wantsCard(i):
		return s.sendLink(i), true
	case id == tapTime:
		s.takeTime(id)
		return onward(*s, Collect), true
	case id == tapKind:
		s.Want.Service, s.Want.Services = "", nil
		return onward(*s, Collect), true
	case s.takeTime(id), s.take(i), s.takeChange(i.Input.Text):
		return onward(*s, Collect), true
	case saidSlots(i): // what was said is what is kept
		return o, false
	case i.Input.Name != "" && s.Hold.Name != s.name(i): // the name is part of what is kept
		slot := s.Hold.Slot
		s.Picked = &slot
		return onward(*s, Collect), true
	case id == tapChange || i.Input.Answer == graph.No || i.Input.Intent == graph.Reschedule || i.Input.Intent == graph.Deny:
		return rest(i, *s, Confirming, say(i, "ask.change", nil,
			button(tapTime, "button.time"), button(tapKind, "button.service"), button(tapStop, "button.stop"))), true
	case id == tapYes || i.Input.Answer == graph.Yes || i.Input.Name != "" || i.Input.Phone != "":
		if i.Input.Phone != "" {
			s.Payer = i.Input.Phone
		}
		return o, false
	}
	if name := plainName(i); i.Input.Intent == graph.Unknown && name != s.name(i) && isTitled(name) {
		slot := s.Hold.Slot
		s.Want.Name, s.Picked = name, &slot // a name by itself, after it was shown: the right one
		return onward(*s, Collect), true
	}
	question := s.summary(i, about(i))
	return lostAt(i, question, *s), true
}

// isTitled reports whether every word begins as names do.
func isTitled(name string) bool {
	for word := range strings.FieldsSeq(name) {
		if r, _ := utf8.DecodeRuneInString(word); !unicode.IsUpper(r) {
			return false
		}
	}
	return name != ""
}

// lostAt repeats a question that carries state of its own.
func lostAt(i in, question out, s State) out {
	q := question.State
	q.Misses = s.Misses
	o := lost(i, q, question.Rest, question.Say[0])
	o.Timers = question.Timers
	return o
}

// carryOut makes the call the yes was for.
func (s State) carryOut() out {
	w := &graph.Write{Call: s.Ask.call(), Success: Confirmed, Conflict: Offering}
	if s.Ask.Push != nil {
		w.Success, w.Conflict = AwaitPayment, PaymentFailed
	}
	s.Spent = true
	return out{State: s, Write: w}
}

// summary asks for the yes to exactly one call: the payment prompt, or the
// booking itself when nothing is due.
func (s State) summary(i in, b business) out {
	sv, _ := b.service(s.Hold.ServiceID)
	due := s.deposit(b)
	shown := facts{
		"Service": sv.Name, "Staff": s.Hold.Slot.StaffName, "Start": s.Hold.Slot.Start, "Duration": sv.Duration, "Price": sv.Price,
		"Deposit": due, "Name": s.name(i), "Phone": s.payer(i), "Until": s.Hold.Until,
	}
	key, yes := "summary.free", "button.confirm"
	switch {
	case due.Minor > 0 && !b.takes(payment.Mpesa):
		return s.summaryByCard(i, shown)
	case due.Minor > 0:
		key, yes = "summary.deposit", "button.pay"
		if b.takes(payment.Pesapal) {
			key = "summary.deposit_or_card"
		}
		s.Ask = s.push(i, b, due)
	case s.Credit != nil:
		key = "summary.credit"
		shown["Paid"], shown["Receipt"] = s.Credit.Paid, s.Credit.Receipt
		s.Ask = &Ask{Confirm: &calendar.ConfirmBookingArgs{
			BookingID: s.Hold.BookingID, Start: s.Hold.Slot.Start, Paid: s.Credit.Paid, Receipt: s.Credit.Receipt,
		}}
	default:
		s.Ask = &Ask{Confirm: &calendar.ConfirmBookingArgs{
			BookingID: s.Hold.BookingID, Start: s.Hold.Slot.Start, Paid: money.Amount{Currency: i.Facts.Currency},
		}}
	}
	s.Done = s.done(i, b)
	s.Asked = askConfirm
	q := say(i, key, shown, button(tapYes, yes), button(tapChange, "button.change"), button(tapStop, "button.cancel"))
	if key == "summary.deposit_or_card" { // there is room for three; "cancel" can be written
		q.Choices = []graph.Choice{button(tapYes, yes), button(tapCard, "button.card"), button(tapChange, "button.change")}
	}
	q.Confirm = &graph.Confirm{Calls: []graph.Call{s.Ask.call()}, Yes: tapYes, Shown: shown}
	return rest(i, s, Confirming, q)
}

// push is the prompt a yes would send. The hold outlives the prompt.
func (s State) push(i in, b business, due money.Amount) *Ask {
	until := i.Now.Add(b.holdFor()).Truncate(time.Second)
	if grace := s.Hold.Until.Add(b.holdFor() / 2); grace.After(until) {
		until = grace
	}
	return &Ask{Push: &calendar.PushPaymentArgs{
		AttemptID: i.IDs.New(), BookingID: s.Hold.BookingID, Amount: due, Phone: s.payer(i), HoldUntil: until,
	}}
}

// done is what a confirmation of the hold would be about.
func (s State) done(i in, b business) *Done {
	sv, _ := b.service(s.Hold.ServiceID)
	d := &Done{
		BookingID: s.Hold.BookingID, Code: s.Hold.Code, ServiceID: s.Hold.ServiceID, StaffName: s.Hold.Slot.StaffName,
		Name: s.name(i), Start: s.Hold.Slot.Start, Price: sv.Price, Paid: money.Amount{Currency: i.Facts.Currency},
	}
	if s.Credit != nil {
		d.Paid, d.Receipt = s.Credit.Paid, s.Credit.Receipt
	}
	return d
}

// confirmed says that the visit is booked, to the customer and to the business.
func confirmed(i in) out {
	s, b := i.State, about(i)
	d := s.Done
	if d == nil {
		return rest(i, s.settle(), Closed)
	}
	f := facts{
		"Code": d.Code, "Service": b.serviceName(d.ServiceID), "Staff": d.StaffName, "Name": d.Name, "Start": d.Start,
		"Price": d.Price, "Paid": d.Paid, "Receipt": d.Receipt, "Address": b.Address,
	}
	key := "confirmed.free"
	if d.Paid.Minor > 0 {
		key = "confirmed.paid"
		f["Balance"] = money.Amount{Minor: max(0, d.Price.Minor-d.Paid.Minor), Currency: d.Price.Currency}
	}
	admins := "admin.booked"
	if s.Credit != nil && s.Credit.BookingID != d.BookingID {
		admins = "admin.booked_with_credit"
	}
	told := []graph.Say{say(i, key, f), toAdmins(i, admins, f)}
	var o out
	if after, more := s.after(b); more && !d.Late {
		o = onward(after, Collect, append(told, say(i, "then.next", facts{"Service": b.serviceName(after.Want.Service)}))...)
	} else {
		o = rest(i, s.settle(), Closed, told...)
	}
	o.Timers = []graph.Timer{{Name: timerHold}, {Name: timerRetry}}
	return o
}

// holdExpired tells that the kept time was given back and offers to look again.
func holdExpired(i in) out {
	s := i.State
	if e := i.Input.Event; e != nil && !s.Spent {
		var id string
		if err := json.Unmarshal(e.Data, &id); err != nil || s.Hold == nil || s.Hold.BookingID != id || i.Now.Before(s.Hold.Until) {
			return onward(s, Back)
		}
		key := "hold.expired"
		if s.paying() || payCancel(s) {
			key = "hold.expired_paying"
		}
		f := facts{"Service": about(i).serviceName(s.Hold.ServiceID), "Start": s.Hold.Slot.Start}
		s.Hold, s.Ask, s.Pay, s.Picked, s.Offer, s.Booking = nil, nil, nil, nil, nil, nil
		return rest(i, s, HoldExpired, say(i, key, f, button(tapAgain, "button.look_again"), button(tapStop, "button.stop")))
	}
	if s.Spent {
		return rest(i, s, HoldExpired, say(i, "hold.look_again", nil, button(tapAgain, "button.look_again"), button(tapStop, "button.stop")))
	}
	if i.Input.Answer == graph.No {
		return out{State: s, Go: LetGo}
	}
	return out{State: s, Go: Collect}
}

// letGo gives back what was held and ends the thread.
func letGo(i in) out {
	s := i.State
	if s.Hold != nil {
		id := s.Hold.BookingID
		s.Hold, s.Spent = nil, true
		return out{State: s, Write: &graph.Write{
			Call: graph.Call{Tool: calendar.ReleaseHold, Args: calendar.ReleaseHoldArgs{BookingID: id}}, Success: LetGo, Conflict: LetGo,
		}}
	}
	key := "let_go"
	if s.Credit != nil {
		key = "let_go.credit"
	}
	o := rest(i, s.settle(), Closed, say(i, key, nil))
	o.Timers = []graph.Timer{{Name: timerHold}, {Name: timerRetry}}
	return o
}
