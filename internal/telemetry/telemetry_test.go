package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/telemetry"
)

func TestP14EveryTextOfAnEventIsRedacted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.New(&out, slog.LevelInfo, redact.New("Otieno")).Logger().With(slog.String("tenant_id", "01JZ8Y3QK6M2N4P5R7S9T0V1W3"))
	log.Debug("too.quiet")
	log.Info("turn.committed", slog.String("detail", "Otieno 0722000001"), slog.Any("error", errors.New("no a@b.co")), slog.Int("code", 131047),
		slog.String("model", "m-20260401"), slog.Bool("ok", true), slog.Duration("took", 1500*time.Millisecond),
		slog.Time("since", time.Date(2026, 4, 25, 12, 0, 0, 0, time.FixedZone("EAT", 3*3600))))
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("want one line of JSON, got %s: %v", &out, err)
	}
	delete(got, "time")
	want := map[string]any{
		"level": "info", "event_type": "turn.committed", "tenant_id": "01JZ8Y3QK6M2N4P5R7S9T0V1W3", "detail": "<name> <phone>", "error": "no <email>",
		"code": 131047.0, "model": "m-20260401", "ok": true, "took": "1.5s", "since": "2026-04-25T09:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	l := telemetry.New(&bytes.Buffer{}, slog.LevelInfo, redact.New())
	ctx, cancel := context.WithCancel(t.Context())
	lines := l.Watch(ctx)
	for range 600 { // more than a watcher may lag: the writer does not wait
		l.Logger().Info("tick")
	}
	if line := <-lines; !json.Valid(line) {
		t.Errorf("got %s", line)
	}
	cancel()
	for range lines { // ends, because the channel is closed
	}
	l.Logger().Info("tock")
}
