package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/people"
)

// Broadcasts keeps broadcasts inside the caller's transaction. It implements
// broadcast.Ledger.
type Broadcasts struct{}

// letterLife is how long a message of a broadcast may wait to be sent; product clock.
const letterLife = 24 * time.Hour

// audience is who may be told something: everybody who is no admin, with the
// arguments from $n on that say so.
func audience(o broadcast.Order, n int) (where string, args []any) {
	where = someone
	if len(o.Admins) > 0 {
		marks := make([]string, len(o.Admins))
		for i, phone := range o.Admins {
			marks[i] = fmt.Sprintf("$%d", n+i)
			args = append(args, phone)
		}
		where += " AND NOT EXISTS (SELECT 1 FROM contact_identities a WHERE a.contact_id = c.id AND a.kind = 'phone' AND a.value IN (" + strings.Join(marks, ", ") + "))"
	}
	return where, args
}

// Whether a contact is written to, by three conditions; $2 is the instant since
// which they must have written.
const (
	reachable = "EXISTS (SELECT 1 FROM contact_identities r WHERE r.contact_id = c.id AND r.kind IN ('phone', 'bsuid'))"
	recent    = "c.last_inbound_at >= $2"
	told      = "c.opted_out_at IS NULL AND " + recent + " AND " + reachable
)

// since is the instant from which on somebody must have written to be told.
func since(o broadcast.Order, now time.Time) db.Time {
	if o.Days == 0 {
		return db.At(time.Unix(0, 0))
	}
	return db.At(now.AddDate(0, 0, -o.Days))
}

// Count implements broadcast.Ledger.
func (Broadcasts) Count(ctx context.Context, q db.Q, o broadcast.Order, now time.Time) (broadcast.Counts, error) {
	where, args := audience(o, 3)
	var c broadcast.Counts
	err := db.Gather(ctx, q, db.Into("count recipients",
		[]any{&c.InWindow, &c.ByTemplate, &c.OptedOut, &c.NeverWrote, &c.Quiet, &c.Unreachable}, `
		SELECT COUNT(CASE WHEN `+told+` AND c.last_inbound_at > $1 THEN 1 END), COUNT(CASE WHEN `+told+` AND c.last_inbound_at <= $1 THEN 1 END),
			COUNT(CASE WHEN c.opted_out_at IS NOT NULL THEN 1 END),
			COUNT(CASE WHEN c.opted_out_at IS NULL AND c.last_inbound_at IS NULL THEN 1 END),
			COUNT(CASE WHEN c.opted_out_at IS NULL AND c.last_inbound_at < $2 THEN 1 END),
			COUNT(CASE WHEN c.opted_out_at IS NULL AND `+recent+` AND NOT `+reachable+` THEN 1 END)
		FROM contacts c WHERE `+where, append([]any{db.At(now.Add(-people.Window)), since(o, now)}, args...)...))
	return c, err
}

// Start implements broadcast.Ledger.
func (b Broadcasts) Start(ctx context.Context, tx db.Tx, o broadcast.Order, now time.Time) (broadcast.Counts, bool, error) {
	c, err := b.Count(ctx, tx, o, now)
	if err != nil || c.Recipients() == 0 {
		return c, false, err
	}
	n, err := db.Changed(ctx, tx, "write broadcast", `INSERT INTO broadcasts (id, text, days, number, locale, made_by, step, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (id) DO NOTHING`, o.ID, o.Text, o.Days, o.Number, o.Locale, o.By, db.At(now))
	if err != nil || n == 0 {
		return c, false, err
	}
	where, args := audience(o, 3)
	return c, true, db.Exec(ctx, tx, "write recipients", `INSERT INTO broadcast_recipients (broadcast_id, contact_id)
		SELECT $1, c.id FROM contacts c WHERE `+told+` AND `+where, append([]any{o.ID, since(o, now)}, args...)...)
}

// Progress implements broadcast.Ledger.
func (Broadcasts) Progress(ctx context.Context, q db.Q, id string, limit int) ([]broadcast.Progress, error) {
	return db.Collect(ctx, q, "read progress", func(row db.Scanner) (p broadcast.Progress, err error) {
		var at db.Time
		err = row.Scan(&p.ID, &p.Text, &at, &p.Total, &p.Waiting, &p.Sending, &p.Sent, &p.Delivered, &p.Failed)
		p.CreatedAt = at.Time
		return p, err
	}, `SELECT b.id, b.text, b.created_at, COUNT(*), COUNT(CASE WHEN r.outbox_id = '' THEN 1 END),
			COUNT(CASE WHEN o.state IN ('queued', 'sending', 'doubt') THEN 1 END), COUNT(CASE WHEN o.state = 'sent' THEN 1 END),
			COUNT(CASE WHEN o.status IN ('delivered', 'read') THEN 1 END), COUNT(CASE WHEN o.state IN ('failed', 'stale', 'silenced') THEN 1 END)
		FROM (SELECT id, text, created_at FROM broadcasts WHERE $1 = '' OR id = $1 ORDER BY created_at DESC, id DESC LIMIT $2) b
		JOIN broadcast_recipients r ON r.broadcast_id = b.id LEFT JOIN outbox o ON o.id = r.outbox_id
		GROUP BY b.id, b.text, b.created_at ORDER BY b.created_at DESC, b.id DESC`, id, limit)
}

