package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// refundWithin is how soon a person should have returned money.
const refundWithin = 24 * time.Hour

func (b business) zero() money.Amount { return money.Amount{} }

// settled acts on a payment's outcome, in whatever state the thread is. Money
// that came in either confirms its booking or becomes a task: it is never
// dropped, and never confirms what the customer gave up.
func settled(i in) out {
	s := i.State
	s.Spent = true
	var told payment.Settled
	if err := json.Unmarshal(i.Input.Event.Data, &told); err != nil {
		return onward(s, Back)
	}
	f := facts{"Amount": told.Amount, "Receipt": told.Receipt}
	switch {
	case told.Kind == payment.Offered:
		return s.offered(i, told)
	case told.Kind == payment.Reversed:
		return s.takenBack(i, told)
	case told.Kind == payment.Refunded:
		return onward(s, Back, say(i, "refund.done", f), toAdmins(i, "admin.refund_done", s.adminFacts(i, told)))
	case told.Kind == payment.NotRefunded:
		return s.notReturned(i, told)
	case told.Mismatch:
		o := onward(s, Back, say(i, "pay.mismatch", f), toAdmins(i, "admin.mismatch", s.adminFacts(i, told)))
		o.Tasks = []graph.Task{task(i, "mismatch", told.AttemptID, told)}
		return o
	case told.Kind != payment.Success:
		return s.failed(told)
	case slices.Contains(s.Gone, told.Subject):
		return s.giveBack(told, !told.Human)
	case s.Hold != nil && s.Hold.BookingID == told.Subject:
		d := s.done(i, about(i))
		return s.confirmPaid(told, *d)
	}
	read := graph.Call{Tool: calendar.QueryBookings, Args: calendar.QueryBookingsArgs{
		ContactID: i.Facts.Contact.ID, BookingID: told.Subject, Past: true,
	}}
	res, ok := i.Results.Get(read)
	if !ok {
		return out{State: i.State, Reads: []graph.Call{read}}
	}
	var found calendar.Bookings
	if err := res.Decode(&found); err != nil || len(found.Bookings) == 0 {
		return s.giveBack(told, false)
	}
	switch b := found.Bookings[0]; b.Status {
	case calendar.Held, calendar.PendingPayment, calendar.Expired:
		return s.confirmPaid(told, Done{
			BookingID: b.ID, Code: b.Code, ServiceID: b.ServiceID, StaffName: b.StaffName, Name: b.Name, Start: b.Start, Price: b.Price,
		})
	case calendar.Cancelled:
		return s.giveBack(told, !told.Human)
	case calendar.Confirmed, calendar.Completed, calendar.NoShow:
	}
	return s.giveBack(told, false)
}

// failed passes a failure on to the thread that waits for it. A failure of an
// older prompt, or after the customer left, changes nothing.
func (s State) failed(told payment.Settled) out {
	if s.Pay == nil || s.Pay.AttemptID != told.AttemptID || s.Hold == nil {
		return onward(s, Back)
	}
	s.Pay.Failed = string(told.Kind)
	if s.At != AwaitPayment {
		return onward(s, Back)
	}
	return onward(s, PaymentFailed)
}

// confirmPaid confirms what was paid for, under the rule recorded with it.
func (s State) confirmPaid(told payment.Settled, d Done) out {
	d.Paid, d.Receipt = told.Amount, told.Receipt
	s.Done = &d
	s.Credit = &Credit{BookingID: d.BookingID, Paid: told.Amount, Receipt: told.Receipt}
	return out{State: s, Write: &graph.Write{
		Call: graph.Call{Tool: calendar.ConfirmBooking, Args: calendar.ConfirmBookingArgs{
			BookingID: d.BookingID, Start: d.Start, Paid: told.Amount, Receipt: told.Receipt,
		}},
		Success: Confirmed, Conflict: PaidTooLate, Policy: PolicyDepositPaid,
	}}
}

// giveBack returns money that can confirm nothing: by the rule where the customer
// had given its booking up, else by a person of the business.
func (s State) giveBack(told payment.Settled, byRule bool) out {
	s.Credit = &Credit{BookingID: told.Subject, Paid: told.Amount, Receipt: told.Receipt, Returns: byRule && told.Receipt != ""}
	return onward(s, Refund)
}

