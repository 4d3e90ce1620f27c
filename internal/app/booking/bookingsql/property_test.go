package bookingsql_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// rounds is how often the random walk starts anew unless -rapid.checks says
// otherwise: every step is a durable write, and the race detector makes each
// ten times slower.
const rounds = "25"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", rounds); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// Whatever is done in whatever order: nothing overlaps, nobody holds too much
// or is in two places, what is offered can be had, and what is refused changes
// nothing.
func TestP7CalendarInvariants(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		m := &machine{shop: &shop{TB: t, DB: s.DB, zone: s.zone, now: morning}, round: round, bookings: map[string]calendar.Booking{}}
		r.Repeat(map[string]func(*rapid.T){
			"hold what is offered": m.holdOffered,
			"hold anything":        m.holdAnything,
			"replace a hold":       m.replaceHold,
			"release":              m.releaseAny,
			"await payment":        m.awaitAny,
			"confirm":              m.confirmAny,
			"move":                 m.moveAny,
			"cancel":               m.cancelAny,
			"time passes": func(r *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 12).Draw(r, "minutes")) * time.Minute)
			},
			"": m.check,
		})
		m.clear(r)
	})
}

type machine struct {
	*shop
	round, made int
	bookings    map[string]calendar.Booking
	order       []string
}

var people = []string{"asha", "ben", "chebet"}

func (m *machine) args(r *rapid.T) calendar.HoldSlotArgs {
	m.made++
	a := slotArgs(fmt.Sprintf("R%dN%d", m.round, m.made), rapid.SampledFrom(people).Draw(r, "contact"),
		rapid.SampledFrom([]string{"grace", "jane"}).Draw(r, "staff"), m.start(r), m.now.Add(10*time.Minute))
	return a
}

func (m *machine) start(r *rapid.T) time.Time {
	return local(3, 9, 0).Add(time.Duration(rapid.IntRange(0, 36).Draw(r, "start")) * 15 * time.Minute)
}

func (m *machine) keep(b calendar.Booking) {
	if _, known := m.bookings[b.ID]; !known {
		m.order = append(m.order, b.ID)
	}
	m.bookings[b.ID] = b
}

func (m *machine) any(r *rapid.T) calendar.Booking {
	if len(m.order) == 0 {
		r.Skip("nothing is booked")
	}
	return m.bookings[rapid.SampledFrom(m.order).Draw(r, "booking")]
}

// result keeps what succeeded. What was refused must have changed nothing, and
// its alternatives must be free for the contact.
func (m *machine) result(r *rapid.T, before, b calendar.Booking, err error) {
	if err == nil {
		m.keep(b)
		return
	}
	ref, refused := errors.AsType[*calendar.Refusal](err)
	if !refused {
		r.Fatal(err)
	}
	if before.ID == "" {
		return
	}
	var now calendar.Booking
	if err := m.Read(m.Context(), func(q db.Q) (err error) {
		now, err = bookingsql.Booking(m.Context(), q, m.caller(""), before.ID)
		return err
	}); err != nil {
		r.Fatal(err)
	}
	if diff := cmp.Diff(before, now); diff != "" && now.Status != calendar.Expired {
		r.Fatalf("the refusal %s changed the booking:\n%s", ref.Code, diff)
	}
}

func (m *machine) holdOffered(r *rapid.T) {
	a := m.args(r)
	offers := m.free(a.ContactID, day(3)).Slots
	if len(offers) == 0 {
		r.Skip("nothing is free")
	}
	s := rapid.SampledFrom(offers).Draw(r, "offer")
	a.StaffID, a.Start = s.StaffID, s.Start
	b, err := m.holdArgs(a)
	if ref, refused := errors.AsType[*calendar.Refusal](err); refused && ref.Code == calendar.HoldLimit {
		return
	}
	if err != nil {
		r.Fatalf("%s with %s was offered, but: %v", s.Start, s.StaffID, err)
	}
	m.keep(b)
}

func (m *machine) holdAnything(r *rapid.T) {
	a := m.args(r)
	b, err := m.holdArgs(a)
	m.result(r, calendar.Booking{}, b, err)
	if ref, refused := errors.AsType[*calendar.Refusal](err); refused && len(ref.Alternatives) > 0 {
		alt := ref.Alternatives[0]
		a.StaffID, a.Start = alt.StaffID, alt.Start
		b, err := m.holdArgs(a)
		if err != nil {
			r.Fatalf("%s was an alternative, but: %v", alt.Start, err)
		}
		m.keep(b)
	}
}

