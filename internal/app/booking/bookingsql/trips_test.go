package bookingsql_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/money"
)

// wire passes connections on to PostgreSQL and counts trips: how often
// something is sent whose answer is then waited for.
type wire struct{ trips atomic.Int64 }

// listen carries connections to a server until the test ends, and returns
// where.
func (w *wire) listen(tb testing.TB, server string) string {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var carriers sync.WaitGroup
	carriers.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", server)
			if err != nil {
				tb.Errorf("reach the server: %v", err)
				_ = near.Close()
				return
			}
			carriers.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
			carriers.Go(func() { w.carry(far, bufio.NewReader(near)); _ = far.Close() })
		}
	})
	tb.Cleanup(func() { _ = l.Close(); carriers.Wait() })
	return l.Addr().String()
}

// carry passes on what a client sends, message by message: a letter, except
// before the first, and a length that counts itself.
func (w *wire) carry(far io.Writer, near *bufio.Reader) {
	for letter := 0; ; letter = 1 {
		head, err := near.Peek(letter + 4)
		if err != nil {
			return
		}
		if asks := head[0]; letter == 1 && (asks == 'S' || asks == 'Q') { // Sync, which ends a pipeline, and Query
			w.trips.Add(1)
		}
		length := int64(letter) + int64(binary.BigEndian.Uint32(head[letter:]))
		if _, err := io.CopyN(far, near, length); err != nil {
			return
		}
	}
}

// distantShop is a shop whose database is at the other end of a wire.
func distantShop(t *testing.T) (*shop, *wire) {
	t.Helper()
	if dbtest.Backend(t) != "postgres" {
		t.Skip("there is no way to a file")
	}
	w := &wire{}
	at, err := url.Parse(dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	at.Host, at.RawQuery = w.listen(t, at.Host), "sslmode=disable"
	server, err := db.OpenServer(t.Context(), at.String(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := server.Extensions(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := server.Schema("tenant")
	if err := d.Migrate(t.Context(), "booking", bookingsql.Migrations()); err != nil {
		t.Fatal(err)
	}
	apply(t, d, definition)
	return &shop{TB: t, DB: d, zone: nairobi(t), now: morning}, w
}

// week is what one customer does in one week: steps that follow each other.
type week struct {
	*shop
	tx  db.Tx
	day int    // a Tuesday of March 2026
	id  string // begins the bookings'
}

func (w week) at(hour int) time.Time { return local(w.day, hour, 0) }

func (w week) hold(id, contact string, hour int, replaces string) error {
	a := slotArgs(w.id+id, contact, "grace", w.at(hour), w.now.Add(10*time.Minute))
	if replaces != "" {
		a.Replaces = w.id + replaces
	}
	_, err := bookingsql.Hold(w.Context(), w.tx, w.caller(contact), a)
	return err
}

func (w week) confirm(id string, hour int) error {
	_, err := bookingsql.Confirm(w.Context(), w.tx, w.caller("asha"), calendar.ConfirmBookingArgs{
		BookingID: w.id + id, Start: w.at(hour), Paid: money.Major(1000, "KES"), Receipt: "R" + w.id + id,
	})
	return err
}

func (w week) look(a calendar.CheckAvailabilityArgs) error {
	_, err := bookingsql.Availability(w.Context(), w.tx, w.caller("asha"), a)
	return err
}

// On PostgreSQL a call costs its trips, however much it asks on each. The
// commit is one more, for whoever called.
func TestTripsToAServer(t *testing.T) {
	t.Parallel()
	s, wire := distantShop(t)
	steps := []struct {
		name string
		most int64
		run  func(w week) error
		code string // of the refusal that is expected
	}{
		{"list services", 1, func(w week) error { _, err := bookingsql.Catalogue(w.Context(), w.tx); return err }, ""},
		{"look for a start", 2, func(w week) error { return w.look(day(w.day)) }, ""},
		{"look on a holiday", 3, func(w week) error { return w.look(day(6)) }, ""},
		{"hold", 4, func(w week) error { return w.hold("a", "asha", 10, "") }, ""},
		{"hold again", 1, func(w week) error { return w.hold("a", "asha", 10, "") }, ""},
		{"hold what is taken", 4, func(w week) error { return w.hold("x", "ben", 10, "") }, calendar.SlotTaken},
		{"hold another instead", 5, func(w week) error { return w.hold("b", "asha", 15, "a") }, ""},
		{"await its payment", 2, func(w week) error {
			_, err := bookingsql.AwaitPayment(w.Context(), w.tx, w.caller("asha"), w.id+"b", w.now.Add(20*time.Minute))
			return err
		}, ""},
		{"confirm it", 2, func(w week) error { return w.confirm("b", 15) }, ""},
		{"look where to move it", 2, func(w week) error {
			a := day(w.day)
			a.BookingID = w.id + "b"
			return w.look(a)
		}, ""},
		{"move it", 5, func(w week) error {
			_, err := bookingsql.Reschedule(w.Context(), w.tx, w.caller("asha"), calendar.RescheduleBookingArgs{
				BookingID: w.id + "b", StaffID: "jane", Start: w.at(11), Version: 3,
			})
			return err
		}, ""},
		{"cancel it", 2, func(w week) error {
			_, err := bookingsql.Cancel(w.Context(), w.tx, w.caller("asha"), calendar.CancelBookingArgs{BookingID: w.id + "b", Version: 4})
			return err
		}, ""},
		{"hold once more", 4, func(w week) error { return w.hold("c", "asha", 9, "") }, ""},
		{"confirm it late", 4, func(w week) error { w.now = w.now.Add(time.Hour); return w.confirm("c", 9) }, ""},
		{"hold and forget", 4, func(w week) error { return w.hold("d", "asha", 11, "") }, ""},
		{"hold what was forgotten", 4, func(w week) error { w.now = w.now.Add(time.Hour); return w.hold("e", "asha", 11, "") }, ""},
		{"release", 2, func(w week) error {
			_, err := bookingsql.Release(w.Context(), w.tx, w.caller("asha"), w.id+"e")
			return err
		}, ""},
	}
	for round := range 2 { // the first time statements are prepared as well
		for _, step := range steps {
			var trips int64
			err := s.Write(t.Context(), func(tx db.Tx) error {
				before := wire.trips.Load()
				err := step.run(week{
					shop: &shop{TB: t, DB: s.DB, zone: s.zone, now: morning}, tx: tx, day: 3 + 7*round, id: strconv.Itoa(round),
				})
				trips = wire.trips.Load() - before
				return err
			})
			if step.code != "" {
				wantCode(t, err, step.code)
			} else if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if round > 0 && trips > step.most {
				t.Errorf("%s: %d trips, want at most %d", step.name, trips, step.most)
			}
		}
	}
}
