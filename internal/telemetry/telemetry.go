// Package telemetry writes the event log: one JSON line per event, with the
// keys of docs/events.md, every text through the redactor.
//
// An event is a slog record whose message is the event's type. The package
// adapts log/slog and imports only leaves.
package telemetry

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/redact"
)

// Keys whose values are identifiers or fixed words of ours, kept as they are.
var plain = []string{ //nolint:gochecknoglobals // a constant table.
	"tenant_id", "conversation_id", "turn_id", "outbox_id", "attempt_id", "stage", "tool", "digest", "signal", "kind", "origin",
	"class", "code", "model", "role", "prompt_version", "cost_usd", "ceiling_usd", "left_usd", "outcome", "node", "driver", "source",
	"call_id", "provider", "at", "addr",
}

// Log fans events out to a writer and to whoever watches.
type Log struct {
	redactor *redact.Redactor
	level    slog.Level

	mu       sync.Mutex
	out      io.Writer
	watchers map[chan []byte]struct{}
}

// New returns a log that writes to out.
func New(out io.Writer, level slog.Level, redactor *redact.Redactor) *Log {
	return &Log{redactor: redactor, level: level, out: out, watchers: map[chan []byte]struct{}{}}
}

// Logger returns the logger the product writes events with.
func (l *Log) Logger() *slog.Logger { return slog.New(&handler{log: l}) }

// watchBuffer is how many lines a slow watcher may lag before it misses some.
const watchBuffer = 512

// Watch returns every event line from now on until ctx ends. A watcher that
// does not keep up misses lines; the writer never waits for it.
func (l *Log) Watch(ctx context.Context) <-chan []byte {
	ch := make(chan []byte, watchBuffer)
	l.mu.Lock()
	l.watchers[ch] = struct{}{}
	l.mu.Unlock()
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, ch)
		close(ch)
	})
	return ch
}

func (l *Log) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(line, '\n')) // a log that cannot be written must not stop the product
	for ch := range l.watchers {
		select {
		case ch <- line:
		default:
		}
	}
}

// handler is a slog.Handler that writes one flat JSON object per record.
type handler struct {
	log   *Log
	attrs []slog.Attr
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.log.level }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{log: h.log, attrs: append(slices.Clone(h.attrs), attrs...)}
}

func (h *handler) WithGroup(string) slog.Handler { return h }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	event := map[string]any{
		"time": r.Time.UTC().Format(time.RFC3339Nano), "level": strings.ToLower(r.Level.String()), "event_type": r.Message,
	}
	add := func(a slog.Attr) bool {
		event[a.Key] = h.value(a)
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	line, err := json.Marshal(event)
	if err != nil {
		return err
	}
	h.log.write(line)
	return nil
}

func (h *handler) value(a slog.Attr) any {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindBool:
		return v.Any()
	case slog.KindDuration:
		return v.Duration().String()
	case slog.KindTime:
		return v.Time().UTC().Format(time.RFC3339Nano)
	case slog.KindString, slog.KindAny, slog.KindGroup, slog.KindLogValuer:
	}
	if slices.Contains(plain, a.Key) {
		return v.String()
	}
	return h.log.redactor.Text(v.String())
}
