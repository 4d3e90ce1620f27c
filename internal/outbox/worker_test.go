package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

// rows is a store that gives out rows once and notes what became of them.
type rows struct {
	list    []outbox.Row
	err     error
	state   outbox.State
	due     time.Time
	outcome outbox.Outcome
}

func (r *rows) ClaimOutbox(context.Context, time.Time, time.Time, int) ([]outbox.Row, time.Time, error) {
	return r.list, noon.Add(time.Minute), r.err
}

func (r *rows) SettleOutbox(ctx context.Context, _ outbox.Row, s outbox.State, due time.Time, o outbox.Outcome, _ time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.state, r.due, r.outcome = s, due, o
	return r.err
}

type carrier func(ctx context.Context, row outbox.Row) outbox.Outcome

func (c carrier) Carry(ctx context.Context, _ ids.TenantID, row outbox.Row) outbox.Outcome {
	return c(ctx, row)
}

// carry has a worker carry one row out.
func carry(t *testing.T, r *rows, c outbox.Carrier) (log string, settled []outbox.State) {
	t.Helper()
	var b bytes.Buffer
	real := clock.NewFixed(noon)
	w := outbox.NewWorker(outbox.WorkerConfig{
		Open:     func(context.Context, ids.TenantID) (outbox.Store, error) { return r, nil },
		Carriers: map[string]outbox.Carrier{outbox.SendMessage: c}, Clock: real, Real: real, Logger: slog.New(slog.NewJSONHandler(&b, nil)),
		Settled: func(_ ids.TenantID, s outbox.State) { settled = append(settled, s) },
	})
	jobs, next, err := w.Claim(t.Context(), "t", 10)
	if err != nil || len(jobs) != len(r.list) || !next.Equal(noon.Add(time.Minute)) {
		t.Fatalf("Claim = %d jobs, %v, %v", len(jobs), next, err)
	}
	for _, j := range jobs {
		j.Run(t.Context())
	}
	return b.String(), settled
}

func TestWhatASendCameToIsNotedThoughItsProcessEnds(t *testing.T) {
	t.Parallel()
	ctx, cut := context.WithCancel(t.Context())
	r := &rows{list: []outbox.Row{{ID: "o1", Kind: outbox.SendMessage, State: outbox.Sending}}}
	real := clock.NewFixed(noon)
	w := outbox.NewWorker(outbox.WorkerConfig{
		Open: func(context.Context, ids.TenantID) (outbox.Store, error) { return r, nil }, Clock: real, Real: real,
		Logger: slog.New(slog.DiscardHandler), Settled: func(ids.TenantID, outbox.State) {},
		Carriers: map[string]outbox.Carrier{outbox.SendMessage: carrier(func(context.Context, outbox.Row) outbox.Outcome {
			cut()
			return outbox.Outcome{Verdict: outbox.Done, ProviderID: "wamid.1"}
		})},
	})
	jobs, _, err := w.Claim(ctx, "t", 10)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("Claim = %d jobs, %v; want one", len(jobs), err)
	}
	jobs[0].Run(ctx)
	if r.state != outbox.Sent || r.outcome.ProviderID != "wamid.1" {
		t.Errorf("settled as %q with %q, want sent with its id", r.state, r.outcome.ProviderID)
	}
}

// restarting is a store whose database is away for some settlements.
type restarting struct {
	*rows
	away int
}

func (r *restarting) SettleOutbox(ctx context.Context, row outbox.Row, s outbox.State, due time.Time, o outbox.Outcome, now time.Time) error {
	if r.away > 0 {
		r.away--
		return fmt.Errorf("settle: %w", io.ErrUnexpectedEOF)
	}
	return r.rows.SettleOutbox(ctx, row, s, due, o, now)
}

func TestWhatASendCameToIsNotedOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away int
		want outbox.State
	}{
		"after a restart":                  {5, outbox.Sent},
		"not when it is away for too long": {1000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &restarting{&rows{list: []outbox.Row{{ID: "o1", Kind: outbox.SendMessage, State: outbox.Sending}}}, c.away}
				w := outbox.NewWorker(outbox.WorkerConfig{
					Open:  func(context.Context, ids.TenantID) (outbox.Store, error) { return r, nil },
					Clock: clock.Real{}, Real: clock.Real{}, Logger: slog.New(slog.DiscardHandler), Settled: func(ids.TenantID, outbox.State) {},
					Carriers: map[string]outbox.Carrier{outbox.SendMessage: carrier(func(context.Context, outbox.Row) outbox.Outcome {
						return outbox.Outcome{Verdict: outbox.Done}
					})},
				})
				jobs, _, err := w.Claim(t.Context(), "t", 10)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				jobs[0].Run(t.Context())
				if r.state != c.want {
					t.Errorf("settled as %q, want %q", r.state, c.want)
				}
				if took := time.Since(start); took >= outbox.CarryTime+outbox.DoubtWait {
					t.Errorf("it was tried for %v, longer than the mark holds", took)
				}
			})
		})
	}
}

