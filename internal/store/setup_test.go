package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

// later is noon and some seconds.
func later(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// fixed is a clock that stands at noon.
type fixed struct{ at time.Time }

func (f fixed) Now() time.Time { return f.at }

const amina = "+254700000001"

// bundle is a store with one tenant.
type bundle struct {
	t     *testing.T
	dir   string
	url   string // of PostgreSQL; "" embedded
	store *store.Store
	store.Turns
	key ids.MailboxKey // Amina's, once she wrote
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, dir: t.TempDir()}
	if dbtest.Backend(t) == "postgres" {
		b.url = dbtest.Postgres(t)
	}
	b.open(noon)
	return b
}

func (b *bundle) open(real time.Time) {
	b.t.Helper()
	s, err := store.Open(b.t.Context(), store.Config{Dir: b.dir, URL: b.url, Alone: true, Real: fixed{real}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = s.Close() })
	tenant, err := s.Tenant("01TENANT", "booking")
	if err != nil {
		b.t.Fatal(err)
	}
	b.store, b.Turns = s, store.Turns{Tenant: tenant, Admins: []string{"+254700000009"}}
}

// reopen closes the store as a crash would leave it and opens it again.
func (b *bundle) reopen(real time.Time) {
	b.t.Helper()
	if err := b.store.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open(real)
}

func said(id, from string) message.Inbound {
	return message.Inbound{
		Channel: "whatsapp", Number: "100", ProviderID: id, Kind: message.Text, Text: "habari " + id, Profile: "Amina",
		From: []contact.Identity{{Kind: contact.Phone, Value: from}}, SentAt: noon,
	}
}

// write delivers messages of Amina.
func (b *bundle) write(id ...string) {
	b.t.Helper()
	for _, i := range id {
		if _, err := b.Deliver(b.t.Context(), []message.Inbound{said(i, amina)}, nil, noon, 0); err != nil {
			b.t.Fatal(err)
		}
	}
	b.key = ids.MailboxKey(b.text("SELECT key FROM mailboxes ORDER BY key LIMIT 1"))
}

// claim leases the one mailbox that is due.
func (b *bundle) claim(now, real time.Time) mailbox.Claim {
	b.t.Helper()
	claims, _, err := b.ClaimMailboxes(b.t.Context(), now, real, 10)
	if err != nil || len(claims) != 1 {
		b.t.Fatalf("ClaimMailboxes = %v, %v; want one", claims, err)
	}
	return claims[0]
}

func (b *bundle) load() turn.Snapshot {
	b.t.Helper()
	s, err := b.Load(b.t.Context(), b.key)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// commit is a turn over everything that waits, which opens or keeps a thread.
func (b *bundle) commit(c mailbox.Claim) *turn.Commit {
	b.t.Helper()
	s := b.load()
	out := &turn.Commit{
		Claim: c, TurnID: ids.TurnID(ids.New(noon)), Started: noon, Now: noon, Inputs: json.RawMessage(`{}`), Contact: s.Contact, Supersede: true,
	}
	for _, it := range s.Items {
		if !it.ReceivedAt.After(noon) {
			out.Batch.Items = append(out.Batch.Items, it)
		}
	}
	if out.Thread = s.Thread; s.Thread == nil {
		out.Thread = &thread.Thread{
			ID: ids.ThreadID(ids.New(noon)), ContactID: s.Contact.ID, Actor: thread.Customer, Mailbox: b.key, App: "booking", GraphVer: 1,
			Node: "ask", State: json.RawMessage(`{"service":"massage"}`), Driver: thread.AgentDriving, Language: "en", OpenedAt: noon, LastAt: noon,
		}
	} else {
		out.Before = s.Thread.Version
	}
	return out
}

func nothing(context.Context, db.Tx) error { return nil }

// do commits and expects success.
func (b *bundle) do(c *turn.Commit) {
	b.t.Helper()
	if err := b.Commit(b.t.Context(), c, nothing); err != nil {
		b.t.Fatalf("Commit: %v", err)
	}
}

// turn claims, commits what change makes of the turn, and returns it.
func (b *bundle) turn(change func(c *turn.Commit)) *turn.Commit {
	b.t.Helper()
	c := b.commit(b.claim(later(60), noon))
	if change != nil {
		change(c)
	}
	b.do(c)
	return c
}

// row is an effect of the turn's thread.
func row(c *turn.Commit, id, lane string, origin outbox.Origin) outbox.Row {
	return outbox.Row{
		ID: id, Lane: lane, Kind: outbox.SendMessage, Origin: origin, Key: "key:" + id, ContactID: c.Contact.ID, ThreadID: c.Thread.ID,
		TurnID: c.TurnID, Epoch: c.Thread.Epoch, Payload: json.RawMessage(`{}`), DueAt: noon, CreatedAt: noon,
	}
}

// send claims effects and returns their ids in order.
func (b *bundle) send(now, real time.Time) (rows []outbox.Row, sent []string) {
	b.t.Helper()
	rows, _, err := b.ClaimOutbox(b.t.Context(), now, real, 10)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range rows {
		sent = append(sent, r.ID)
	}
	return rows, sent
}

func (b *bundle) settle(r outbox.Row, state outbox.State, due time.Time, o outbox.Outcome) {
	b.t.Helper()
	if err := b.SettleOutbox(b.t.Context(), r, state, due, o, noon); err != nil {
		b.t.Fatal(err)
	}
}

// text reads one value.
func (b *bundle) text(query string, args ...any) string {
	b.t.Helper()
	var v any
	err := b.Read(b.t.Context(), func(q db.Q) error { return q.QueryRowContext(b.t.Context(), query, args...).Scan(&v) })
	if err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	if at, ok := v.(time.Time); ok {
		v, _ = db.At(at).Value() // as SQLite has it
	}
	return fmt.Sprint(v)
}

// sameJSON compares stored JSON as values: PostgreSQL spaces and orders it anew.
var sameJSON = cmp.Transformer("json", func(raw json.RawMessage) (v any) {
	_ = json.Unmarshal(raw, &v)
	return v
})

func (b *bundle) want(want, query string, args ...any) {
	b.t.Helper()
	if got := b.text(query, args...); got != want {
		b.t.Errorf("%s: got %s, want %s", query, got, want)
	}
}

func (b *bundle) insert(a payment.Attempt) {
	b.t.Helper()
	a.Amount.Minor, a.Amount.Currency = 50000, "KES"
	if err := b.Write(b.t.Context(), func(tx db.Tx) error { return store.Payments{}.Insert(b.t.Context(), tx, a) }); err != nil {
		b.t.Fatal(err)
	}
}
