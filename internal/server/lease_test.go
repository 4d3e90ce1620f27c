package server_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/turn"
)

// A model may take longer than a lease lasts: who runs the turn keeps it.
func TestARunningTurnKeepsItsLease(t *testing.T) {
	t.Parallel()
	s, err := server.New(t.Context(), server.Config{
		Settings: config.Config{PublicURL: "http://127.0.0.1", Data: t.TempDir()}, Logger: slog.New(slog.DiscardHandler),
		Secrets: func(name string) string {
			return map[string]string{"DUKA_TOKEN": "a", "DUKA_SECRET": "b"}[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	def, err := tenant.Parse([]byte(shop))
	if err == nil {
		def, err = s.Apply(t.Context(), def)
	}
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Store(def.ID)
	if err != nil {
		t.Fatal(err)
	}
	// One who is not served, a deleted one say, is no reason to ask again.
	if jobs, err := s.ClaimTurns(t.Context(), "01NOBODY"); err != nil || jobs != nil {
		t.Errorf("claimed %d turns of nobody, %v", len(jobs), err)
	}
	for { // what applying the definition woke is done first
		jobs, err := s.ClaimTurns(t.Context(), def.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			j.Run(t.Context())
		}
		if len(jobs) == 0 {
			break
		}
	}
	now := clock.Real{}.Now()
	m := message.Inbound{
		Channel: "whatsapp", Number: "1", ProviderID: "m1", Kind: message.Text, Text: "habari",
		From: []contact.Identity{{Kind: contact.Phone, Value: "+254700000001"}}, SentAt: now,
	}
	if _, err := st.Deliver(t.Context(), []message.Inbound{m}, nil, now.Add(-time.Minute), 0); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.ClaimTurns(t.Context(), def.ID)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("claimed %d turns, %v; want one", len(jobs), err)
	}
	if jobs[0].Beat == nil {
		t.Fatal("nobody extends the lease")
	}
	// As if most of the lease had passed.
	if err := st.Write(t.Context(), func(tx db.Tx) error {
		return db.Exec(t.Context(), tx, "age lease", "UPDATE mailboxes SET lease_until = $1 WHERE lease_token <> ''", db.At(now))
	}); err != nil {
		t.Fatal(err)
	}
	if err := jobs[0].Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, err := s.ClaimTurns(t.Context(), def.ID); err != nil || len(again) != 0 {
		t.Errorf("claimed %d turns of a mailbox that is leased, %v", len(again), err)
	}
	jobs[0].Run(t.Context())
	if err := jobs[0].Beat(t.Context()); !errors.Is(err, turn.ErrLost) {
		t.Errorf("a lease that was given back: %v, want turn.ErrLost", err)
	}
}
