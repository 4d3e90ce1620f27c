package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/ratiba/ratiba/internal/bench/lap"
)

// LLMOptions say how the model router is measured.
type LLMOptions struct {
	// Fast and Slow are addresses of Upstream: one that answers at once, one that
	// takes SlowUpstream. They run in processes of their own, so that nothing of
	// theirs is counted.
	Fast, Slow string
	Calls      int       // of each client in a round, one at a time
	CrowdCalls int       // of each of the 64 that call at once, in a round
	Rounds     int       // medians are over these
	Peers      *LLMPeers // measured in the same run; nil for none
	Progress   func(format string, args ...any)
}

// crowdWorkers is how many call at once.
const crowdWorkers = 64

// measurer is a program whose clients are measured: this one, or the peers'.
type measurer interface {
	Do(ctx context.Context, c lap.Command) (lap.Result, error)
}

// router is the name of the product's own client.
const router = "router"

// contender is a client and the program it runs in.
type contender struct {
	name string
	note string
	in   int // which program
}

// LLM measures what the model router adds to a bare HTTP call, beside its peers.
// The clients ask the same question of the same upstream; every program has a
// bare client of its own, and what is added is counted from it.
func LLM(ctx context.Context, opt LLMOptions) (r Report, err error) {
	if opt.Calls < 1 || opt.CrowdCalls < 1 || opt.Rounds < 1 {
		return r, errors.New("want a call and a round at least")
	}
	setup, err := llmSetup(opt)
	if err != nil {
		return r, err
	}
	ours, err := llmClients(setup)
	if err != nil {
		return r, err
	}
	programs := []measurer{ours}
	contenders := []contender{{router, "the product's router: ladder, ledger in memory, validation, price", 0}}
	if opt.Peers != nil {
		peers, stop, err := opt.Peers.start(ctx, setup, opt.Progress)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		programs = append(programs, peers)
		for _, name := range slices.Sorted(maps.Keys(llmPeerNotes())) {
			contenders = append(contenders, contender{name, llmPeerNotes()[name], 1})
		}
	}
	m := llmRun{LLMOptions: opt, programs: programs, contenders: contenders}
	for _, phase := range []func(context.Context, *Report) error{m.turns, m.spent, m.crowd} {
		if err := phase(ctx, &r); err != nil {
			return Report{}, err
		}
	}
	return r, nil
}

// llmRun is a measurement under way.
type llmRun struct {
	LLMOptions

	programs   []measurer
	contenders []contender
}

// turns measures calls one at a time. The programs take turns by the round, and
// within a program the clients by the call.
func (m llmRun) turns(ctx context.Context, r *Report) error {
	m.Progress("%d rounds of %d calls of each client, one at a time", m.Rounds, m.Calls)
	found := make([]laps, len(m.programs))
	for round := range m.Rounds + 1 {
		for i, p := range m.programs {
			res, err := p.Do(ctx, lap.Command{Do: lap.Turns, Calls: m.Calls})
			if err != nil {
				return err
			}
			if round > 0 { // in the first one connections are opened and pools filled
				found[i] = append(found[i], res.P50)
			}
		}
	}
	r.add("llm_post_p50_us", found[0].over(lap.Post, ""), "net/http alone: a body that is ready, the answer's bytes read")
	r.add("llm_bare_p50_us", found[0].over(lap.Bare, ""), "net/http and encoding/json: what the others are compared with")
	if len(found) > 1 {
		r.add("llm_peer_bare_p50_us", found[1].over(lap.Bare, ""), "the same in the peers' program")
	}
	r.add("llm_router_over_post_p50_us", found[0].over(router, lap.Post), "what the router adds to net/http alone")
	for _, c := range m.contenders {
		r.add("llm_"+c.name+"_added_p50_us", found[c.in].over(c.name, lap.Bare), c.note)
	}
	return nil
}

// laps are a program's p50 by client, a round each.
type laps []map[string]float64

// over is the median over the rounds of what a client takes more than another,
// or of all it takes when there is no other.
func (l laps) over(client, other string) float64 {
	var out []float64
	for _, p50 := range l {
		out = append(out, p50[client]-p50[other])
	}
	return round1(median(out))
}

// spent counts allocations and processor time, those of a bare call taken off.
func (m llmRun) spent(ctx context.Context, r *Report) error {
	m.Progress("allocations and processor time")
	all := make(map[string]lap.Result)
	ask := func(key string, program int, client string) error {
		var best lap.Result
		for i := range m.Rounds {
			res, err := m.programs[program].Do(ctx, lap.Command{Do: lap.Spent, Client: client, Calls: m.Calls})
			if err != nil {
				return err
			}
			if i == 0 || res.CPU < best.CPU {
				best = res
			}
		}
		all[key] = best
		return nil
	}
	for i := range m.programs {
		if err := ask(lap.Bare+strconv.Itoa(i), i, lap.Bare); err != nil {
			return err
		}
	}
	for _, c := range m.contenders {
		if err := ask(c.name, c.in, c.name); err != nil {
			return err
		}
	}
	bare := all[lap.Bare+"0"]
	r.add("llm_bare_allocs", round1(bare.Allocs), "of a bare call")
	r.add("llm_bare_cpu_us", round1(bare.CPU), "processor time of a bare call, the least of the rounds")
	for _, c := range m.contenders {
		bare := all[lap.Bare+strconv.Itoa(c.in)]
		r.add("llm_"+c.name+"_added_allocs", round1(all[c.name].Allocs-bare.Allocs), "beyond a bare call's")
		r.add("llm_"+c.name+"_added_cpu_us", round1(all[c.name].CPU-bare.CPU), "beyond a bare call's")
	}
	return nil
}

// crowd measures many at once on the slow upstream. A client's rounds alternate
// with its program's bare ones.
func (m llmRun) crowd(ctx context.Context, r *Report) error {
	m.Progress("%d at a time, the upstream takes %s", crowdWorkers, SlowUpstream)
	p99 := func(program int, client string) (float64, error) {
		res, err := m.programs[program].Do(ctx, lap.Command{Do: lap.Crowd, Client: client, Workers: crowdWorkers, Calls: m.CrowdCalls})
		return res.P99, err
	}
	for i, c := range m.contenders {
		var bare, added []float64
		for round := range m.Rounds + 1 {
			base, err := p99(c.in, lap.Bare)
			if err != nil {
				return err
			}
			with, err := p99(c.in, c.name)
			if err != nil {
				return err
			}
			if round > 0 {
				bare, added = append(bare, base), append(added, with-base)
			}
		}
		if i == 0 {
			r.add(fmt.Sprintf("llm_%d_bare_p99_ms", crowdWorkers), round(median(bare)), fmt.Sprintf("%d at a time, upstream %s", crowdWorkers, SlowUpstream))
		}
		r.add(fmt.Sprintf("llm_%d_%s_added_p99_ms", crowdWorkers, c.name), round(median(added)), "beyond the bare calls beside it")
	}
	return nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// round1 keeps one digit after the point.
func round1(f float64) float64 { return math.Round(f*10) / 10 }