// Feed puts a broadcast's next recipients on their way, and the batch after
// them. A step that was done already changes nothing: a batch is carried out at
// least once, and each recipient gets one row.
func (t *Tenant) Feed(ctx context.Context, batch broadcast.Batch, now, real time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		var o broadcast.Order
		var step int64
		found := false
		if err := db.Gather(ctx, tx, db.Each("read broadcast", func(row db.Scanner) error {
			found = true
			return row.Scan(&o.Text, &o.Number, &o.Locale, &step)
		}, "SELECT text, number, locale, step FROM broadcasts WHERE id = $1"+tx.Dialect().ForUpdate, batch.ID)); err != nil {
			return err
		}
		if !found || step != batch.Step {
			return nil
		}
		o.ID = batch.ID
		left, err := feed(ctx, tx, o, now, real)
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, "note step", "UPDATE broadcasts SET step = step + 1 WHERE id = $1", o.ID); err != nil || !left {
			return err
		}
		batch.Step++
		return insertOutbox(ctx, tx, outbox.Row{
			ID: ids.New(now), Lane: "broadcast:" + o.ID, Kind: broadcast.Effect, Origin: outbox.System,
			Key: fmt.Sprintf("broadcast:%s:step:%d", o.ID, batch.Step), Payload: jsonOf(batch), DueAt: real.Add(broadcast.Pause), CreatedAt: now,
		})
	})
}

// feed queues up to a batch of messages and reports whether more are left.
func feed(ctx context.Context, tx db.Tx, o broadcast.Order, now, real time.Time) (left bool, err error) {
	var behind int
	if err := db.Gather(ctx, tx, db.Into("look what is under way", []any{&behind},
		"SELECT COUNT(*) FROM outbox WHERE state IN ('queued', 'sending', 'doubt') AND lane LIKE '%:"+broadcast.Lane+"'")); err != nil {
		return false, err
	}
	if behind >= broadcast.Backlog {
		return true, nil
	}
	next, err := db.Collect(ctx, tx, "take recipients", func(row db.Scanner) (id ids.ContactID, err error) { return id, row.Scan(&id) },
		"SELECT contact_id FROM broadcast_recipients WHERE broadcast_id = $1 AND outbox_id = '' ORDER BY contact_id LIMIT $2",
		o.ID, broadcast.BatchSize+1)
	if err != nil {
		return false, err
	}
	left = len(next) > broadcast.BatchSize
	next = next[:min(len(next), broadcast.BatchSize)]
	persons := make([]people.Person, len(next))
	var asks []db.Ask
	for i, id := range next {
		asks = append(asks, askPerson(id, &persons[i])...)
	}
	if err := db.Gather(ctx, tx, asks...); err != nil {
		return false, err
	}
	for i, id := range next {
		persons[i].ID = id
		if err := tell(ctx, tx, o, persons[i], moment{now, real}); err != nil {
			return false, err
		}
	}
	return left, nil
}

// notTold stands in place of a message's id for whom was not written to after
// all: they opted out, or were erased, since the broadcast was ordered.
const notTold = "-"

// moment is one instant on the product's clock and on the real one.
type moment struct{ now, real time.Time }

func tell(ctx context.Context, tx db.Tx, o broadcast.Order, p people.Person, at moment) error {
	row := notTold
	if p.OptedOut.IsZero() && p.Reachable() {
		row = ids.New(at.now)
		lang := p.Language
		if lang == "" {
			lang = o.Locale
		}
		if err := insertOutbox(ctx, tx, outbox.Row{
			ID: row, Lane: string(p.ID) + ":" + broadcast.Lane, Kind: outbox.SendMessage, Origin: outbox.System,
			Key: "broadcast:" + o.ID + ":" + string(p.ID), ContactID: p.ID,
			Payload: jsonOf(people.Letter(p, o.Number, people.Announcement, lang, o.Text, at.now)), DueAt: at.real, ExpiresAt: at.now.Add(letterLife), CreatedAt: at.now,
		}); err != nil {
			return err
		}
	}
	return db.Exec(ctx, tx, "note recipient", "UPDATE broadcast_recipients SET outbox_id = $3 WHERE broadcast_id = $1 AND contact_id = $2",
		o.ID, string(p.ID), row)
}
