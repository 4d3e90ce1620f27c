package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratiba/ratiba/internal/fault"
)

// Bounds of what clients may do over HTTP; real time.
const (
	maxBody     = 1 << 20
	maxSessions = 64
	idle        = 15 * time.Minute
)

// HTTPConfig configures Handler.
type HTTPConfig struct {
	// Open returns the counter of the business that a request names, or a fault.
	Open func(r *http.Request) (Counter, error)
	// Admin returns whose token it is, for the business that the request names. A
	// token nobody has, and one that was revoked, is a fault.
	Admin  func(ctx context.Context, r *http.Request, token string) (string, error)
	Logger *slog.Logger
}

// Handler serves admins over streamable HTTP. Every request carries the admin's
// token, which is looked at each time, so that a revoked one ends its sessions.
// Browsers' pages are refused: a request with an Origin has no business here.
func Handler(cfg HTTPConfig) http.Handler {
	live := &sessions{}
	streams := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		who := auth.TokenInfoFromContext(r.Context())
		c, err := cfg.Open(r)
		if who == nil || err != nil || !live.room() {
			return nil
		}
		s, err := server(r.Context(), c, who.Extra["admin"].(string)) //nolint:forcetypeassert // set below, and by nobody else
		if err != nil {
			return nil
		}
		live.add(s)
		return s
	}, &sdk.StreamableHTTPOptions{MaxRequestBodyBytes: maxBody, SessionTimeout: idle, Logger: cfg.Logger})
	verify := func(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		admin, err := cfg.Admin(ctx, r, token)
		if err != nil && fault.CodeOf(err) != fault.Internal {
			return nil, auth.ErrInvalidToken // which of the two is wrong is nobody's business
		}
		if err != nil {
			return nil, err
		}
		// A session is its admin's, of its business, alone.
		return &auth.TokenInfo{UserID: r.URL.Path + "\n" + admin, Extra: map[string]any{"admin": admin}}, nil
	}
	guarded := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(streams)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			http.Error(w, "requests of web pages are refused", http.StatusForbidden)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// sessions counts the servers that somebody talks to.
type sessions struct {
	mu   sync.Mutex
	live []*sdk.Server
}

// room reports whether one more may begin. Those that ended are let go.
func (s *sessions) room() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var live []*sdk.Server
	for i, v := range s.live {
		used := i == len(s.live)-1 // the last one may not have begun yet
		for range v.Sessions() {
			used = true
			break
		}
		if used {
			live = append(live, v)
		}
	}
	s.live = live
	return len(live) < maxSessions
}

func (s *sessions) add(v *sdk.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = append(s.live, v)
}
