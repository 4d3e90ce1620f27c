package bookingsql_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// The only hour in which only Grace works.
const hour = `
services: [{key: massage, name: {en: Massage}, minutes: 60, price: 3500}]
staff: [{key: grace, name: Grace, hours: {tue: ["10:00-11:00"]}}]
policy: {notice_minutes: 0, horizon_days: 30, cancel_hours: 0, offer_minutes: 20, max_holds: 1}
`

func wait(id, contact string) calendar.JoinWaitlistArgs {
	return calendar.JoinWaitlistArgs{ID: id, ContactID: contact, Name: contact, ServiceID: "massage", From: "2026-03-03", To: "2026-03-03"}
}

func (s *shop) join(a calendar.JoinWaitlistArgs) error {
	return s.Write(s.Context(), func(tx db.Tx) error {
		_, err := bookingsql.Join(s.Context(), tx, s.caller(a.ContactID), a)
		return err
	})
}

// offer makes the next offer there is to make; "" when there is none.
func (s *shop) offer(id string) (to string, b calendar.Booking) {
	s.Helper()
	var next *bookingsql.Opening
	if err := s.Read(s.Context(), func(q db.Q) (err error) {
		next, _, err = bookingsql.NextOpening(s.Context(), q, s.caller(""))
		return err
	}); err != nil {
		s.Fatal(err)
	}
	if next == nil {
		return "", b
	}
	if err := s.write(func(tx db.Tx, c bookingsql.Caller) (err error) {
		b, err = bookingsql.OfferOpening(s.Context(), tx, c, *next, id, "C"+id)
		return err
	}); err != nil {
		s.Fatal(err)
	}
	return next.Wait.ContactID, b
}

func (s *shop) waits(contact string) []calendar.Wait {
	s.Helper()
	var out calendar.Waits
	if err := s.Read(s.Context(), func(q db.Q) (err error) {
		out, err = bookingsql.Waits(s.Context(), q, s.caller(contact), calendar.QueryWaitlistArgs{ContactID: contact})
		return err
	}); err != nil {
		s.Fatal(err)
	}
	return out.Waits
}

func TestAFreedStartIsOfferedInOrderOneAtATime(t *testing.T) {
	t.Parallel()
	s := &shop{TB: t, DB: open(t, hour), zone: nairobi(t), now: morning}
	at := local(3, 10, 0)
	b, err := s.confirm(s.mustHold("B1", "asha", "grace", at), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"ben", "chebet", "dan"} {
		if err := s.join(wait("W"+who, who)); err != nil {
			t.Fatal(err)
		}
	}
	if to, _ := s.offer("X"); to != "" {
		t.Fatalf("%s is offered what is not free", to)
	}
	if _, err := s.cancel(b); err != nil {
		t.Fatal(err)
	}
	to, offered := s.offer("O1")
	if to != "ben" || !offered.Start.Equal(at) || !offered.HoldUntil.Equal(s.now.Add(20*time.Minute)) || offered.WaitID != "Wben" {
		t.Fatalf("%s is offered %+v", to, offered)
	}
	if to, _ := s.offer("X"); to != "" {
		t.Fatalf("%s is offered the same start at the same time", to)
	}
	_, err = s.hold("B2", "eve", "grace", at)
	wantCode(t, err, calendar.SlotTaken) // nor can anybody else have it
	// Nobody answers: the next in line.
	s.now = offered.HoldUntil
	if err := s.release("ben", "O1"); err != nil {
		t.Fatal(err)
	}
	if to, offered = s.offer("O2"); to != "chebet" {
		t.Fatalf("then %s is offered it", to)
	}
	// A hold that ran out is given back by whoever needs its time, and its person
	// stands in line again.
	s.now = offered.HoldUntil
	if to, offered = s.offer("O3"); to != "dan" {
		t.Fatalf("then %s is offered it", to)
	}
	if w := s.waits("chebet"); len(w) != 1 || w[0].Status != calendar.Waiting || w[0].Skips != 1 {
		t.Errorf("chebet has %+v", w)
	}
	if _, err := s.confirm(offered, 0, ""); err != nil {
		t.Fatal(err)
	}
	if w := s.waits("dan"); len(w) != 0 {
		t.Errorf("dan has the visit and waits for %+v", w)
	}
	s.now = s.now.Add(time.Hour)
	if to, _ := s.offer("X"); to != "" {
		t.Errorf("%s is offered what is booked", to)
	}
}

func TestAStartIsOfferedToTheSamePersonOnce(t *testing.T) {
	t.Parallel()
	s := &shop{TB: t, DB: open(t, hour), zone: nairobi(t), now: morning}
	if err := s.join(wait("W1", "ben")); err != nil {
		t.Fatal(err)
	}
	if to, _ := s.offer("O1"); to != "ben" {
		t.Fatalf("%s is offered the start", to)
	}
	if err := s.release("ben", "O1"); err != nil { // no, thank you
		t.Fatal(err)
	}
	if to, _ := s.offer("X"); to != "" {
		t.Errorf("%s is offered again what they did not want", to)
	}
}

