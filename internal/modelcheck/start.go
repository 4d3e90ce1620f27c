package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/outbox"
)

// The states explorations begin with.
const (
	Fresh    = "a fresh contact"
	Question = "the confirmation question"
	Prompted = "a payment prompt on the phone"
	Paged    = "suspended with a prompt on the phone"
	Driven   = "a human drives with a prompt on the phone"
	Lapsed   = "the held time ran out before the money came"
	Taken    = "a human drives after the held time ran out"
	Late     = "a human drives after late money came"
)

// Starts lists the states explorations begin with.
func Starts() []string {
	return []string{Fresh, Question, Prompted, Paged, Driven, Lapsed, Taken, Late}
}

// begin walks to a start over memory and returns the path it took.
func begin(ctx context.Context, k *kit, cfg Config) (*state, []Action, error) {
	m := founded(cfg.Faults)
	w := &walker{s: &state{db: m, mem: m, kit: k, now: morning(), real: morning(), left: unbounded()}}
	for i, p := range m.contacts {
		w.s.people[i] = p.ID
	}
	w.to(ctx, cfg.Start)
	if w.err != nil {
		return nil, nil, fmt.Errorf("walk to %s: %w\n%s", cfg.Start, w.err, Trace(w.path))
	}
	w.s.left = cfg.Budget
	return w.s, w.path, nil
}

// walker takes the quiet way: after everything from outside the product does
// all it can.
type walker struct {
	s    *state
	path []Action
	err  error
}

func (w *walker) to(ctx context.Context, start string) {
	says := func(text uint8) Action { return Action{Kind: Says, Arg: text} }
	takes := Action{Kind: Command, Who: partyA, Arg: take}
	lapse := func() {
		for w.err == nil && !w.resting(string(flow.HoldExpired)) {
			w.do(ctx, Action{Kind: Clock})
		}
	}
	switch start {
	case Fresh:
	case Question:
		w.do(ctx, says(book))
	case Prompted:
		w.do(ctx, says(book), Action{Kind: Tap})
	case Paged:
		w.do(ctx, says(book), Action{Kind: Tap}, says(human))
	case Driven:
		w.do(ctx, says(book), Action{Kind: Tap}, says(human), takes)
	case Lapsed:
		w.do(ctx, says(book), Action{Kind: Tap})
		lapse()
	case Taken, Late:
		w.do(ctx, says(book), Action{Kind: Tap})
		lapse()
		w.do(ctx, says(human), takes)
		if start == Late {
			w.do(ctx, Action{Kind: Paid})
		}
	default:
		w.err = errors.New("no such start")
	}
}

func (w *walker) resting(node string) bool {
	th := w.s.mem.open(w.s.key(partyCustomer))
	return th != nil && th.Node == node
}

// do lets things happen and the product come to rest after each.
func (w *walker) do(ctx context.Context, actions ...Action) {
	for _, a := range actions {
		w.step(ctx, a)
		w.rest(ctx)
	}
}

// rest lets the product do all it can.
func (w *walker) rest(ctx context.Context) {
	for w.err == nil {
		next := w.own()
		if next < 0 {
			return
		}
		w.step(ctx, w.s.enabled()[next])
	}
}

// own finds something the product can do by itself.
func (w *walker) own() int {
	return slices.IndexFunc(w.s.enabled(), func(a Action) bool {
		return a.Kind == Turn || a.Kind == Send || a.Kind == Push || a.Kind == Settle && w.s.flights[a.Arg].State == outbox.Sending
	})
}

func (w *walker) step(ctx context.Context, a Action) {
	if w.err != nil {
		return
	}
	w.path = append(w.path, a)
	w.err = errors.Join(w.s.apply(ctx, a), w.s.check())
}

func unbounded() Budget {
	const many = 1000
	return Budget{
		Outside: many, Messages: many, Commands: many, Relays: many, Briefs: many, Callback: many, Clock: many, Wait: many, Crash: many, Loads: many, Trouble: many,
	}
}
