package server

import (
	"context"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/ids"
)

// ClaimTurns is what the turns' pump does.
func (s *Server) ClaimTurns(ctx context.Context, id ids.TenantID) ([]coord.Job, error) {
	jobs, _, err := served{s, turnSource{s}}.Claim(ctx, id, 1)
	return jobs, err
}