func (m *machine) replaceHold(r *rapid.T) {
	old := m.any(r)
	a := m.args(r)
	a.ContactID, a.Replaces = old.ContactID, old.ID
	b, err := m.holdArgs(a)
	m.result(r, old, b, err)
	m.refresh(r, old.ID)
}

func (m *machine) releaseAny(r *rapid.T) {
	b := m.any(r)
	if err := m.release(b.ContactID, b.ID); err != nil {
		r.Fatal(err)
	}
	m.refresh(r, b.ID)
}

func (m *machine) awaitAny(r *rapid.T) {
	b := m.any(r)
	out, err := m.await(b, m.now.Add(20*time.Minute))
	m.result(r, b, out, err)
}

func (m *machine) confirmAny(r *rapid.T) {
	b := m.any(r)
	out, err := m.shop.confirm(b, int64(rapid.SampledFrom([]int{999, 1000, 3500}).Draw(r, "paid")), "R"+b.ID)
	m.result(r, b, out, err)
}

func (m *machine) moveAny(r *rapid.T) {
	b := m.any(r)
	out, err := m.move(b, rapid.SampledFrom([]string{"grace", "jane"}).Draw(r, "to"), m.start(r))
	m.result(r, b, out, err)
}

func (m *machine) cancelAny(r *rapid.T) {
	b := m.any(r)
	out, err := m.cancel(b)
	m.result(r, b, out, err)
}

// refresh reads what a step did to a booking by the way.
func (m *machine) refresh(r *rapid.T, id string) {
	if err := m.Read(m.Context(), func(q db.Q) error {
		b, err := bookingsql.Booking(m.Context(), q, m.caller(""), id)
		m.bookings[id] = b
		return err
	}); err != nil {
		r.Fatal(err)
	}
}

func (m *machine) check(r *rapid.T) {
	if err := m.Read(m.Context(), func(q db.Q) error {
		for _, c := range people {
			all, err := bookingsql.List(m.Context(), q, m.now, calendar.QueryBookingsArgs{ContactID: c, Past: true})
			if err != nil {
				return err
			}
			for _, b := range all.Bookings {
				m.bookings[b.ID] = b
			}
		}
		return nil
	}); err != nil {
		r.Fatal(err)
	}
	const live = `(status = 'confirmed' OR status IN ('held', 'pending_payment') AND hold_until > $1)`
	for what, query := range map[string]string{
		"overlapping rows": overlaps + ` AND $1 <> ''`,
		"bookings that take time without a right to it": `SELECT COUNT(*) FROM occupancy o JOIN bookings b ON b.id = o.booking_id
			WHERE b.status NOT IN ('held', 'pending_payment', 'confirmed') AND $1 <> ''`,
		"bookings that stand without their time": `SELECT COUNT(*) FROM bookings b WHERE ` + live + ` AND NOT EXISTS (SELECT 1 FROM
			occupancy o WHERE o.booking_id = b.id AND o.subject = b.staff_id AND o.starts_at <= b.starts_at AND o.ends_at > b.ends_at)`,
		"bookings with two places": `SELECT COUNT(*) FROM (SELECT booking_id FROM occupancy WHERE $1 <> '' GROUP BY booking_id
			HAVING COUNT(*) > 1) twice`,
		"contacts in two places": `SELECT COUNT(*) FROM (SELECT id, contact_id, starts_at, ends_at FROM bookings WHERE ` + live + `) a
			JOIN (SELECT id, contact_id, starts_at, ends_at FROM bookings WHERE ` + live + `) b ON a.contact_id = b.contact_id
			AND a.id < b.id AND a.starts_at < b.ends_at AND b.starts_at < a.ends_at`,
		"bookings whose history has gaps": `SELECT COUNT(*) FROM bookings b WHERE $1 <> '' AND b.version <> (SELECT COUNT(*) FROM
			booking_history h WHERE h.booking_id = b.id)`,
	} {
		if n := m.count(query, db.At(m.now)); n != 0 {
			r.Fatalf("%d %s", n, what)
		}
	}
}

// clear gives everything back, for the next round.
func (m *machine) clear(r *rapid.T) {
	if err := m.Write(m.Context(), func(tx db.Tx) error {
		return errors.Join(db.Exec(m.Context(), tx, "clear", `DELETE FROM occupancy`),
			db.Exec(m.Context(), tx, "clear", `DELETE FROM booking_history`), db.Exec(m.Context(), tx, "clear", `DELETE FROM bookings`))
	}); err != nil {
		r.Fatal(err)
	}
}
