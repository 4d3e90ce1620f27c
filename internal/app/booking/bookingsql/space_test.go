package bookingsql_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

// A studio: two people, two rooms, and a class of three.
const studio = `
services:
  - {key: massage, name: {en: Massage}, minutes: 60, buffer_after: 15, price: 3500, needs: [room], staff: [grace, jane]}
  - {key: duo, name: {en: Duo}, minutes: 30, price: 2000, needs: [room, room], staff: [jane]}
  - {key: yoga, name: {en: Yoga}, minutes: 60, price: 500, capacity: 3, needs: [room], staff: [grace, jane]}
staff:
  - {key: grace, name: Grace, hours: {mon-sun: ["08:00-20:00"]}}
  - {key: jane, name: Jane, hours: {mon-sun: ["08:00-20:00"]}}
resources:
  - {key: room_1, name: Room 1, kind: room}
  - {key: room_2, name: Room 2, kind: room}
policy: {notice_minutes: 0, horizon_days: 30, cancel_hours: 0, max_moves: 2, max_holds: 3, refunds: [{hours: 1, percent: 50}]}
`

func newStudio(tb testing.TB) *shop {
	tb.Helper()
	return &shop{TB: tb, DB: open(tb, studio), zone: nairobi(tb), now: morning}
}

// book holds a start of a service.
func (s *shop) book(id, contact, service, staff string, start time.Time) (calendar.Booking, error) {
	a := slotArgs(id, contact, staff, start, s.now.Add(10*time.Minute))
	a.ServiceID = service
	return s.holdArgs(a)
}

func (s *shop) mustBook(id, contact, service, staff string, start time.Time) calendar.Booking {
	s.Helper()
	b, err := s.book(id, contact, service, staff, start)
	if err != nil {
		s.Fatalf("book %s: %v", id, err)
	}
	return b
}

func (s *shop) write(fn func(tx db.Tx, c bookingsql.Caller) error) error {
	return s.Write(s.Context(), func(tx db.Tx) error { return fn(tx, s.caller("")) })
}

func TestRoomsAreReservedWithStaff(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	at := local(3, 10, 0)
	if b := s.mustBook("B1", "asha", "massage", "grace", at); !cmp.Equal(b.Resources, []string{"room_1"}) {
		t.Fatalf("the first visit has %v", b.Resources)
	}
	_, err := s.book("B2", "ben", "duo", "jane", at)
	alternatives := wantCode(t, err, calendar.SlotTaken).Alternatives // one room is left, and two are needed
	if len(alternatives) == 0 || !alternatives[0].Start.Equal(local(3, 9, 30)) {
		t.Errorf("alternatives: %+v", alternatives)
	}
	if b := s.mustBook("B3", "ben", "massage", "jane", at); !cmp.Equal(b.Resources, []string{"room_2"}) {
		t.Fatalf("the second visit has %v", b.Resources)
	}
	a := day(3)
	a.ServiceID, a.TimeFrom, a.TimeTo = "duo", "10:00", "12:00"
	if got := s.starts(s.free("chebet", a)); !cmp.Equal(got, []string{"11:30 jane"}) {
		t.Errorf("both rooms are free again at %v", got)
	}
	// A room is given back with its visit, and the room of a hold that ran out goes
	// to who needs it, whoever was to be there.
	s.now = s.now.Add(time.Hour)
	if b := s.mustBook("B4", "chebet", "duo", "jane", at); len(b.Resources) != 2 {
		t.Errorf("after both holds ran out there are %v", b.Resources)
	}
	if n := s.count(`SELECT COUNT(*) FROM occupancy`); n != 3 {
		t.Errorf("%d rows of occupancy, want a member of staff and two rooms", n)
	}
}

func TestTheDatabaseRefusesARoomTwice(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.mustBook("B1", "asha", "massage", "grace", local(3, 10, 0))
	err := s.write(func(tx db.Tx, _ bookingsql.Caller) error {
		_, err := db.Changed(t.Context(), tx, "slip through", `INSERT INTO occupancy (booking_id, subject, starts_at, ends_at)
			VALUES ('B9', 'resource:room_1', $1, $2)`, db.At(local(3, 10, 30)), db.At(local(3, 11, 30)))
		return err
	})
	if !db.IsOverlap(err) {
		t.Fatalf("got %v, want an overlap", err)
	}
	b := s.mustBook("B2", "asha", "yoga", "jane", local(4, 10, 0))
	if err := s.write(func(tx db.Tx, _ bookingsql.Caller) error {
		_, err := db.Changed(t.Context(), tx, "slip through", `UPDATE group_sessions SET taken = 4 WHERE starts_at = $1`, db.At(b.Start))
		return err
	}); err == nil {
		t.Fatal("a session has more bookings than seats")
	}
}