func TestWhatBecomesOfAnAttempt(t *testing.T) {
	t.Parallel()
	retry := func(class string, after time.Duration) outbox.Outcome {
		return outbox.Outcome{Verdict: outbox.Retry, Class: class, RetryAfter: after}
	}
	tests := []struct {
		name    string
		tries   int
		resends int
		kind    string
		outcome outbox.Outcome
		state   outbox.State
		wait    time.Duration
	}{
		{name: "done", outcome: outbox.Outcome{Verdict: outbox.Done}, state: outbox.Sent},
		{name: "in doubt waits for its receipt", outcome: outbox.Outcome{Verdict: outbox.InDoubt}, state: outbox.Doubt, wait: time.Minute},
		{name: "in doubt again waits again", resends: outbox.MaxResends - 1, outcome: outbox.Outcome{Verdict: outbox.InDoubt}, state: outbox.Doubt, wait: time.Minute},
		{name: "in doubt to the last is for a person", resends: outbox.MaxResends, outcome: outbox.Outcome{Verdict: outbox.InDoubt}, state: outbox.Failed},
		{name: "will never arrive", outcome: outbox.Outcome{Verdict: outbox.GiveUp}, state: outbox.Failed},
		{name: "a verdict nobody knows", outcome: outbox.Outcome{Verdict: "perhaps"}, state: outbox.Failed},
		{name: "no carrier", kind: "fax", state: outbox.Failed},
		{name: "first retry", tries: 1, outcome: retry("transient", 0), state: outbox.Queued, wait: time.Second},
		{name: "fourth retry", tries: 4, outcome: retry("transient", 0), state: outbox.Queued, wait: 8 * time.Second},
		{name: "the provider's wish is longer", tries: 1, outcome: retry("rate", time.Minute), state: outbox.Queued, wait: time.Minute},
		{name: "the provider's wish is shorter", tries: 4, outcome: retry("rate", time.Second), state: outbox.Queued, wait: 8 * time.Second},
		{name: "a pair's rate waits four to the n", tries: 4, outcome: retry(outbox.ClassPairRate, 0), state: outbox.Queued, wait: 64 * time.Second},
		{name: "no wait is longer than ten minutes", tries: 7, outcome: retry(outbox.ClassPairRate, 0), state: outbox.Queued, wait: 10 * time.Minute},
		{name: "the last try", tries: 7, outcome: retry("transient", 0), state: outbox.Queued, wait: 64 * time.Second},
		{name: "one too many", tries: 8, outcome: retry("transient", 0), state: outbox.Failed},
		{name: "our own limit costs no try", tries: 20, outcome: retry(outbox.ClassLocal, 6*time.Second), state: outbox.Queued, wait: 6 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.kind == "" {
				tt.kind = outbox.SendMessage
			}
			r := &rows{list: []outbox.Row{{ID: "o1", Kind: tt.kind, Tries: tt.tries, Resends: tt.resends, ThreadID: "th"}}}
			log, settled := carry(t, r, carrier(func(ctx context.Context, _ outbox.Row) outbox.Outcome {
				if _, ok := ctx.Deadline(); !ok {
					t.Error("an attempt has no deadline")
				}
				return tt.outcome
			}))
			if r.state != tt.state || !r.due.Equal(noon.Add(tt.wait)) {
				t.Errorf("got %s after %v, want %s after %v", r.state, r.due.Sub(noon), tt.state, tt.wait)
			}
			if len(settled) != 1 || settled[0] != tt.state {
				t.Errorf("told %v, want %s", settled, tt.state)
			}
			if want := fmt.Sprintf(`"msg":"outbox.%s"`, tt.state); !strings.Contains(log, want) || !strings.Contains(log, `"conversation_id":"th"`) {
				t.Errorf("log %s, want %s and the conversation", log, want)
			}
		})
	}
}

func TestAPanicInACarrierLeavesDoubt(t *testing.T) {
	t.Parallel()
	r := &rows{list: []outbox.Row{{ID: "o1", Kind: outbox.SendMessage}}}
	carry(t, r, carrier(func(context.Context, outbox.Row) outbox.Outcome { panic("a defect") }))
	if r.state != outbox.Doubt || r.outcome.Class != "panic" || r.outcome.Detail != "a defect" {
		t.Errorf("got %s %+v, want doubt: it may have been sent", r.state, r.outcome)
	}
}

func TestAnOutcomeThatCannotBeStoredIsLogged(t *testing.T) {
	t.Parallel()
	r := &rows{list: []outbox.Row{{ID: "o1", Kind: outbox.SendMessage}}}
	log, settled := carry(t, r, carrier(func(context.Context, outbox.Row) outbox.Outcome {
		r.err = errors.New("disk full")
		return outbox.Outcome{Verdict: outbox.Done}
	}))
	if !strings.Contains(log, "outbox.settle_failed") || len(settled) != 1 {
		t.Errorf("log %s, told %v", log, settled)
	}
}

func TestClaimPassesFaultsOn(t *testing.T) {
	t.Parallel()
	fault := errors.New("cannot open")
	for name, open := range map[string]func(context.Context, ids.TenantID) (outbox.Store, error){
		"opening":  func(context.Context, ids.TenantID) (outbox.Store, error) { return nil, fault },
		"claiming": func(context.Context, ids.TenantID) (outbox.Store, error) { return &rows{err: fault}, nil },
	} {
		w := outbox.NewWorker(outbox.WorkerConfig{Open: open, Clock: clock.Real{}, Real: clock.Real{}})
		if _, _, err := w.Claim(t.Context(), "t", 1); !errors.Is(err, fault) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
