package chaos

import (
	"cmp"
	"slices"
	"time"
)

// dueMargin is how late work may be without being overdue: it was being done
// when the product was asked to stop.
const dueMargin = 5 * time.Second

// span is time of one person that a booking takes.
type span struct {
	booking, subject string
	from, to         time.Time
}

// bookings checks that nobody is booked twice, by what the bookings say and by
// what is reserved, and that what is reserved is owned.
func (a *audit) bookings(b *books) {
	byID := map[string]bookingRow{}
	var agreed, reserved []span
	for _, bk := range b.bookings {
		byID[bk.id] = bk
		held := (bk.status == "held" || bk.status == "pending_payment") && bk.holdUntil.After(a.e.Stopped)
		if held || bk.status == "confirmed" {
			agreed = append(agreed, span{bk.id, bk.staff, bk.starts.Add(-minutes(bk.before)), bk.ends.Add(minutes(bk.after))})
		}
	}
	has := map[string]bool{}
	for _, oc := range b.occupancy {
		has[oc.booking] = true
		reserved = append(reserved, span{oc.booking, oc.subject, oc.starts, oc.ends})
		switch bk, ok := byID[oc.booking]; {
		case !ok:
			a.find(Leaked, b.slug, "time of %s at %s is reserved for booking %s, which is not there", oc.subject, stamp(oc.starts), oc.booking)
		case bk.status == "cancelled" || bk.status == "expired":
			a.find(Leaked, b.slug, "booking %s is %s and still has time of %s", bk.id, bk.status, oc.subject)
		case b.lapsedBefore(bk):
			a.find(Leaked, b.slug, "booking %s was held until %s, and a later one of %s did not release it", bk.id, stamp(bk.holdUntil), bk.staff)
		}
	}
	for _, s := range agreed {
		if !has[s.booking] {
			a.find(Overlapping, b.slug, "booking %s has no time reserved: anybody can take it", s.booking)
		}
	}
	a.overlaps(b, "bookings", agreed)
	a.overlaps(b, "reservations", reserved)
}

func minutes(n int64) time.Duration { return time.Duration(n) * time.Minute }

// overlaps finds spans of one person that share time.
func (a *audit) overlaps(b *books, of string, spans []span) {
	slices.SortFunc(spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.subject, y.subject), x.from.Compare(y.from), cmp.Compare(x.booking, y.booking))
	})
	for i, s := range spans {
		for _, next := range spans[i+1:] {
			if next.subject != s.subject || !next.from.Before(s.to) {
				break
			}
			if next.booking != s.booking {
				a.find(Overlapping, b.slug, "%s %s and %s both have %s at %s", of, s.booking, next.booking, s.subject, stamp(next.from))
			}
		}
	}
}

// lapsedBefore reports that a hold had run out when somebody else was given
// time of the same person, which releases what has run out. Until then it may
// stay: it is in nobody's way.
func (b *books) lapsedBefore(bk bookingRow) bool {
	if bk.status != "held" && bk.status != "pending_payment" {
		return false
	}
	return slices.ContainsFunc(b.bookings, func(o bookingRow) bool {
		return o.id != bk.id && o.staff == bk.staff && o.created.After(bk.holdUntil)
	})
}

// work checks that nothing is due and nothing was left behind.
func (a *audit) work(b *books) {
	clocked := map[string]bool{} // threads with a timer that ends them
	for _, tm := range b.timers {
		clocked[tm.scope] = clocked[tm.scope] || tm.name == "ttl"
		if tm.due.Add(dueMargin).Before(a.e.Stopped) {
			a.find(Missed, b.slug, "timer %s of %s %s was due at %s", tm.name, tm.mailbox, tm.scope, stamp(tm.due))
		}
	}
	for _, th := range b.threads {
		if th.closed.IsZero() && th.actor == "customer" && !clocked[th.id] {
			a.find(Missed, b.slug, "thread %s is open (%s) and has lost the timer that ends it", th.id, th.driver)
		}
	}
	for _, l := range b.leases {
		a.find(Leaked, b.slug, "mailbox %s is still leased", l.mailbox)
	}
	for _, out := range b.outbound {
		switch out.state {
		case "queued", "sending", "doubt":
			a.find(Leaked, b.slug, "%s %s is still %s, due %s", out.kind, out.id, out.state, stamp(out.due))
		}
	}
	for _, t := range b.tasks {
		if t.kind == "poison" {
			a.find(Lost, b.slug, "%s: a turn was put aside", t.key)
		}
	}
}
