package bookingsql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/tenant"
)

// Apply writes a definition into the tables. Services and staff that are gone
// from it are hidden; bookings made with them stay. Applying the same
// definition again changes nothing but the note of when that was.
func Apply(ctx context.Context, tx db.Tx, t *tenant.Tenant, s calendar.Settings, now time.Time) error {
	s = s.In(t.Currency)
	w := writer{ctx: ctx, tx: tx}
	p := s.Policy
	w.exec(`INSERT INTO booking_policy (id, notice_minutes, horizon_days, cancel_minutes, hold_minutes, max_holds, applied_at, terms,
		offer_minutes) VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET notice_minutes = excluded.notice_minutes,
		horizon_days = excluded.horizon_days, cancel_minutes = excluded.cancel_minutes, hold_minutes = excluded.hold_minutes,
		max_holds = excluded.max_holds, applied_at = excluded.applied_at, terms = excluded.terms, offer_minutes = excluded.offer_minutes`,
		inMinutes(p.Notice), p.Horizon, inMinutes(p.Cancel), inMinutes(p.Hold), p.MaxHolds, db.At(now), db.JSON{V: p.Terms},
		inMinutes(p.Offer))
	w.staff(s.Staff)
	w.services(s.Services)
	w.resources(s)
	w.blocks(s.Blocks)
	w.exec(`DELETE FROM closures`)
	for _, c := range s.Closures {
		w.exec(`INSERT INTO closures (from_moment, to_moment, name) VALUES ($1, $2, $3)`,
			c.From.String(), c.To.String(), db.JSON{V: text(c.Name)})
	}
	return w.err
}

// writer runs statements until the first one fails.
type writer struct {
	ctx context.Context //nolint:containedctx // lives for one Apply.
	tx  db.Tx
	err error
}

func (w *writer) exec(query string, args ...any) {
	if w.err == nil {
		w.err = db.Exec(w.ctx, w.tx, "apply booking definition", query, args...)
	}
}

func (w *writer) staff(staff []calendar.Schedule) {
	w.exec(`UPDATE staff SET removed = $1`, true)
	for _, table := range []string{"staff_hours", "staff_exceptions", "time_off"} {
		w.exec(`DELETE FROM ` + table)
	}
	for i, m := range staff {
		w.exec(`INSERT INTO staff (id, position, name, aliases, removed) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, aliases = excluded.aliases,
			removed = excluded.removed`, m.ID, i, m.Name, db.JSON{V: list(m.Aliases)}, false)
		for day, shifts := range m.Hours {
			for _, sh := range shifts {
				w.exec(`INSERT INTO staff_hours (staff_id, weekday, opens, closes) VALUES ($1, $2, $3, $4)`,
					m.ID, day, int(sh.From), int(sh.To))
			}
		}
		for d, shifts := range m.Exceptions {
			if len(shifts) == 0 {
				w.exec(`INSERT INTO staff_exceptions (staff_id, on_date) VALUES ($1, $2)`, m.ID, d.String())
			}
			for _, sh := range shifts {
				w.exec(`INSERT INTO staff_exceptions (staff_id, on_date, opens, closes) VALUES ($1, $2, $3, $4)`,
					m.ID, d.String(), int(sh.From), int(sh.To))
			}
		}
		for _, off := range m.TimeOff {
			w.exec(`INSERT INTO time_off (staff_id, from_moment, to_moment) VALUES ($1, $2, $3)`,
				m.ID, off.From.String(), off.To.String())
		}
	}
}

