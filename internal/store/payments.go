package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/turn"
)

// Payments keeps payment attempts inside the caller's transaction. It
// implements payment.Ledger.
type Payments struct{}

const attemptColumns = `id, thread_id, contact_id, subject, provider, reference, account, amount, currency, phone, token_hash,
	merchant_id, checkout_id, status, outcome, receipt, surplus, queries, created_at, sent_at, settled_at, expires_at, ask_at, asked_at,
	refund, refund_token`

func scanAttempt(row db.Scanner) (payment.Attempt, error) {
	var a payment.Attempt
	var token, checkout, receipt, refundToken sql.NullString
	var created, sent, settled, until, ask, asked db.Time
	err := row.Scan(&a.ID, &a.Thread, &a.ContactID, &a.Subject, &a.Provider, &a.Reference, &a.Account, &a.Amount.Minor,
		&a.Amount.Currency, &a.Phone, &token, &a.MerchantID, &checkout, &a.Status, &a.Outcome, &receipt, db.JSON{V: &a.Surplus}, &a.Queries, &created, &sent, &settled,
		&until, &ask, &asked, db.JSON{V: &a.Refund}, &refundToken)
	a.TokenHash, a.CheckoutID, a.Receipt = token.String, checkout.String, receipt.String
	a.CreatedAt, a.SentAt, a.SettledAt = created.Time, sent.Time, settled.Time
	a.Until, a.AskAt, a.AskedAt, a.RefundToken = until.Time, ask.Time, asked.Time, refundToken.String
	return a, err
}

func orNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// Insert implements payment.Ledger.
func (Payments) Insert(ctx context.Context, tx db.Tx, a payment.Attempt) error {
	if err := expectReconciliation(ctx, tx, a.CreatedAt); err != nil {
		return err
	}
	return db.Exec(ctx, tx, "store payment attempt", "INSERT INTO payment_attempts ("+attemptColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`,
		a.ID, string(a.Thread), string(a.ContactID), a.Subject, string(a.Provider), a.Reference, a.Account, a.Amount.Minor, a.Amount.Currency,
		a.Phone, orNull(a.TokenHash), a.MerchantID, orNull(a.CheckoutID), string(a.Status), string(a.Outcome), orNull(a.Receipt), db.JSON{V: a.Surplus},
		a.Queries, db.At(a.CreatedAt), db.At(a.SentAt), db.At(a.SettledAt), db.At(a.Until), db.At(a.AskAt), db.At(a.AskedAt),
		db.JSON{V: a.Refund}, orNull(a.RefundToken))
}

// Update implements payment.Ledger.
func (Payments) Update(ctx context.Context, tx db.Tx, a payment.Attempt) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE payment_attempts SET token_hash = $2, merchant_id = $3, checkout_id = $4, status = $5, outcome = $6, receipt = $7,
			surplus = $8, queries = $9, sent_at = $10, settled_at = $11, ask_at = $12, asked_at = $13,
			refund = $14, refund_token = $15 WHERE id = $1`,
		a.ID, orNull(a.TokenHash), a.MerchantID, orNull(a.CheckoutID), string(a.Status), string(a.Outcome), orNull(a.Receipt), db.JSON{V: a.Surplus},
		a.Queries, db.At(a.SentAt), db.At(a.SettledAt), db.At(a.AskAt), db.At(a.AskedAt), db.JSON{V: a.Refund}, orNull(a.RefundToken))
	if db.IsUnique(err) {
		return fault.Wrap(err, fault.Conflict, "That payment is already recorded for another attempt.")
	}
	if err != nil {
		return fmt.Errorf("update payment attempt: %w", err)
	}
	return nil
}

// BySubject implements payment.Ledger.
func (Payments) BySubject(ctx context.Context, q db.Q, subject string) ([]payment.Attempt, error) {
	return db.Collect(ctx, q, "load payment attempts", scanAttempt,
		"SELECT "+attemptColumns+" FROM payment_attempts WHERE subject = $1 ORDER BY created_at DESC, id DESC", subject)
}

// OnPhone implements payment.Ledger.
func (Payments) OnPhone(ctx context.Context, tx db.Tx, phone string, since time.Time) ([]payment.Attempt, error) {
	if lock := tx.Dialect().LockName; lock != "" {
		if err := db.Exec(ctx, tx, "lock payer's phone", lock, "payer:"+phone); err != nil {
			return nil, err
		}
	}
	return db.Collect(ctx, tx, "load payment attempts of a phone", scanAttempt, "SELECT "+attemptColumns+` FROM payment_attempts
		WHERE phone = $1 AND (created_at >= $2 OR sent_at >= $2 OR status IN ('created', 'sending', 'prompted', 'unknown'))
		ORDER BY created_at DESC, id DESC`, phone, db.At(since))
}

// ByReceipt implements payment.Ledger.
func (Payments) ByReceipt(ctx context.Context, q db.Q, receipt string) (payment.Attempt, error) {
	return one(ctx, q, "receipt", receipt, "")
}