func TestAGroupFillsItsSeatsAndNoMore(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	at := local(3, 18, 0)
	var first calendar.Booking
	for i, who := range []string{"asha", "ben", "chebet"} {
		b := s.mustBook(fmt.Sprint("B", i), who, "yoga", "grace", at)
		if i == 0 {
			first = b
		}
	}
	if n := s.count(`SELECT COUNT(*) FROM occupancy`); n != 2 {
		t.Errorf("the class takes %d rows, want its teacher and its room once", n)
	}
	_, err := s.book("B8", "dan", "yoga", "grace", at)
	wantCode(t, err, calendar.SlotTaken)
	_, err = s.book("B9", "dan", "massage", "grace", at)
	wantCode(t, err, calendar.SlotTaken)
	if b, err := s.book("B7", "dan", "yoga", "jane", at); err != nil || !cmp.Equal(b.Resources, []string{"room_2"}) {
		t.Fatalf("a class of its own next door: %+v, %v", b, err)
	}
	if err := s.release("asha", first.ID); err != nil {
		t.Fatal(err)
	}
	s.mustBook("B6", "eve", "yoga", "grace", at)
	// When everyone's hold has run out the class is over, and its time free.
	s.now = s.now.Add(time.Hour)
	s.mustBook("B5", "fay", "massage", "grace", at)
	if n := s.count(`SELECT COUNT(*) FROM group_sessions`); n > 1 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestASeatMovesWithItsBooking(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	pay := func(b calendar.Booking) calendar.Booking {
		out, err := s.confirm(b, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a := pay(s.mustBook("B1", "asha", "yoga", "grace", local(3, 18, 0)))
	pay(s.mustBook("B2", "ben", "yoga", "grace", local(3, 18, 0)))
	_, err := s.move(a, "grace", local(3, 18, 30))
	wantCode(t, err, calendar.SlotTaken) // the class itself is in the way
	if a, err = s.move(a, "grace", local(4, 18, 0)); err != nil {
		t.Fatal(err)
	}
	if a, err = s.move(a, "grace", local(4, 18, 0)); err != nil { // to where it is
		t.Fatal(err)
	}
	if n := s.count(`SELECT SUM(taken) FROM group_sessions`); n != 2 {
		t.Errorf("%d seats are taken, want 2", n)
	}
	_, err = s.move(a, "grace", local(5, 18, 0))
	wantCode(t, err, calendar.MoveLimit)
	if _, err := s.cancel(a); err != nil {
		t.Fatal(err)
	}
	if n := s.count(`SELECT COUNT(*) FROM group_sessions`); n != 1 {
		t.Errorf("%d sessions are left, want that of the one who stayed", n)
	}
}

// Of forty who want one of three seats, on either backend, three have one.
func TestP7SeatsUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	at := local(3, 18, 0)
	var all sync.WaitGroup
	results := make([]error, 40)
	for i := range results {
		all.Go(func() { _, results[i] = s.book(fmt.Sprint("B", i), fmt.Sprint("c", i), "yoga", "grace", at) })
	}
	all.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		if r, refused := errors.AsType[*calendar.Refusal](err); !refused || r.Code != calendar.SlotTaken {
			t.Fatal(err)
		}
	}
	if won != 3 || s.count(`SELECT SUM(taken) FROM group_sessions`) != 3 {
		t.Errorf("%d have a seat", won)
	}
}

func TestNoShowsAndWhatGoesBack(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	b, err := s.confirm(s.mustBook("B1", "asha", "massage", "grace", local(3, 10, 0)), 1000, "R1")
	if err != nil {
		t.Fatal(err)
	}
	mark := func(as string, undo bool) (out calendar.Booking, err error) {
		err = s.Write(t.Context(), func(tx db.Tx) error {
			out, err = bookingsql.MarkNoShow(t.Context(), tx, s.caller(as), calendar.MarkNoShowArgs{BookingID: b.ID, Undo: undo})
			return err
		})
		return out, err
	}
	_, err = mark("", false)
	wantCode(t, err, calendar.WrongState) // not before it begins
	s.now = b.Start
	_, err = mark("asha", false)
	wantCode(t, err, calendar.NoSuchBooking) // nor by its customer
	if out, err := mark("", false); err != nil || out.Status != calendar.NoShow || out.Refund.Minor != 0 {
		t.Fatalf("marked: %+v, %v", out, err)
	}
	if out, err := mark("", true); err != nil || out.Status != calendar.Confirmed {
		t.Fatalf("taken back: %+v, %v", out, err)
	}
	s.now = b.End
	if err := s.write(func(tx db.Tx, c bookingsql.Caller) error {
		_, err := bookingsql.Complete(t.Context(), tx, c, calendar.CompleteBookingArgs{BookingID: b.ID})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if out, err := mark("", false); err != nil || out.Status != calendar.NoShow {
		t.Fatalf("marked after the visit was over: %+v, %v", out, err)
	}
	s.now = b.End.Add(73 * time.Hour)
	_, err = mark("", true)
	wantCode(t, err, calendar.PolicyCutoff)
	if n := s.count(`SELECT COUNT(*) FROM booking_history WHERE booking_id = 'B1'`); n != 6 {
		t.Errorf("%d rows of history, want held, confirmed, no_show, undone, completed, no_show", n)
	}
}

func TestCancellingNotesTheRefundOfItsTerms(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	made := func(id string, hour int) calendar.Booking {
		b, err := s.confirm(s.mustBook(id, id, "massage", "grace", local(3, hour, 0)), 1000, "R"+id)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	early, late, ours := made("B1", 9), made("B2", 12), made("B3", 15)
	apply(t, s.DB, strings.Replace(studio, "percent: 50", "percent: 0", 1)) // what was agreed stays agreed
	out, err := s.cancel(early)
	if err != nil || out.Refund != money.Major(500, "KES") {
		t.Errorf("early: %s, %v", out.Refund, err)
	}
	s.now = late.Start.Add(-time.Minute)
	if out, err = s.cancel(late); err != nil || out.Refund.Minor != 0 {
		t.Errorf("late: %s, %v", out.Refund, err)
	}
	if err := s.write(func(tx db.Tx, c bookingsql.Caller) error {
		out, err = bookingsql.Cancel(t.Context(), tx, c, calendar.CancelBookingArgs{BookingID: ours.ID, Reason: "power cut", Version: ours.Version})
		return err
	}); err != nil || out.Refund != money.Major(1000, "KES") {
		t.Errorf("by the business: %s, %v", out.Refund, err)
	}
	var stored calendar.Booking
	if err := s.Read(t.Context(), func(q db.Q) (err error) {
		stored, err = bookingsql.Booking(t.Context(), q, s.caller(""), ours.ID)
		return err
	}); err != nil || stored.Refund != out.Refund {
		t.Errorf("stored: %s, %v", stored.Refund, err)
	}
}

// Whatever is done in whatever order to rooms and seats, while definitions
// change and the clock is put back: nothing is taken twice, what counts seats
// counts right, and what is offered can be had.
func TestP7SpaceInvariants(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	variants := []string{
		studio, strings.Replace(studio, "capacity: 3", "capacity: 2", 1), strings.Replace(studio, "needs: [room, room]", "needs: [room]", 1),
		strings.Replace(studio, "  - {key: room_2, name: Room 2, kind: room}\n", "", 1) + "closures: [{from: 2026-03-20}]\n",
		strings.Replace(studio, "price: 500", "price: 900", 1),
	}
	variants[3] = strings.Replace(variants[3], "needs: [room, room]", "needs: [room]", 1)
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		m := &spaceModel{shop: &shop{TB: t, DB: s.DB, zone: s.zone, now: morning}, round: round, known: map[string]calendar.Booking{}}
		apply(t, s.DB, studio)
		r.Repeat(map[string]func(*rapid.T){
			"book":          m.bookOne,
			"book an offer": m.bookOffer,
			"confirm": func(r *rapid.T) {
				b := m.any(r)
				out, err := m.confirm(b, int64(rapid.IntRange(0, 5).Draw(r, "paid")), "R"+b.ID)
				m.note(r, out, err)
			},
			"move": func(r *rapid.T) {
				out, err := m.move(m.any(r), m.staff(r), m.start(r))
				m.note(r, out, err)
			},
			"cancel":  func(r *rapid.T) { out, err := m.cancel(m.any(r)); m.note(r, out, err) },
			"release": func(r *rapid.T) { b := m.any(r); m.note(r, calendar.Booking{}, m.release(b.ContactID, b.ID)) },
			"complete": func(r *rapid.T) {
				b := m.any(r)
				m.note(r, calendar.Booking{}, m.write(func(tx db.Tx, c bookingsql.Caller) error {
					_, err := bookingsql.Complete(m.Context(), tx, c, calendar.CompleteBookingArgs{BookingID: b.ID})
					return err
				}))
			},
			"the definition changes": func(r *rapid.T) { apply(t, s.DB, rapid.SampledFrom(variants).Draw(r, "definition")) },
			"time passes or the clock is put back": func(r *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(-8, 15).Draw(r, "minutes")) * time.Minute)
			},
			"": m.check,
		})
		(&machine{shop: m.shop}).clear(r)
		if err := m.write(func(tx db.Tx, _ bookingsql.Caller) error {
			return db.Exec(t.Context(), tx, "clear", `DELETE FROM group_sessions`)
		}); err != nil {
			r.Fatal(err)
		}
	})
}