// services keeps who offered a removed service, so that its bookings can still be moved.
func (w *writer) services(services []calendar.Service) {
	w.exec(`UPDATE services SET removed = $1`, true)
	for i, s := range services {
		w.exec(`INSERT INTO services (id, position, name, aliases, description, minutes, buffer_before, buffer_after,
			interval_minutes, price_minor, deposit_minor, currency, hidden, removed, capacity, needs, day_interval, starts)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
			ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, aliases = excluded.aliases,
			description = excluded.description, minutes = excluded.minutes, buffer_before = excluded.buffer_before,
			buffer_after = excluded.buffer_after, interval_minutes = excluded.interval_minutes,
			price_minor = excluded.price_minor, deposit_minor = excluded.deposit_minor, currency = excluded.currency,
			hidden = excluded.hidden, removed = excluded.removed OR services.deleted_at IS NOT NULL, capacity = excluded.capacity, needs = excluded.needs,
			day_interval = excluded.day_interval, starts = excluded.starts`,
			s.ID, i, db.JSON{V: text(s.Name)}, db.JSON{V: list(s.Aliases)}, db.JSON{V: text(s.Description)},
			inMinutes(s.Duration), inMinutes(s.BufferBefore), inMinutes(s.BufferAfter), inMinutes(s.Interval),
			s.Price.Minor, s.Deposit.Minor, s.Price.Currency, s.Hidden, false,
			max(1, s.Capacity), db.JSON{V: list(s.Needs)}, weekdays(s.DayInterval), weekdays(s.Starts))
		w.exec(`DELETE FROM service_staff WHERE service_id = $1`, s.ID)
		for _, id := range s.Staff {
			w.exec(`INSERT INTO service_staff (service_id, staff_id) VALUES ($1, $2)`, s.ID, id)
		}
	}
}

func weekdays[T any](m map[int]T) db.JSON {
	if len(m) == 0 {
		return db.JSON{}
	}
	return db.JSON{V: m}
}

// resources hides what is gone. What a removed service may need is kept, so that
// its bookings can still be moved.
func (w *writer) resources(s calendar.Settings) {
	w.exec(`UPDATE resources SET removed = $1`, true)
	for i, r := range s.Resources {
		w.exec(`INSERT INTO resources (id, position, name, kind, removed) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, kind = excluded.kind,
			removed = excluded.removed`, r.ID, i, r.Name, r.Kind, false)
	}
	for _, sv := range s.Services {
		w.exec(`DELETE FROM service_resources WHERE service_id = $1`, sv.ID)
		for _, r := range s.Resources {
			if slices.ContainsFunc(sv.Needs, r.Serves) {
				w.exec(`INSERT INTO service_resources (service_id, subject) VALUES ($1, $2)`, sv.ID, resourcePrefix+r.ID)
			}
		}
	}
}

// blocks writes the definition's blocks anew, a row for each subject. What was
// blocked at the desk stays.
func (w *writer) blocks(blocks []calendar.Block) {
	w.exec(`DELETE FROM blocks WHERE origin = 'definition'`)
	n := 0
	for _, b := range blocks {
		subjects := slices.Clone(b.Staff)
		for _, id := range b.Resources {
			subjects = append(subjects, resourcePrefix+id)
		}
		for _, subject := range subjects {
			if b.Dated() {
				n++
				w.block(fmt.Sprintf("definition:%d", n), "definition", subject, b.Span, b.Note)
				continue
			}
			for day, shifts := range b.Weekly {
				for _, sh := range shifts {
					n++
					w.exec(`INSERT INTO blocks (id, origin, subject, weekday, opens, closes, note) VALUES ($1, 'definition', $2, $3, $4, $5, $6)`,
						fmt.Sprintf("definition:%d", n), subject, day, int(sh.From), int(sh.To), b.Note)
				}
			}
		}
	}
}

func (w *writer) block(id, origin, subject string, s calendar.Span, note string) {
	w.exec(`INSERT INTO blocks (id, origin, subject, from_moment, to_moment, note) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, origin, subject, s.From.String(), s.To.String(), note)
}

// text and list make an empty value of a nil one: the columns hold no NULL.
func text(t calendar.Text) calendar.Text {
	if t == nil {
		return calendar.Text{}
	}
	return t
}

func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
