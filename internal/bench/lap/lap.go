// Package lap measures clients of the same service against each other: how long
// a call takes, what it allocates, and how it fares among many at once. It is
// what the product and its peers, each in a program of its own, are measured
// with; it imports only the clock.
package lap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// Client is what is measured. Call asks once and reads the whole answer.
type Client struct {
	Name string
	Call func(ctx context.Context) error
}

// Setup is what clients of every program are made with: two upstreams, one that
// answers at once and one that takes its time, and the one question they ask.
type Setup struct {
	Fast   string          `json:"fast"`
	Slow   string          `json:"slow"`
	System string          `json:"system"`
	Text   string          `json:"text"`
	Schema json.RawMessage `json:"schema"`
}

// Ways to measure.
const (
	// Turns has the clients of the fast upstream call in turn, one call at a time.
	Turns = "turns"
	// Spent counts what one client of the fast upstream allocates a call, and the
	// processor time its program spends on it: neither depends on what else the
	// machine does.
	Spent = "spent"
	// Crowd has one client of the slow upstream called by many at once.
	Crowd = "crowd"
)

// Command asks for one measurement.
type Command struct {
	Do      string `json:"do"`
	Client  string `json:"client,omitempty"`
	Calls   int    `json:"calls"`             // of each client, or of each worker
	Workers int    `json:"workers,omitempty"` // of a crowd
}

// Result is what a measurement found.
type Result struct {
	P50    map[string]float64 `json:"p50_us,omitempty"` // by client
	Allocs float64            `json:"allocs,omitempty"` // a call
	CPU    float64            `json:"cpu_us,omitempty"` // a call, of all the program's threads
	P99    float64            `json:"p99_ms,omitempty"`
	Error  string             `json:"error,omitempty"`
}

// Bench holds a program's clients, by upstream. Both lists name the same ones.
type Bench struct {
	Fast, Slow []Client
}

// Do makes one measurement.
func (b Bench) Do(ctx context.Context, c Command) (Result, error) {
	switch c.Do {
	case Turns:
		return turns(ctx, b.Fast, c.Calls)
	case Spent:
		client, err := find(b.Fast, c.Client)
		if err != nil {
			return Result{}, err
		}
		return spent(ctx, client, c.Calls)
	case Crowd:
		client, err := find(b.Slow, c.Client)
		if err != nil {
			return Result{}, err
		}
		return crowd(ctx, client, c.Workers, c.Calls)
	default:
		return Result{}, fmt.Errorf("measure %q: want %s, %s or %s", c.Do, Turns, Spent, Crowd)
	}
}

func find(list []Client, name string) (Client, error) {
	i := slices.IndexFunc(list, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, fmt.Errorf("there is no client %q", name)
	}
	return list[i], nil
}

// turns interleaves call by call, so that whatever else the machine does falls
// on every client alike.
func turns(ctx context.Context, clients []Client, calls int) (Result, error) {
	watch := clock.Real{}
	took := make([][]time.Duration, len(clients))
	for i := range calls {
		for j := range clients {
			at := (i + j) % len(clients)
			start := watch.Now()
			if err := clients[at].Call(ctx); err != nil {
				return Result{}, fmt.Errorf("%s: %w", clients[at].Name, err)
			}
			took[at] = append(took[at], watch.Now().Sub(start))
		}
	}
	r := Result{P50: make(map[string]float64, len(clients))}
	for i, c := range clients {
		r.P50[c.Name] = float64(quantile(took[i], 0.5).Nanoseconds()) / 1e3
	}
	return r, nil
}

func spent(ctx context.Context, c Client, calls int) (Result, error) {
	if calls < 1 {
		return Result{}, errors.New("want a call at least")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	busy, err := busyTime()
	for range calls {
		if err := c.Call(ctx); err != nil {
			return Result{}, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	until, late := busyTime()
	runtime.ReadMemStats(&after)
	return Result{
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(calls), CPU: float64((until - busy).Nanoseconds()) / 1e3 / float64(calls),
	}, errors.Join(err, late)
}

// busyTime is the processor time of this program so far.
func busyTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// spread is the time over which a crowd arrives: nobody's customers write in
// step.
const spread = 20 * time.Millisecond

func crowd(ctx context.Context, c Client, workers, calls int) (Result, error) {
	took := make([][]time.Duration, workers)
	failed := make([]error, workers)
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() { took[i], failed[i] = member(ctx, c, time.Duration(i)*spread/time.Duration(workers), calls) })
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	return Result{P99: float64(quantile(slices.Concat(took...), 0.99).Nanoseconds()) / 1e6}, nil
}

// member is one of a crowd, who comes late by some time.
func member(ctx context.Context, c Client, late time.Duration, calls int) ([]time.Duration, error) {
	arrival := time.NewTimer(late)
	defer arrival.Stop()
	select {
	case <-arrival.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	watch := clock.Real{}
	took := make([]time.Duration, 0, calls)
	for range calls {
		start := watch.Now()
		if err := c.Call(ctx); err != nil {
			return nil, err
		}
		took = append(took, watch.Now().Sub(start))
	}
	return took, nil
}

// quantile is the smallest duration that at least a share q does not exceed; 0
// when there are none.
func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[max(int(math.Ceil(q*float64(len(took))))-1, 0)]
}

// Serve answers commands, a line of JSON each, until in ends. The first line is
// the Setup that the clients are made with.
func Serve(ctx context.Context, in io.Reader, out io.Writer, build func(Setup) (Bench, error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.Join(errors.New("no setup came"), lines.Err())
	}
	var setup Setup
	if err := json.Unmarshal(lines.Bytes(), &setup); err != nil {
		return fmt.Errorf("read setup: %w", err)
	}
	b, err := build(setup)
	if err != nil {
		return err
	}
	for lines.Scan() {
		var c Command
		var r Result
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			r, err = b.Do(ctx, c)
		}
		if err != nil {
			r = Result{Error: err.Error()}
		}
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return lines.Err()
}

// Remote is a Bench in another program that runs Serve.
type Remote struct {
	in  io.Writer
	out *bufio.Scanner
}

// Dial sends the setup to a program's standard input.
func Dial(in io.Writer, out io.Reader, s Setup) (*Remote, error) {
	if err := json.NewEncoder(in).Encode(s); err != nil {
		return nil, fmt.Errorf("send setup: %w", err)
	}
	return &Remote{in: in, out: bufio.NewScanner(out)}, nil
}

// Do makes one measurement there.
func (r *Remote) Do(_ context.Context, c Command) (Result, error) {
	if err := json.NewEncoder(r.in).Encode(c); err != nil {
		return Result{}, fmt.Errorf("ask for a measurement: %w", err)
	}
	if !r.out.Scan() {
		return Result{}, errors.Join(errors.New("the program ended"), r.out.Err())
	}
	var res Result
	if err := json.Unmarshal(r.out.Bytes(), &res); err != nil {
		return Result{}, fmt.Errorf("read measurement: %w", err)
	}
	if res.Error != "" {
		return Result{}, errors.New(res.Error)
	}
	return res, nil
}