// spaceModel remembers what the calendar answered.
type spaceModel struct {
	*shop
	round, made int
	known       map[string]calendar.Booking
	order       []string
}

func (m *spaceModel) staff(r *rapid.T) string {
	return rapid.SampledFrom([]string{"grace", "jane"}).Draw(r, "staff")
}

func (m *spaceModel) start(r *rapid.T) time.Time {
	return local(3, 9, 0).Add(time.Duration(rapid.IntRange(0, 8).Draw(r, "start")) * 30 * time.Minute)
}

func (m *spaceModel) any(r *rapid.T) calendar.Booking {
	if len(m.order) == 0 {
		r.Skip("nothing is booked")
	}
	return m.known[rapid.SampledFrom(m.order).Draw(r, "booking")]
}

func (m *spaceModel) args(r *rapid.T) (id, contact, service string) {
	m.made++
	return fmt.Sprintf("S%dN%d", m.round, m.made), fmt.Sprintf("c%d", rapid.IntRange(0, 4).Draw(r, "contact")),
		rapid.SampledFrom([]string{"massage", "duo", "yoga"}).Draw(r, "service")
}

func (m *spaceModel) bookOne(r *rapid.T) {
	id, contact, service := m.args(r)
	b, err := m.book(id, contact, service, m.staff(r), m.start(r))
	m.note(r, b, err)
}

