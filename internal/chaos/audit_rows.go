package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
)

// tenantIDs lists the businesses' ids by slug.
func tenantIDs(ctx context.Context, control *db.DB) (map[string]string, error) {
	out := map[string]string{}
	err := control.Read(ctx, func(q db.Q) error {
		_, err := db.Collect(ctx, q, "list businesses", func(row db.Scanner) (bool, error) {
			var slug, id string
			err := row.Scan(&slug, &id)
			out[slug] = id
			return true, err
		}, "SELECT slug, id FROM tenants")
		return err
	})
	return out, err
}

// underWay says what a business still has to do at now, "" for nothing.
func underWay(ctx context.Context, d *db.DB, now time.Time) (string, error) {
	what := ""
	err := d.Read(ctx, func(q db.Q) error {
		for _, w := range []struct{ name, query string }{
			{"messages or events wait", "SELECT COUNT(*) FROM inbox WHERE done_at IS NULL AND received_at <= $1"},
			{"sends wait", "SELECT COUNT(*) FROM outbox WHERE state IN ('queued', 'sending', 'doubt') AND created_at <= $1"},
			{"mailboxes are due", "SELECT COUNT(*) FROM mailboxes WHERE due_at <= $1"},
		} {
			var n int
			if err := q.QueryRowContext(ctx, w.query, db.At(now)).Scan(&n); err != nil {
				return fmt.Errorf("look at what waits: %w", err)
			}
			if n > 0 {
				what = fmt.Sprintf("%d %s", n, w.name)
				return nil
			}
		}
		return nil
	})
	return what, err
}

// The rows an audit goes by.
type (
	inboundRow struct {
		seq              int64
		mailbox, kind    string
		dedupe           string
		received, doneAt time.Time
		turn             string
	}
	turnRow struct {
		id, mailbox, thread, driver string
		version                     int64   // of the thread it found, 0 for none
		items                       []int64 // inbox rows it took
		committed                   time.Time
	}
	outboundRow struct {
		id, kind, origin, contact, thread, turn, state, status string
		resends                                                int
		tries, code                                            int64
		after                                                  string // of a takeover's acknowledgement: the customer
		created, due, sent                                     time.Time
	}
	threadRow struct {
		id, mailbox, contact, actor, driver string
		version                             int64
		closed                              time.Time
	}
	timerRow struct {
		mailbox, scope, name string
		due                  time.Time
	}
	leaseRow   struct{ mailbox, token string }
	attemptRow struct {
		id, subject, status, receipt, checkout, token, phone string
		surplus                                              []string
		amount                                               int64
		created, sent, settled                               time.Time
	}
	bookingRow struct {
		id, code, contact, staff, status, receipt string
		starts, ends                              time.Time
		before, after                             int64 // minutes
		paid, deposit                             int64
		holdUntil, created, updated               time.Time
	}
	occupancyRow struct {
		booking, subject string
		starts, ends     time.Time
	}
	taskRow struct{ kind, key, state string }
)

// books are one business's rows.
type books struct {
	slug      string
	inbound   []inboundRow
	turns     []turnRow
	outbound  []outboundRow
	threads   []threadRow
	timers    []timerRow
	leases    []leaseRow
	attempts  []attemptRow
	bookings  []bookingRow
	occupancy []occupancyRow
	tasks     []taskRow
	phones    map[string]string // contact by phone, digits
}

// readBooks reads a business's rows over one snapshot.
func readBooks(ctx context.Context, slug string, d *db.DB) (*books, error) {
	b := &books{slug: slug, phones: map[string]string{}}
	err := d.Read(ctx, func(q db.Q) error {
		for _, read := range []func(context.Context, db.Q) error{b.readMessages, b.readTurns, b.readWork, b.readMoney, b.readBookings} {
			if err := read(ctx, q); err != nil {
				return fmt.Errorf("audit %s: %w", slug, err)
			}
		}
		return nil
	})
	return b, err
}

func (b *books) readMessages(ctx context.Context, q db.Q) (err error) {
	b.inbound, err = db.Collect(ctx, q, "read inbox", func(row db.Scanner) (r inboundRow, err error) {
		var received, done db.Time
		err = row.Scan(&r.seq, &r.mailbox, &r.kind, &r.dedupe, &received, &done, &r.turn)
		r.received, r.doneAt = received.Time, done.Time
		return r, err
	}, "SELECT seq, mailbox_key, kind, dedupe_key, received_at, done_at, turn_id FROM inbox ORDER BY seq")
	if err != nil {
		return err
	}
	b.outbound, err = db.Collect(ctx, q, "read outbox", func(row db.Scanner) (r outboundRow, err error) {
		var created, due, sent db.Time
		var payload struct {
			After string `json:"after"`
		}
		err = row.Scan(&r.id, &r.kind, &r.origin, &r.contact, &r.thread, &r.turn, &r.state, &r.status, &r.resends, &r.tries, &r.code,
			db.JSON{V: &payload}, &created, &due, &sent)
		r.after, r.created, r.due, r.sent = payload.After, created.Time, due.Time, sent.Time
		return r, err
	}, `SELECT id, kind, origin, contact_id, thread_id, turn_id, state, status, resends, tries, error_code, payload, created_at, due_at,
		sent_at FROM outbox ORDER BY seq`)
	if err != nil {
		return err
	}
	_, err = db.Collect(ctx, q, "read identities", func(row db.Scanner) (bool, error) {
		var value, contact string
		err := row.Scan(&value, &contact)
		b.phones[strings.TrimPrefix(value, "+")] = contact
		return true, err
	}, "SELECT value, contact_id FROM contact_identities WHERE kind = 'phone'")
	return err
}

