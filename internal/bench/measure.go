package bench

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sample is one thing that took its time, ended at at.
type sample struct {
	at   time.Time
	took time.Duration
}

// series collects samples. It is safe for concurrent use.
type series struct {
	mu  sync.Mutex
	all []sample
}

func (s *series) add(at time.Time, took time.Duration) {
	s.mu.Lock()
	s.all = append(s.all, sample{at, took})
	s.mu.Unlock()
}

// within returns, in ascending order, how long what ended in [from, until) took.
func (s *series) within(from, until time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for _, x := range s.all {
		if !x.at.Before(from) && x.at.Before(until) {
			out = append(out, x.took)
		}
	}
	slices.Sort(out)
	return out
}

// quantile is the smallest of sorted durations that at least a share q of them
// does not exceed, in milliseconds; 0 when there are none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := max(int(math.Ceil(q*float64(len(sorted))))-1, 0)
	return milliseconds(sorted[i])
}

func milliseconds(d time.Duration) float64 { return round(float64(d.Microseconds()) / 1000) }

// rate is how many there were in a second of a span.
func rate(n int, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return round(float64(n) / span.Seconds())
}

// round keeps three digits after the point, which is more than any figure means.
func round(f float64) float64 { return math.Round(f*1000) / 1000 }

// cpuTime is what this process has used of all cores.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the process's time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// busy is the machine's load average over the last minute: above the number of
// cores, others took time from what was measured. It is 0 where there is none.
func busy() float64 {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(raw), " ")
	f, _ := strconv.ParseFloat(first, 64)
	return f
}

// resident is the memory of this process that is in RAM, in MiB.
func resident() (float64, error) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read the process's memory: %w", err)
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0, fmt.Errorf("read the process's memory: %q", raw)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the process's memory: %w", err)
	}
	return round(float64(pages*int64(os.Getpagesize())) / (1 << 20)), nil
}