func (m *spaceModel) bookOffer(r *rapid.T) {
	id, contact, service := m.args(r)
	a := day(3)
	a.ServiceID = service
	offers := m.free(contact, a).Slots
	if len(offers) == 0 {
		r.Skip("nothing is free")
	}
	o := rapid.SampledFrom(offers).Draw(r, "offer")
	b, err := m.book(id, contact, service, o.StaffID, o.Start)
	if ref, refused := errors.AsType[*calendar.Refusal](err); err != nil && (!refused || ref.Code != calendar.HoldLimit) {
		r.Fatalf("%s of %s with %s was offered, but: %v", o.Start, service, o.StaffID, err)
	}
	m.note(r, b, err)
}

func (m *spaceModel) note(r *rapid.T, b calendar.Booking, err error) {
	if _, refused := errors.AsType[*calendar.Refusal](err); err != nil && !refused {
		r.Fatal(err)
	}
	if err != nil || b.ID == "" {
		return
	}
	if old, known := m.known[b.ID]; !known {
		m.order = append(m.order, b.ID)
	} else if old.Code != b.Code || old.Price != b.Price || !cmp.Equal(old.Terms, b.Terms) {
		r.Fatalf("what was agreed has changed: %+v, then %+v", old, b)
	}
	m.known[b.ID] = b
}

func (m *spaceModel) check(r *rapid.T) {
	for _, id := range m.order {
		if err := m.Read(m.Context(), func(q db.Q) error {
			b, err := bookingsql.Booking(m.Context(), q, m.caller(""), id)
			m.known[id] = b
			return err
		}); err != nil {
			r.Fatal(err)
		}
	}
	// The model: who stands takes their staff and rooms, a class once for all.
	type use struct {
		holder   string
		from, to time.Time
	}
	uses, seats := map[string][]use{}, map[string]int{}
	for _, id := range m.order {
		b := m.known[id]
		if b.Status != calendar.Confirmed && (b.Status != calendar.Held && b.Status != calendar.PendingPayment || !b.HoldUntil.After(m.now)) {
			continue
		}
		u := use{b.ID, b.Start, b.End}
		if b.ServiceID == "yoga" {
			u.holder = "class/" + b.StaffID + "/" + b.Start.String()
			seats[u.holder]++
		}
		for _, subject := range append([]string{b.StaffID}, b.Resources...) {
			for _, o := range uses[subject] {
				if o.holder != u.holder && o.from.Before(u.to) && u.from.Before(o.to) {
					r.Fatalf("%s is taken by %s and %s at once", subject, o.holder, u.holder)
				}
			}
			uses[subject] = append(uses[subject], u)
		}
	}
	for class, n := range seats {
		if n > 3 {
			r.Fatalf("%d people in %s", n, class)
		}
	}
	for what, query := range map[string]string{
		"overlapping rows": overlaps,
		"sessions that count wrong": `SELECT COUNT(*) FROM group_sessions g WHERE taken <> (SELECT COUNT(*) FROM bookings b
			WHERE b.session_id = g.id AND b.status IN ('held', 'pending_payment', 'confirmed', 'completed', 'no_show'))`,
		"rows of nobody": `SELECT COUNT(*) FROM occupancy o WHERE NOT EXISTS (SELECT 1 FROM bookings b WHERE b.id = o.booking_id
			AND b.session_id = '') AND NOT EXISTS (SELECT 1 FROM group_sessions g WHERE g.id = o.booking_id)`,
	} {
		if n := m.count(query); n != 0 {
			r.Fatalf("%d %s", n, what)
		}
	}
}
