package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
)

// windowClosed is WhatsApp's code for free text outside the 24 hours.
const windowClosed = 131047

// receipted is an outbox row as a receipt finds it.
type receipted struct {
	id, status, state string
	kind, contact     string
	thread            string
	origin            outbox.Origin
	epoch             int64
	payload           json.RawMessage
}

// applyReceipt moves an outbox row's status forward, never back, and notes when
// each state was reached, in whatever order receipts come: being read implies
// having been delivered, and a message that was delivered did not fail. A failure
// becomes an event in the receiver's mailbox.
func applyReceipt(ctx context.Context, tx db.Tx, r message.Receipt, now time.Time) (moved, failed, unblocked bool, err error) {
	var o receipted
	err = tx.QueryRowContext(ctx, `
		SELECT id, status, state, kind, contact_id, thread_id, origin, epoch, payload FROM outbox
		WHERE (provider_id = $1 AND $1 <> '') OR (id = $2 AND $2 <> '') ORDER BY seq LIMIT 1`+tx.Dialect().ForUpdate,
		r.ProviderID, r.Opaque).Scan(&o.id, &o.status, &o.state, &o.kind, &o.contact, &o.thread, &o.origin, &o.epoch, db.JSON{V: &o.payload})
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, false, nil
	}
	if err != nil {
		return false, false, false, fmt.Errorf("find sent message: %w", err)
	}
	moved = r.Status.Rank() > message.Status(o.status).Rank()
	if moved {
		if err := moveReceipt(ctx, tx, o, r, now); err != nil {
			return false, false, false, err
		}
	}
	if moved || r.Status == message.StatusDelivered {
		if err := reached(ctx, tx, o, r); err != nil {
			return false, false, false, err
		}
	}
	if !moved {
		return false, false, false, nil
	}
	unblocked = o.state == string(outbox.Doubt)
	if r.Status != message.StatusFailed {
		return true, false, unblocked, nil
	}
	e := failedEvent(o, r.ErrorCode, r.ErrorText)
	fresh, err := post(ctx, tx, KeyOf(ids.ContactID(o.contact)), mailbox.Item{Event: &e}, "failed:"+o.id, now)
	return true, fresh, unblocked, err
}

// moveReceipt writes the state a message is in now. A receipt proves that an
// attempt in doubt arrived at the provider.
func moveReceipt(ctx context.Context, tx db.Tx, o receipted, r message.Receipt, now time.Time) error {
	return db.Exec(ctx, tx, "move receipt", `
		UPDATE outbox SET status = $2, status_at = $3, error_code = $4, error_detail = $5,
			provider_id = CASE WHEN provider_id = '' THEN $6 ELSE provider_id END,
			sent_at = CASE WHEN sent_at IS NULL AND state IN ('doubt', 'sending') THEN $7 ELSE sent_at END,
			state = CASE WHEN state IN ('doubt', 'sending') THEN 'sent' ELSE state END
		WHERE id = $1`, o.id, string(r.Status), db.At(r.At), r.ErrorCode, r.ErrorText, r.ProviderID, db.At(now))
}

// reached notes when a message reached a state: the earliest time that was told
// of it.
func reached(ctx context.Context, tx db.Tx, o receipted, r message.Receipt) error {
	const earliest = "%[1]s = CASE WHEN %[1]s IS NULL OR %[1]s > $2 THEN $2 ELSE %[1]s END"
	var set string
	switch r.Status {
	case message.StatusDelivered:
		set = fmt.Sprintf(earliest, "delivered_at") + ", failed_at = NULL"
	case message.StatusRead:
		set = fmt.Sprintf(earliest, "read_at") + ", " + fmt.Sprintf(earliest, "delivered_at") + ", failed_at = NULL"
	case message.StatusFailed:
		set = fmt.Sprintf(earliest, "failed_at")
	case message.StatusSent:
		return nil
	}
	var delivered, read, failedAt db.Time
	var code int
	var detail, provider string
	if err := tx.QueryRowContext(ctx, "UPDATE outbox SET "+set+
		" WHERE id = $1 RETURNING delivered_at, read_at, failed_at, error_code, error_detail, provider_id", o.id, db.At(r.At)).
		Scan(&delivered, &read, &failedAt, &code, &detail, &provider); err != nil {
		return fmt.Errorf("note receipt: %w", err)
	}
	if o.origin != outbox.Relay {
		return nil
	}
	d := delivery{DeliveredAt: when(delivered), ReadAt: when(read), FailedAt: when(failedAt)}
	if d.FailedAt != nil {
		d.FailureReason = reason(code, detail)
	}
	return noteDelivery(ctx, tx, o.id, provider, d)
}

func when(t db.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

func reason(code int, detail string) string {
	if detail == "" {
		return strconv.Itoa(code)
	}
	return strconv.Itoa(code) + " " + detail
}

// failedEvent tells a mailbox that a message to its contact failed. What the
// closed window kept back comes along, to be said again as a template.
func failedEvent(o receipted, code int, detail string) mailbox.Event {
	data := map[string]any{"outbox_id": o.id, "code": code, "detail": detail, "origin": o.origin, "epoch": o.epoch}
	var send outbox.Send
	if o.kind == outbox.SendMessage && json.Unmarshal(o.payload, &send) == nil {
		if t := send.Out.Template; t != nil {
			data["template"] = t.Name
		} else if code == windowClosed {
			data["send"] = send
		}
	}
	return mailbox.Event{Kind: mailbox.ReceiptFailed, Name: strconv.Itoa(code), Scope: ids.ThreadID(o.thread), Data: jsonOf(data)}
}
