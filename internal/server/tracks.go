package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
)

// A track record covers trackSpan and ends at a whole trackEvery of the
// product's clock: until the next one prompts stay the same, and so does a
// question that a turn asks again after a crash.
const (
	trackSpan  = 7 * 24 * time.Hour
	trackEvery = 10 * time.Minute
)

// tracks implements understand.Tracks.
type tracks struct{ s *Server }

// trackCache is what was read last of one business, by role.
type trackCache struct {
	mu    sync.Mutex
	known map[llm.Role]track
}

type track struct {
	until time.Time
	prompt.Track
}

// Track implements understand.Tracks. The first who asks after a trackEvery
// reads; who asks meanwhile gets what was known before.
func (t tracks) Track(ctx context.Context, id ids.TenantID, role llm.Role) prompt.Track {
	b, err := t.s.business(id)
	if err != nil {
		return prompt.Track{}
	}
	until := t.s.cfg.Clock.Now().Truncate(trackEvery)
	c := &b.tracks
	c.mu.Lock()
	old := c.known[role]
	if old.until.Equal(until) {
		c.mu.Unlock()
		return old.Track
	}
	if c.known == nil {
		c.known = map[llm.Role]track{}
	}
	c.known[role] = track{until, old.Track}
	c.mu.Unlock()

	fresh, err := b.store.TrackRecord(ctx, role, "intent", until.Add(-trackSpan), until)
	if err != nil {
		// What was known goes on until the next time.
		t.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "models.track_unread", slog.String("tenant_id", string(id)),
			slog.String("role", string(role)), slog.String("error", err.Error()))
		return old.Track
	}
	if role != llm.IntentClassifier {
		fresh.Checked, fresh.Right = 0, 0 // only classifications are marked when they were wrong
	}
	c.mu.Lock()
	c.known[role] = track{until, fresh}
	c.mu.Unlock()
	return fresh
}
