package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// Actors of the handoff log.
const (
	actorCustomer = "customer"
	actorAdmin    = "admin"
	actorSystem   = "system"
)

// logMeta is a log row's message_metadata.
type logMeta struct {
	// WaMessageID is WhatsApp's id of the message: a customer's own, or that of
	// what was sent to them.
	WaMessageID string `json:"wa_message_id,omitempty"`
	Kind        string `json:"kind,omitempty"`
	// Delivery is what became of the message that carried it.
	Delivery *delivery `json:"delivery,omitempty"`
}

// delivery is what the provider's receipts told so far.
type delivery struct {
	DeliveredAt   *time.Time `json:"delivered_at,omitempty"`
	ReadAt        *time.Time `json:"read_at,omitempty"`
	FailedAt      *time.Time `json:"failed_at,omitempty"`
	FailureReason string     `json:"failure_reason,omitempty"`
}

// logRow is a row on its way.
type logRow struct {
	thread         ids.ThreadID
	actor          string
	phone, content string
	language       string
	at             time.Time
	meta           logMeta
	outboxID       string
}

// logRelayed writes what a commit relays into the handoff log: the customer's
// words to whoever drives, an admin's to the customer, and the lines of the
// system about a chat that is with people. What goes out tells it, so that a
// turn says nothing more.
func logRelayed(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	var relays []outbox.Row
	var rows []logRow
	for _, r := range c.Outbox {
		switch {
		case r.Kind != outbox.SendMessage || r.ThreadID == "":
		case r.Origin == outbox.Relay:
			relays = append(relays, r)
		case r.Origin == outbox.System || r.Origin == outbox.Payment:
			row, err := systemLine(c, r, rows)
			if err != nil {
				return err
			}
			if row != nil {
				rows = append(rows, *row)
			}
		}
	}
	said, err := relayed(c, relays)
	if err != nil {
		return err
	}
	for _, row := range append(rows, said...) {
		if err := insertLog(ctx, tx, row, c.Now); err != nil {
			return err
		}
	}
	return moveAgain(ctx, tx, c)
}

func sendOf(r outbox.Row) (s outbox.Send, err error) {
	if err := json.Unmarshal(r.Payload, &s); err != nil {
		return s, fmt.Errorf("read message: %w", err)
	}
	return s, nil
}

// systemLine is what the system says about the turn's own chat while that is
// with people; nil for anything else. What several people are told alike is one
// line.
func systemLine(c *turn.Commit, r outbox.Row, before []logRow) (*logRow, error) {
	th := c.Thread
	if th == nil || th.ID != r.ThreadID || th.Actor != thread.Customer || th.Handoff == nil {
		return nil, nil //nolint:nilnil // no line.
	}
	send, err := sendOf(r)
	if err != nil {
		return nil, err
	}
	for _, b := range before {
		if b.content == send.Out.Text {
			return nil, nil //nolint:nilnil // said already.
		}
	}
	return &logRow{
		thread: th.ID, actor: actorSystem, content: send.Out.Text, language: th.Language, at: c.Now, meta: logMeta{Kind: string(r.Origin)},
	}, nil
}

// relayed are the words of a commit's author. A customer's are their messages,
// each beside the row that carries it to the admin; an admin's are the rows.
func relayed(c *turn.Commit, relays []outbox.Row) (rows []logRow, err error) {
	if len(relays) == 0 {
		return nil, nil
	}
	if th := c.Thread; th != nil && th.ID == relays[0].ThreadID && th.Actor == thread.Customer {
		for i, m := range c.Batch.Messages() {
			rows = append(rows, logRow{
				thread: th.ID, actor: actorCustomer, phone: c.Contact.Phone(), content: words(m), language: th.Language, at: m.SentAt,
				meta: logMeta{WaMessageID: m.ProviderID, Kind: string(m.Kind)}, outboxID: relays[min(i, len(relays)-1)].ID,
			})
		}
		return rows, nil
	}
	for _, r := range relays {
		send, err := sendOf(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, logRow{
			thread: r.ThreadID, actor: actorAdmin, phone: c.Contact.Phone(), content: sentWords(send.Out), language: c.Contact.Language, at: c.Now,
			meta: logMeta{Kind: string(send.Out.Kind)}, outboxID: r.ID,
		})
	}
	return rows, nil
}

// words are a message's text, or its kind where it has none.
func words(m message.Inbound) string {
	if m.Text != "" {
		return m.Text
	}
	return "[" + string(m.Kind) + "]"
}

// sentWords are what a sent message says, or its kind where it has no words.
func sentWords(out message.Outbound) string {
	if a := out.Attachment; out.Text == "" && a != nil {
		out.Text = a.Caption
	}
	if out.Text == "" {
		out.Text = "[" + string(out.Kind) + "]"
	}
	return out.Text
}

func insertLog(ctx context.Context, tx db.Tx, r logRow, now time.Time) error {
	if r.at.IsZero() {
		r.at = now
	}
	if err := db.Exec(ctx, tx, "log relay", `
		INSERT INTO handoff_log (id, thread_id, actor, actor_phone, content, language, sent_at, message_metadata, outbox_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		ids.New(now), string(r.thread), r.actor, r.phone, r.content, r.language, db.At(r.at), db.JSON{V: r.meta}, r.outboxID); err != nil {
		return err
	}
	return scheduleArchive(ctx, tx, now)
}

// moveAgain makes log rows follow words that are said once more as a template:
// the receipts of that one tell what became of them.
func moveAgain(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	for _, r := range c.Outbox {
		if r.Kind != outbox.SendMessage || r.Origin != outbox.Relay {
			continue
		}
		send, err := sendOf(r)
		if err != nil {
			return err
		}
		if send.Again == "" {
			continue
		}
		// What was logged for the new row itself would say it twice.
		if err := db.Exec(ctx, tx, "unlog repetition", "DELETE FROM handoff_log WHERE outbox_id = $1", r.ID); err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, "follow repetition", "UPDATE handoff_log SET outbox_id = $2 WHERE outbox_id = $1", send.Again, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// noteDelivery writes into the log what is known of the message that carried a
// row's words.
func noteDelivery(ctx context.Context, tx db.Tx, outboxID, providerID string, d delivery) error {
	type found struct {
		id, actor string
		meta      logMeta
	}
	rows, err := db.Collect(ctx, tx, "find relay", func(row db.Scanner) (f found, err error) {
		return f, row.Scan(&f.id, &f.actor, db.JSON{V: &f.meta})
	}, "SELECT id, actor, message_metadata FROM handoff_log WHERE outbox_id = $1", outboxID)
	if err != nil {
		return err
	}
	for _, f := range rows {
		if f.actor == actorAdmin && providerID != "" {
			f.meta.WaMessageID = providerID
		}
		if d != (delivery{}) {
			f.meta.Delivery = &d
		}
		if err := db.Exec(ctx, tx, "note delivery", "UPDATE handoff_log SET message_metadata = $2 WHERE id = $1", f.id, db.JSON{V: f.meta}); err != nil {
			return err
		}
	}
	return nil
}
