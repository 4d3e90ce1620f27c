package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/turn"
)

// archivePause is how long an archive run that failed waits.
const archivePause = time.Minute

// archiveLog moves old handoff logs into a business's archive, a batch at a
// time, and says when it is due again.
func (s *Server) archiveLog(ctx context.Context, b *business, claim mailbox.Claim) {
	now := s.cfg.Clock.Now()
	chats, due, err := b.store.ArchiveLog(ctx, claim, now)
	if err == nil {
		if chats > 0 {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "handoff_log.archived", slog.String("tenant_id", string(b.tenant.ID)), slog.Int("chats", chats))
		}
		s.turns.Wake(b.tenant.ID, due)
		return
	}
	if errors.Is(err, turn.ErrLost) {
		return
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "handoff_log.archive_failed", slog.String("tenant_id", string(b.tenant.ID)), slog.String("error", err.Error()))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), archivePause)
	defer cancel()
	due = now.Add(archivePause)
	if err := b.store.Release(ctx, claim, due, true); err != nil && !errors.Is(err, turn.ErrLost) {
		return // the lease runs out, and another run goes on
	}
	s.turns.Wake(b.tenant.ID, due)
}