// ByID implements payment.Ledger.
func (Payments) ByID(ctx context.Context, q db.Q, id string) (payment.Attempt, error) {
	return one(ctx, q, "id", id, "")
}

// Locked implements payment.Ledger.
func (Payments) Locked(ctx context.Context, tx db.Tx, id string) (payment.Attempt, error) {
	return one(ctx, tx, "id", id, tx.Dialect().ForUpdate)
}

func one(ctx context.Context, q db.Q, column, value, lock string) (payment.Attempt, error) {
	found, err := db.Collect(ctx, q, "load payment attempt", scanAttempt,
		"SELECT "+attemptColumns+" FROM payment_attempts WHERE "+column+" = $1"+lock, value)
	if err != nil {
		return payment.Attempt{}, err
	}
	if len(found) == 0 {
		return payment.Attempt{}, fault.E(fault.NotFound, "No such payment.")
	}
	return found[0], nil
}

// Attempt reads one attempt.
func (t *Tenant) Attempt(ctx context.Context, id string) (a payment.Attempt, err error) {
	err = t.Read(ctx, func(q db.Q) (err error) { a, err = one(ctx, q, "id", id, ""); return err })
	return a, err
}

// AttemptByToken resolves a callback's secret to its attempt.
func (t *Tenant) AttemptByToken(ctx context.Context, hash string) (a payment.Attempt, err error) {
	err = t.Read(ctx, func(q db.Q) error { a, err = one(ctx, q, "token_hash", hash, ""); return err })
	return a, err
}

// AttemptByRefund resolves the secret of a refund's result to its attempt.
func (t *Tenant) AttemptByRefund(ctx context.Context, hash string) (a payment.Attempt, err error) {
	err = t.Read(ctx, func(q db.Q) error { a, err = one(ctx, q, "refund_token", hash, ""); return err })
	return a, err
}

// ChangeAttempt rewrites an attempt by a pure decision on the row as it is now
// and sets the timer at which the provider is asked what became of it, none
// when zero. A decision that reports false changes nothing.
func (t *Tenant) ChangeAttempt(ctx context.Context, id string, decide func(a payment.Attempt) (payment.Attempt, bool), check func(a payment.Attempt) time.Time) (changed bool, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		_, changed, err = changeAttempt(ctx, tx, id, decide, check)
		return err
	})
	return changed, err
}

// NoteAttempt is ChangeAttempt that also reports the provider's word, if any, in
// the same transaction: who dies in between leaves neither.
func (t *Tenant) NoteAttempt(ctx context.Context, id string, decide func(a payment.Attempt) (payment.Attempt, bool), check func(a payment.Attempt) time.Time, told *payment.Report, now time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		a, changed, err := changeAttempt(ctx, tx, id, decide, check)
		if err != nil || !changed || told == nil {
			return err
		}
		it, dedupe := reported(a, *told)
		_, err = post(ctx, tx, KeyOf(a.ContactID), it, dedupe, now)
		return err
	})
}

func changeAttempt(ctx context.Context, tx db.Tx, id string, decide func(a payment.Attempt) (payment.Attempt, bool), check func(a payment.Attempt) time.Time) (payment.Attempt, bool, error) {
	a, err := one(ctx, tx, "id", id, "")
	if err != nil {
		return a, false, err
	}
	if err := lockMailbox(ctx, tx, KeyOf(a.ContactID)); err != nil {
		return a, false, err
	}
	if a, err = (Payments{}).Locked(ctx, tx, id); err != nil {
		return a, false, err
	}
	a, changed := decide(a)
	if !changed {
		return a, false, nil
	}
	if err := (Payments{}).Update(ctx, tx, a); err != nil {
		return a, false, err
	}
	return a, true, writeTimer(ctx, tx, CheckTimer(a, check(a)), "")
}

// CheckTimer is the timer after which a provider is asked what became of an
// attempt. Its data sets it apart from the one before for the same time.
func CheckTimer(a payment.Attempt, at time.Time) turn.TimerRow {
	return turn.TimerRow{Mailbox: KeyOf(a.ContactID), Name: turn.PaymentCheck + a.ID, At: at, Data: payment.Check(a)}
}

// Report stores a provider's word on an attempt as an event of the payer's
// mailbox, once: the same word again changes nothing.
func (t *Tenant) Report(ctx context.Context, a payment.Attempt, r payment.Report, now time.Time) (bool, error) {
	it, dedupe := reported(a, r)
	return t.Post(ctx, KeyOf(a.ContactID), *it.Event, dedupe, now)
}

// reported is a provider's word as an event, and its dedupe key.
func reported(a payment.Attempt, r payment.Report) (mailbox.Item, string) {
	e := mailbox.Event{Kind: mailbox.Payment, Name: turn.PaymentAttempt + a.ID, Data: jsonOf(r)}
	return mailbox.Item{Event: &e}, fmt.Sprintf("payment:%s:%s:%s:%s:%s", a.ID, r.Source, r.Outcome.Code, r.Outcome.Receipt, r.Outcome.Amount)
}