func TestPlacesInTheWaitlist(t *testing.T) {
	t.Parallel()
	s := &shop{TB: t, DB: open(t, hour), zone: nairobi(t), now: morning}
	for name, tc := range map[string]struct {
		edit func(*calendar.JoinWaitlistArgs)
		code string
	}{
		"a day that is past":             {func(a *calendar.JoinWaitlistArgs) { a.From, a.To = "2026-03-01", "2026-03-01" }, bookingsql.InvalidArguments},
		"days that end first":            {func(a *calendar.JoinWaitlistArgs) { a.To = "2026-03-02" }, bookingsql.InvalidArguments},
		"a day that does not exist":      {func(a *calendar.JoinWaitlistArgs) { a.To = "2026-02-30" }, bookingsql.InvalidArguments},
		"a range without an end":         {func(a *calendar.JoinWaitlistArgs) { a.To = "2028-03-03" }, bookingsql.InvalidArguments},
		"a service that does not exist":  {func(a *calendar.JoinWaitlistArgs) { a.ServiceID = "x" }, calendar.NotEligible},
		"somebody who does not offer it": {func(a *calendar.JoinWaitlistArgs) { a.StaffID = "x" }, calendar.NotEligible},
	} {
		a := wait("W", "ben")
		tc.edit(&a)
		if r, ok := errors.AsType[*calendar.Refusal](s.join(a)); !ok || r.Code != tc.code {
			t.Errorf("%s: %v, want %s", name, r, tc.code)
		}
	}
	for i := range calendar.MaxWaits {
		for range 2 { // the same place twice is one
			if err := s.join(wait(fmt.Sprint("W", i), "ben")); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantCode(t, s.join(wait("W9", "ben")), calendar.WaitLimit)
	wantCode(t, s.join(wait("W1", "eve")), calendar.NotOnTheList)
	leave := func(as, id string) error {
		return s.Write(t.Context(), func(tx db.Tx) error {
			_, err := bookingsql.Leave(t.Context(), tx, s.caller(as), calendar.LeaveWaitlistArgs{ID: id})
			return err
		})
	}
	wantCode(t, leave("eve", "W1"), calendar.NotOnTheList)
	to, b := s.offer("O1")
	if to != "ben" || b.WaitID != "W0" {
		t.Fatalf("%s is offered %+v", to, b)
	}
	for range 2 {
		if err := leave("ben", "W0"); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.count(`SELECT COUNT(*) FROM occupancy`); n != 0 || len(s.waits("ben")) != calendar.MaxWaits-1 {
		t.Errorf("after leaving %d rows are occupied, and %d places left", n, len(s.waits("ben")))
	}
}

// Whoever comes and goes: no two people are offered one start, what is offered
// is theirs to take, and nobody jumps the line.
func TestTheWaitlistIsFair(t *testing.T) {
	t.Parallel()
	s := &shop{TB: t, DB: open(t, hour), zone: nairobi(t), now: morning}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		m := &shop{TB: t, DB: s.DB, zone: s.zone, now: morning}
		made := 0
		id := func(kind string) string { made++; return fmt.Sprintf("%s%d-%d", kind, round, made) }
		offers := map[string]calendar.Booking{} // by contact
		r.Repeat(map[string]func(*rapid.T){
			"join": func(r *rapid.T) {
				err := m.join(wait(id("W"), rapid.SampledFrom(people).Draw(r, "who")))
				if _, refused := errors.AsType[*calendar.Refusal](err); err != nil && !refused {
					r.Fatal(err)
				}
			},
			"offer": func(r *rapid.T) {
				before := m.count(`SELECT COUNT(*) FROM waitlist w WHERE status = 'waiting'`)
				to, b := m.offer(id("O"))
				if to == "" {
					return
				}
				for who, o := range offers {
					if o.Start.Equal(b.Start) && o.HoldUntil.After(m.now) {
						r.Fatalf("%s and %s are offered the same start", who, to)
					}
				}
				offers[to] = b
				if after := m.count(`SELECT COUNT(*) FROM waitlist w WHERE status = 'waiting'`); after < before-1 {
					r.Fatalf("one offer took %d out of the line", before-after)
				}
			},
			"take": func(r *rapid.T) {
				who := rapid.SampledFrom(people).Draw(r, "who")
				b, ok := offers[who]
				if !ok || !b.HoldUntil.After(m.now) {
					r.Skip("nothing is offered")
				}
				out, err := m.confirm(b, 0, "")
				if err != nil {
					r.Fatalf("what was offered could not be taken: %v", err)
				}
				delete(offers, who)
				if _, err := m.cancel(out); err != nil {
					r.Fatal(err)
				}
			},
			"decline": func(r *rapid.T) {
				who := rapid.SampledFrom(people).Draw(r, "who")
				if b, ok := offers[who]; ok {
					delete(offers, who)
					if err := m.release(who, b.ID); err != nil {
						r.Fatal(err)
					}
				}
			},
			"time passes": func(r *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 15).Draw(r, "minutes")) * time.Minute)
			},
			"": func(r *rapid.T) {
				for what, query := range map[string]string{
					"overlapping rows": overlaps,
					"offers without their hold": `SELECT COUNT(*) FROM waitlist w WHERE status = 'offered' AND NOT EXISTS
						(SELECT 1 FROM bookings b JOIN occupancy o ON o.booking_id = b.id WHERE b.id = w.booking_id AND b.status = 'held')`,
					"people who were offered in vain too often": `SELECT COUNT(*) FROM waitlist WHERE skips > 3 OR skips = 3 AND status IN ('waiting', 'offered')`,
				} {
					if n := m.count(query); n != 0 {
						r.Fatalf("%d %s", n, what)
					}
				}
			},
		})
		if err := m.write(func(tx db.Tx, _ bookingsql.Caller) error {
			return errors.Join(db.Exec(t.Context(), tx, "clear", `DELETE FROM waitlist_offers`), db.Exec(t.Context(), tx, "clear", `DELETE FROM waitlist`))
		}); err != nil {
			r.Fatal(err)
		}
		(&machine{shop: m}).clear(r)
	})
	if diff := cmp.Diff(0, s.count(`SELECT COUNT(*) FROM occupancy`)); diff != "" {
		t.Error(diff)
	}
}
