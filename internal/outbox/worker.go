package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// Bounds of retrying.
const (
	maxTries = 8
	maxDelay = 10 * time.Minute
)

// An outcome is noted even when the process is ending; each try has noteTime.
// While the database is away it is tried again, as long as the row's mark holds:
// what is not noted is sent again. Real time.
const (
	noteTime  = 5 * time.Second
	noteWait  = CarryTime + DoubtWait - 2*noteTime
	notePause = 200 * time.Millisecond
)

// ClassLocal is the error class of a row our own rate limits hold back: it was
// not tried, so waiting costs it no try.
const ClassLocal = "local"

// ClassPairRate is the error class of WhatsApp's limit per recipient, which
// asks for a wait of 4^n seconds (Meta's error 131056).
const ClassPairRate = "pair_rate"

// WorkerConfig configures a Worker.
type WorkerConfig struct {
	// Open returns a tenant's rows.
	Open     func(ctx context.Context, tenant ids.TenantID) (Store, error)
	Carriers map[string]Carrier // by kind of row
	Clock    clock.Clock        // the product's
	Real     clock.Clock
	Logger   *slog.Logger
	// Settled is called after each attempt, so that whoever waits can look
	// again. It must not block.
	Settled func(tenant ids.TenantID, state State)
}

// Worker claims rows and has them carried out. It is a coord.Source.
type Worker struct{ cfg WorkerConfig }

// NewWorker returns a worker.
func NewWorker(cfg WorkerConfig) *Worker { return &Worker{cfg: cfg} }

// Claim implements coord.Source.
func (w *Worker) Claim(ctx context.Context, tenant ids.TenantID, limit int) ([]coord.Job, time.Time, error) {
	store, err := w.cfg.Open(ctx, tenant)
	if err != nil {
		return nil, time.Time{}, err
	}
	rows, next, err := store.ClaimOutbox(ctx, w.cfg.Clock.Now(), w.cfg.Real.Now(), limit)
	if err != nil {
		return nil, time.Time{}, err
	}
	jobs := make([]coord.Job, len(rows))
	for i, row := range rows {
		jobs[i] = coord.Job{Run: func(ctx context.Context) { w.carry(ctx, tenant, store, row) }}
	}
	return jobs, next, nil
}

// carry runs one attempt and records what became of it.
func (w *Worker) carry(ctx context.Context, tenant ids.TenantID, store Store, row Row) {
	start := w.cfg.Real.Now()
	o := w.attempt(ctx, tenant, row)
	real := w.cfg.Real.Now()
	state, due := next(row, o, real)
	log := slog.LevelInfo
	if state == Failed {
		log = slog.LevelWarn
	}
	w.cfg.Logger.LogAttrs(ctx, log, "outbox."+string(state), //nolint:sloglint // one event a state, and docs/events.md has them all.
		slog.String("tenant_id", string(tenant)), slog.String("conversation_id", string(row.ThreadID)),
		slog.String("turn_id", string(row.TurnID)), slog.String("outbox_id", row.ID), slog.String("kind", row.Kind),
		slog.String("origin", string(row.Origin)), slog.Int("tries", row.Tries), slog.String("class", o.Class), slog.Int("code", o.Code),
		slog.Float64("duration_ms", float64(real.Sub(start).Microseconds())/1000))
	if err := w.note(ctx, store, row, state, due, o); err != nil {
		// The row stays marked as sending; at the next start it waits for its receipt.
		w.cfg.Logger.LogAttrs(ctx, slog.LevelError, "outbox.settle_failed",
			slog.String("tenant_id", string(tenant)), slog.String("outbox_id", row.ID), slog.String("error", err.Error()))
	}
	// What waits behind this row in its lane may go now.
	w.cfg.Settled(tenant, state)
}

// note writes down what became of an attempt.
func (w *Worker) note(ctx context.Context, store Store, row Row, state State, due time.Time, o Outcome) error {
	over := time.After(noteWait)
	for pause := notePause; ; pause = min(2*pause, noteTime) {
		noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
		err := store.SettleOutbox(noting, row, state, due, o, w.cfg.Clock.Now())
		cancel()
		if err == nil || !db.IsAway(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-over:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

func (w *Worker) attempt(ctx context.Context, tenant ids.TenantID, row Row) (o Outcome) {
	carrier, ok := w.cfg.Carriers[row.Kind]
	if !ok {
		return Outcome{Verdict: GiveUp, Class: "defect", Detail: "no carrier for " + row.Kind}
	}
	ctx, cancel := context.WithTimeout(ctx, CarryTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			o = Outcome{Verdict: InDoubt, Class: "panic", Detail: fmt.Sprint(p)}
		}
	}()
	return carrier.Carry(ctx, tenant, row)
}

// next decides what an outcome makes of a row and when it is due again.
func next(row Row, o Outcome, real time.Time) (State, time.Time) {
	switch o.Verdict {
	case Done:
		return Sent, real
	case InDoubt:
		if row.Resends >= MaxResends {
			return Failed, real
		}
		return Doubt, real.Add(DoubtWait)
	case Retry:
		if o.Class == ClassLocal {
			return Queued, real.Add(o.RetryAfter)
		}
		if row.Tries < maxTries {
			return Queued, real.Add(delay(row.Tries, o))
		}
		return Failed, real
	case GiveUp:
	}
	return Failed, real
}

// delay is how long a row waits after its n-th failed try.
func delay(tries int, o Outcome) time.Duration {
	base := 2
	if o.Class == ClassPairRate {
		base = 4
	}
	d := time.Second
	for range tries - 1 {
		d *= time.Duration(base)
	}
	return min(max(d, o.RetryAfter), maxDelay)
}
