package server

import (
	"context"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

// ClaimTurns is what the turns' pump does.
func (s *Server) ClaimTurns(ctx context.Context, id ids.TenantID) ([]coord.Job, error) {
	jobs, _, err := served{s, turnSource{s}}.Claim(ctx, id, 1)
	return jobs, err
}

// Router asks models.
func (s *Server) Router() *llm.Router { return s.models }
