package booking

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
)

// Names of the operations.
const (
	Block   = "block"
	Unblock = "unblock"
	Blocks  = "blocks"
	NoShow  = "no_show"
	Link    = "calendar_link"
)

// BlockArgs takes time out of the calendar, of one member of staff or, without
// one, of the whole business. Days are 2006-01-02, the last included; times are
// "2006-01-02 15:04".
type BlockArgs struct {
	Staff string `json:"staff,omitempty"`
	From  string `json:"from"`
	To    string `json:"to,omitempty"` // "" is the end of that day
	Note  string `json:"note,omitempty"`
}

// UnblockArgs gives it back.
type UnblockArgs struct {
	ID string `json:"id"`
}

// NoShowArgs marks the booking of a human code, or takes the mark back.
type NoShowArgs struct {
	Code string `json:"code"`
	Undo bool   `json:"undo,omitempty"`
}

// LinkArgs asks for a new address of a member of staff's calendar.
type LinkArgs struct {
	Staff string `json:"staff"`
}

type operation = func(ctx context.Context, w app.Work, args json.RawMessage) (app.Piece, any, error)

func operations() map[string]operation {
	return map[string]operation{Block: typed(block), Unblock: typed(unblock), Blocks: typed(blocks), NoShow: typed(noShow), Link: typed(link)}
}

// typed reads an operation's arguments, of which none may be unknown, and tells
// a refusal of the calendar in its words.
func typed[A any](fn func(ctx context.Context, w app.Work, a A) (app.Piece, any, error)) operation {
	return func(ctx context.Context, w app.Work, raw json.RawMessage) (app.Piece, any, error) {
		var a A
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&a); err != nil {
			return app.Piece{}, nil, fault.Wrap(err, fault.Invalid, "The request cannot be read.")
		}
		p, answer, err := fn(ctx, w, a)
		if p.Write != nil {
			write := p.Write
			p.Write = func(ctx context.Context, tx db.Tx) error { return told(write(ctx, tx)) }
		}
		return p, answer, told(err)
	}
}

func told(err error) error {
	if r, refused := errors.AsType[*calendar.Refusal](err); refused {
		sentence, _ := calendar.Advice(r.Code)
		return fault.Wrap(err, fault.Invalid, sentence)
	}
	return err
}

func callerOf(w app.Work) bookingsql.Caller {
	return bookingsql.Caller{Zone: w.Tenant.Location(), Now: w.Now}
}

func block(_ context.Context, w app.Work, a BlockArgs) (app.Piece, any, error) {
	span, err := calendar.ParseSpan(a.From, a.To)
	if err != nil {
		return app.Piece{}, nil, fault.Wrap(err, fault.Invalid, err.Error())
	}
	out := bookingsql.Blocked{
		ID: strings.ToLower(w.IDs.Code(codeLength)), Staff: calendar.Slug(a.Staff), From: span.From.String(), To: span.To.String(), Note: a.Note,
	}
	return app.Piece{Write: func(ctx context.Context, tx db.Tx) error {
		return bookingsql.Block(ctx, tx, out.ID, out.Staff, span, a.Note)
	}}, out, nil
}

func unblock(_ context.Context, _ app.Work, a UnblockArgs) (app.Piece, any, error) {
	return app.Piece{Write: func(ctx context.Context, tx db.Tx) error {
		return bookingsql.Unblock(ctx, tx, strings.ToLower(a.ID))
	}}, a, nil
}

func blocks(ctx context.Context, w app.Work, _ struct{}) (p app.Piece, answer any, err error) {
	err = w.Read(ctx, func(q db.Q) (err error) {
		answer, err = bookingsql.Blocks(ctx, q, callerOf(w))
		return err
	})
	return p, answer, err
}

// noShow marks a booking. Its timer is set anew with it, in its customer's mailbox.
func noShow(ctx context.Context, w app.Work, a NoShowArgs) (app.Piece, any, error) {
	var b calendar.Booking
	if err := w.Read(ctx, func(q db.Q) (err error) {
		b, err = bookingsql.ByCode(ctx, q, strings.ToUpper(a.Code))
		return err
	}); err != nil {
		return app.Piece{}, nil, err
	}
	after := b
	after.Version++
	after.Status = calendar.NoShow
	if a.Undo {
		if after.Status = calendar.Completed; w.Now.Before(b.End) {
			after.Status = calendar.Confirmed
		}
	}
	p := app.Piece{Write: func(ctx context.Context, tx db.Tx) error {
		marked, err := bookingsql.MarkNoShow(ctx, tx, callerOf(w), calendar.MarkNoShowArgs{BookingID: b.ID, Undo: a.Undo})
		if err == nil && marked.Status == after.Status && marked.Version > after.Version {
			return app.ErrAgain // it changed since it was read, and the timer would be about what it was
		}
		return err
	}}
	if t, due := calendar.NextTouch(after, w.Now); due {
		p.Notices = []app.Notice{{Contact: ids.ContactID(b.ContactID), Name: calendar.VisitTimer + b.ID, At: t.At, Data: t}}
	}
	return p, struct {
		Code   string          `json:"code"`
		Status calendar.Status `json:"status"`
		Refund string          `json:"refund,omitempty"`
	}{b.Code, after.Status, refundOf(after)}, nil
}

func refundOf(b calendar.Booking) string {
	if sum := b.NoShowRefund(); b.Status == calendar.NoShow && !sum.IsZero() {
		return sum.String()
	}
	return ""
}

// secretBytes is how random a calendar's address is.
const secretBytes = 16

func link(_ context.Context, w app.Work, a LinkArgs) (app.Piece, any, error) {
	secret := w.IDs.Token(secretBytes)
	write := func(ctx context.Context, tx db.Tx) error {
		return bookingsql.SetLink(ctx, tx, callerOf(w), calendar.Slug(a.Staff), hashed(secret))
	}
	return app.Piece{Write: write}, linked{URL: w.FeedURL(secret)}, nil
}

// linked answers with the address, which is told this once.
type linked struct {
	URL string `json:"url"`
}

func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// review raises a task for each booking to come that no longer fits, so that a
// person sorts it out. It runs whenever the definition or the blocked time
// changed, and once a day.
func review() app.Job {
	return app.Job{Name: "review", Run: func(ctx context.Context, w app.Work) (app.Piece, error) {
		c := callerOf(w)
		tomorrow, _ := calendar.Moment{Date: calendar.DateIn(w.Now, c.Zone).Add(1)}.In(c.Zone)
		p := app.Piece{Again: tomorrow}
		var found []bookingsql.Misfit
		if err := w.Read(ctx, func(q db.Q) (err error) {
			found, err = bookingsql.Review(ctx, q, c)
			return err
		}); err != nil {
			return p, fmt.Errorf("review bookings: %w", err)
		}
		for _, m := range found {
			p.Tasks = append(p.Tasks, misfit(m, c.Zone))
		}
		return p, nil
	}}
}

func misfit(m bookingsql.Misfit, zone *time.Location) (t graph.Task) {
	t.Kind, t.Key, t.Due = "misfit", fmt.Sprintf("misfit:%s:%d:%s", m.ID, m.Version, m.Reason), m.Start
	t.Detail = fmt.Sprintf("booking %s, %s with %s: %s", m.Code, m.Start.In(zone).Format("2006-01-02 15:04"), m.StaffName, m.Reason)
	return t
}
