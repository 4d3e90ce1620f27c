package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/store"
)

// clockTimer is the timer of a handoff that is measured: the first of its clock.
const clockTimer = "handoff_notice"

// Bounds of a run: how long before the first timer the process begins, how long
// the last may take, and how many handoffs one delivery asks for.
const (
	timersLead  = 5 * time.Second
	timersTail  = 60 * time.Second
	timersBatch = 50
)

// inTime is what lateness is held to; settling is how long around a restart is
// looked at apart.
const (
	inTime   = time.Second
	settling = time.Second
)

// TimersOptions say how open handoffs and their clocks are measured.
type TimersOptions struct {
	Count int // open handoffs, each with one timer
	// Run is how much of opt.Span is looked at, all of it when zero: the timers of
	// an hour need not be waited for.
	Run time.Duration
	// Node is the command, without its flags, that runs ServeTimers in a process of
	// its own.
	Node []string
	Kill bool // the process is killed halfway in place of stopped
}

// Timers opens handoffs, spreads a timer of each over opt.Span, and has a
// process of its own fire them, which ends and is started again halfway. It
// reports how late each was: from when it was due to when its turn was
// committed. A timer that did not fire, or fired twice, is an error.
func Timers(ctx context.Context, opt Options, o TimersOptions) (r Report, err error) {
	if err := opt.check(); err != nil {
		return r, err
	}
	if o.Count < opt.Tenants || o.Count > 1_000_000 || len(o.Node) == 0 {
		return r, errors.New("want a handoff for each business at least, and a million at most")
	}
	cfg, remove, err := opt.place()
	if err != nil {
		return r, err
	}
	defer func() {
		err = errors.Join(err, empty(context.WithoutCancel(ctx), cfg), remove())
	}()
	opt.Progress("opening %d handoffs at %d businesses", o.Count, opt.Tenants)
	first, err := prepareTimers(ctx, cfg, opt, o.Count)
	if err != nil {
		return r, err
	}
	if o.Run == 0 || o.Run > opt.Span {
		o.Run = opt.Span
	}
	due := int((int64(o.Count)*int64(o.Run) + int64(opt.Span) - 1) / int64(opt.Span)) // the i-th is due at i/count of the span
	n := &node{argv: append(slices.Clone(o.Node), "--store", opt.Store, "--data", cfg.Dir), log: filepath.Join(cfg.Dir, "fired")}
	if opt.DSN != "" {
		n.argv = append(n.argv, "--dsn", opt.DSN)
	}
	g, err := n.run(ctx, opt, o, first, due)
	if err != nil {
		return r, err
	}
	all, err := n.fired()
	if err != nil {
		return r, err
	}
	left, err := timersLeft(ctx, cfg, first.Add(o.Run))
	if err != nil {
		return r, err
	}
	unwritten := due - len(all)
	if left != 0 || unwritten < 0 || unwritten > 0 && !o.Kill || unwritten > turnWorkers {
		return r, fmt.Errorf("the run produced wrong results: %d timers were written down as fired and %d are left, want %d and none", len(all), left, due)
	}
	var late, apart []time.Duration
	for _, s := range all {
		late = append(late, s.late)
		if s.due.Before(g.from.Add(-settling)) || s.due.After(g.until.Add(settling)) {
			apart = append(apart, s.late)
		}
	}
	slices.Sort(late)
	slices.Sort(apart)
	r.add("handoffs", float64(o.Count), "open, each with a timer")
	r.add("timers", float64(due), "that were due while it was looked at")
	r.add("unwritten", float64(unwritten), "that fired, in a process killed before it wrote so down")
	r.add("span_s", opt.Span.Seconds(), "within which they are due, evenly")
	r.add("restart_s", round(g.until.Sub(g.from).Seconds()), "from the end of one process to the next one's start")
	r.add("late_p50_ms", quantile(late, 0.5), "from due to committed")
	r.add("late_p99_ms", quantile(late, 0.99), "")
	r.add("late_max_ms", quantile(late, 1), "")
	r.add("late_max_apart_ms", quantile(apart, 1), "of those that were not due within a second of the restart")
	r.add("later_than_1s", float64(len(late)-len(upTo(late, inTime))), "timers that were more than a second late")
	return r, nil
}

