package bookingsql

import (
	"context"
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
	w.exec(`INSERT INTO booking_policy (id, notice_minutes, horizon_days, cancel_minutes, hold_minutes, max_holds, applied_at)
		VALUES (1, $1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET notice_minutes = excluded.notice_minutes,
		horizon_days = excluded.horizon_days, cancel_minutes = excluded.cancel_minutes, hold_minutes = excluded.hold_minutes,
		max_holds = excluded.max_holds, applied_at = excluded.applied_at`,
		inMinutes(p.Notice), p.Horizon, inMinutes(p.Cancel), inMinutes(p.Hold), p.MaxHolds, db.At(now))
	w.staff(s.Staff)
	w.services(s.Services)
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
			interval_minutes, price_minor, deposit_minor, currency, hidden, removed)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, aliases = excluded.aliases,
			description = excluded.description, minutes = excluded.minutes, buffer_before = excluded.buffer_before,
			buffer_after = excluded.buffer_after, interval_minutes = excluded.interval_minutes,
			price_minor = excluded.price_minor, deposit_minor = excluded.deposit_minor, currency = excluded.currency,
			hidden = excluded.hidden, removed = excluded.removed OR services.deleted_at IS NOT NULL`,
			s.ID, i, db.JSON{V: text(s.Name)}, db.JSON{V: list(s.Aliases)}, db.JSON{V: text(s.Description)},
			inMinutes(s.Duration), inMinutes(s.BufferBefore), inMinutes(s.BufferAfter), inMinutes(s.Interval),
			s.Price.Minor, s.Deposit.Minor, s.Price.Currency, s.Hidden, false)
		w.exec(`DELETE FROM service_staff WHERE service_id = $1`, s.ID)
		for _, id := range s.Staff {
			w.exec(`INSERT INTO service_staff (service_id, staff_id) VALUES ($1, $2)`, s.ID, id)
		}
	}
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