// refund has the money returned, or raises the task for a person, and tells both
// sides.
func refund(i in) out {
	s := i.State
	told := s.credited()
	if c := s.Credit; c != nil && c.Returns && i.Conflict == nil {
		if c.Asked {
			s.Credit = nil
			return onward(s, Back, say(i, "refund.started", facts{"Amount": told.Amount, "Receipt": told.Receipt}),
				toAdmins(i, "admin.refund_started", s.adminFacts(i, told)))
		}
		begun := *c
		begun.Asked = true
		s.Credit = &begun
		return out{State: s, Write: &graph.Write{
			Call: graph.Call{Tool: calendar.RefundPayment, Args: calendar.RefundPaymentArgs{
				BookingID: c.BookingID, Receipt: c.Receipt, Amount: c.Paid, Reason: "cancelled",
			}},
			Success: Refund, Conflict: Refund, Policy: PolicyPaymentReturned,
		}}
	}
	o := onward(s, Back, say(i, "pay.refund", facts{"Amount": told.Amount, "Receipt": told.Receipt}),
		toAdmins(i, "admin.refund", s.adminFacts(i, told)))
	s.Credit = nil
	o.State.Credit = nil
	o.Tasks = []graph.Task{returning(i, told)}
	return o
}

// notReturned gives a refund that did not work to a person.
func (s State) notReturned(i in, told payment.Settled) out {
	f := facts{"Amount": told.Amount, "Receipt": told.Receipt}
	o := onward(s, Back, say(i, "refund.failed", f), toAdmins(i, "admin.refund_failed", s.adminFacts(i, told)))
	o.Tasks = []graph.Task{returning(i, told)}
	return o
}

// refundable is what goes back when a customer cancels a booking now, by the
// terms it was made under. A booking without any was made before there were
// terms: all that was paid, because nobody can cancel here later than allowed.
func refundable(k calendar.Booking, now time.Time) money.Amount {
	if len(k.Terms.Refunds) == 0 {
		return k.Paid
	}
	return k.RefundAt(now, calendar.ByCustomer)
}

// paidTooLate is for money whose time is gone: other times are offered with
// what was paid, and a person is asked to return it unless one is taken.
func paidTooLate(i in) out {
	s := i.State
	told := s.credited()
	var alt calendar.Alternatives
	if i.Conflict != nil {
		if err := i.Conflict.Decode(&alt); err != nil {
			alt.Slots = nil
		}
	}
	f := facts{"Amount": told.Amount, "Receipt": told.Receipt}
	admins := toAdmins(i, "admin.paid_too_late", s.adminFacts(i, told))
	todo := []graph.Task{returning(i, told)}
	if s.At == "" || s.Hold == nil || len(alt.Slots) == 0 {
		if s.At != "" {
			s = s.settle()
			s.At = Greet
		}
		s.Credit, s.Done = nil, nil
		o := onward(s, Back, say(i, "pay.too_late", f), admins)
		o.Tasks = todo
		return o
	}
	s.Hold, s.Pay, s.Ask, s.Done, s.Spent = nil, nil, nil, nil, true
	o := s.handOffer(alt.Slots, say(i, "pay.too_late_choose", f))
	o.Say, o.Tasks = append(o.Say, admins), todo
	o.Timers = []graph.Timer{{Name: timerHold}, {Name: timerRetry}}
	return o
}

func (s State) credited() payment.Settled {
	if s.Credit == nil {
		return payment.Settled{}
	}
	return payment.Settled{Subject: s.Credit.BookingID, Amount: s.Credit.Paid, Receipt: s.Credit.Receipt}
}

func (s State) adminFacts(i in, told payment.Settled) facts {
	return facts{"Name": s.name(i), "Amount": told.Amount, "Receipt": told.Receipt}
}

// returning is the task to give money back. Money that a query told of has no
// receipt yet and goes by what it was paid for.
func returning(i in, told payment.Settled) graph.Task {
	return task(i, "refund", cmp.Or(told.Receipt, told.Subject), told)
}

// task is work for a person. Its key is the payment's, so that it exists once.
func task(i in, kind, key string, told payment.Settled) graph.Task {
	return graph.Task{
		Kind: kind, Key: kind + ":" + key, Due: i.Now.Add(refundWithin),
		Detail: fmt.Sprintf("%s, receipt %s, booking %s", told.Amount, told.Receipt, told.Subject),
	}
}