func (b *books) readTurns(ctx context.Context, q db.Q) (err error) {
	b.turns, err = db.Collect(ctx, q, "read turns", func(row db.Scanner) (r turnRow, err error) {
		var inputs string
		var at db.Time
		if err := row.Scan(&r.id, &r.mailbox, &r.thread, &inputs, &at); err != nil {
			return r, err
		}
		var said struct {
			Batch []struct {
				Seq int64 `json:"seq"`
			} `json:"batch"`
			Snapshot struct {
				Thread *struct {
					Driver  string `json:"driver"`
					Version int64  `json:"graph_version"`
				} `json:"Thread"` //nolint:tagliatelle // as turns store it.
			} `json:"snapshot"`
		}
		if err := json.Unmarshal([]byte(inputs), &said); err != nil {
			return r, fmt.Errorf("inputs of turn %s: %w", r.id, err)
		}
		r.committed = at.Time
		for _, it := range said.Batch {
			if it.Seq > 0 {
				r.items = append(r.items, it.Seq)
			}
		}
		if said.Snapshot.Thread != nil {
			r.driver, r.version = said.Snapshot.Thread.Driver, said.Snapshot.Thread.Version
		}
		return r, nil
	}, "SELECT id, mailbox_key, thread_id, inputs, committed_at FROM turns ORDER BY committed_at, id")
	return err
}

func (b *books) readWork(ctx context.Context, q db.Q) (err error) {
	b.threads, err = db.Collect(ctx, q, "read threads", func(row db.Scanner) (r threadRow, err error) {
		var closed db.Time
		err = row.Scan(&r.id, &r.mailbox, &r.contact, &r.actor, &r.driver, &r.version, &closed)
		r.closed = closed.Time
		return r, err
	}, "SELECT id, mailbox_key, contact_id, actor_type, driver, graph_version, closed_at FROM conversation_threads ORDER BY id")
	if err != nil {
		return err
	}
	b.timers, err = db.Collect(ctx, q, "read timers", func(row db.Scanner) (r timerRow, err error) {
		var due db.Time
		err = row.Scan(&r.mailbox, &r.scope, &r.name, &due)
		r.due = due.Time
		return r, err
	}, "SELECT mailbox_key, scope, name, due_at FROM timers ORDER BY due_at")
	if err != nil {
		return err
	}
	b.leases, err = db.Collect(ctx, q, "read leases", func(row db.Scanner) (r leaseRow, err error) {
		return r, row.Scan(&r.mailbox, &r.token)
	}, "SELECT key, lease_token FROM mailboxes WHERE lease_token <> '' ORDER BY key")
	if err != nil {
		return err
	}
	b.tasks, err = db.Collect(ctx, q, "read tasks", func(row db.Scanner) (r taskRow, err error) {
		return r, row.Scan(&r.kind, &r.key, &r.state)
	}, "SELECT kind, task_key, state FROM tasks ORDER BY task_key")
	return err
}

func (b *books) readMoney(ctx context.Context, q db.Q) (err error) {
	b.attempts, err = db.Collect(ctx, q, "read payment attempts", func(row db.Scanner) (r attemptRow, err error) {
		var created, sent, settled db.Time
		err = row.Scan(&r.id, &r.subject, &r.status, &r.receipt, &r.checkout, &r.token, &r.phone, &r.amount, db.JSON{V: &r.surplus},
			&created, &sent, &settled)
		r.created, r.sent, r.settled = created.Time, sent.Time, settled.Time
		return r, err
	}, `SELECT id, subject, status, COALESCE(receipt, ''), COALESCE(checkout_id, ''), COALESCE(token_hash, ''), phone, amount, surplus,
		created_at, sent_at, settled_at FROM payment_attempts ORDER BY created_at, id`)
	return err
}

func (b *books) readBookings(ctx context.Context, q db.Q) (err error) {
	b.bookings, err = db.Collect(ctx, q, "read bookings", func(row db.Scanner) (r bookingRow, err error) {
		var starts, ends, hold, created, updated db.Time
		err = row.Scan(&r.id, &r.code, &r.contact, &r.staff, &r.status, &r.receipt, &starts, &ends, &r.before, &r.after, &r.paid, &r.deposit,
			&hold, &created, &updated)
		r.starts, r.ends, r.holdUntil, r.created, r.updated = starts.Time, ends.Time, hold.Time, created.Time, updated.Time
		return r, err
	}, `SELECT id, code, contact_id, staff_id, status, receipt, starts_at, ends_at, buffer_before, buffer_after, paid_minor, deposit_minor,
		hold_until, created_at, updated_at FROM bookings ORDER BY id`)
	if err != nil {
		return err
	}
	b.occupancy, err = db.Collect(ctx, q, "read occupancy", func(row db.Scanner) (r occupancyRow, err error) {
		var starts, ends db.Time
		err = row.Scan(&r.booking, &r.subject, &starts, &ends)
		r.starts, r.ends = starts.Time, ends.Time
		return r, err
	}, "SELECT booking_id, subject, starts_at, ends_at FROM occupancy ORDER BY subject, starts_at, booking_id")
	return err
}