// timersLeft counts the measured timers that were due before an instant and are
// still set. Only the store can say so of a process that was killed: between the
// commit of a turn and the line about it there is a moment to die in.
func timersLeft(ctx context.Context, cfg store.Config, before time.Time) (left int, err error) {
	w, err := openWorld(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	known, err := w.store.Tenants(ctx)
	if err != nil {
		return 0, err
	}
	for _, k := range known {
		st, err := w.store.Tenant(k.Tenant.ID, k.Tenant.App)
		if err != nil {
			return 0, err
		}
		var n int
		if err := st.Read(ctx, func(q db.Q) error {
			return db.Gather(ctx, q, db.Into("count timers", []any{&n}, "SELECT count(*) FROM timers WHERE name = $1 AND due_at < $2", clockTimer, db.At(before)))
		}); err != nil {
			return 0, err
		}
		left += n
	}
	return left, nil
}

// upTo are the sorted durations that are not above most.
func upTo(sorted []time.Duration, most time.Duration) []time.Duration {
	i, _ := slices.BinarySearch(sorted, most+1)
	return sorted[:i]
}

// prepareTimers opens the handoffs by what customers write, and sets their
// timers. It returns when the first is due.
func prepareTimers(ctx context.Context, cfg store.Config, opt Options, count int) (first time.Time, err error) {
	w, err := newWorld(ctx, cfg, opt.Tenants)
	if err != nil {
		return first, err
	}
	w.pump.Start(ctx)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		w.pump.Stop(ctx)
		err = errors.Join(err, w.store.Close())
	}()
	for n := 0; n < count; n += timersBatch {
		b := w.businesses[(n/timersBatch)%len(w.businesses)]
		if err := w.askForPeople(ctx, b, n, min(n+timersBatch, count)); err != nil {
			return first, err
		}
	}
	if err := w.pump.Idle(ctx); err != nil {
		return first, fmt.Errorf("open handoffs: %w", err)
	}
	first = w.clock.Now().Add(timersLead)
	set := 0
	for _, b := range w.businesses {
		err := b.store.Write(ctx, func(tx db.Tx) error {
			n, err := setTimers(ctx, tx, func(i int) time.Time {
				return first.Add(opt.Span * time.Duration(set+i) / time.Duration(count))
			})
			set += n
			return err
		})
		if err != nil {
			return first, err
		}
	}
	if set != count {
		return first, fmt.Errorf("the run produced wrong results: %d handoffs are open, want %d", set, count)
	}
	return first, nil
}

// askForPeople has customers of a business ask for a person.
func (w *world) askForPeople(ctx context.Context, b *business, from, until int) error {
	now := w.clock.Now()
	var all []message.Inbound
	for n := from; n < until; n++ {
		phone := fmt.Sprintf("+2547%08d", n)
		all = append(all, message.Inbound{
			Channel: whatsappName, Number: b.turns.Tenant.Numbers[0].ID, ProviderID: fmt.Sprintf("wamid.h%d", n), SentAt: now.Truncate(time.Second),
			From: []contact.Identity{{Kind: contact.Phone, Value: phone}}, Kind: message.Text, Text: "I want to talk to a person",
		})
	}
	if _, err := b.store.Deliver(ctx, all, nil, now, 0); err != nil {
		return err
	}
	w.pump.Wake(b.turns.Tenant.ID, now)
	return nil
}

// sleepUntil waits for an instant of the machine's clock.
func sleepUntil(ctx context.Context, at time.Time) error {
	t := time.NewTimer(at.Sub(clock.Real{}.Now()))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	case <-t.C:
		return nil
	}
}
