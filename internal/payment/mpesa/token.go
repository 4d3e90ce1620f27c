package mpesa

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/payment"
)

// margin is how long before its end a token is no longer used.
const margin = time.Minute

// tokens keeps the access token. Whoever fetches a new one holds turn, so that
// many callers fetch one; it is a channel, so that a caller whose context ends
// stops waiting.
type tokens struct {
	turn chan struct{}

	mu     sync.Mutex
	value  string
	useTil time.Time
}

func newTokens() tokens { return tokens{turn: make(chan struct{}, 1)} }

func (t *tokens) current(now time.Time) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value, t.value != "" && now.Before(t.useTil)
}

func (t *tokens) keep(value string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value, t.useTil = value, until
}

// drop forgets a refused token, unless another caller has replaced it.
func (t *tokens) drop(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == value {
		t.value = ""
	}
}

// bearer returns a token and whether it was fetched just now. Its errors are
// RejectedErrors: without a token nothing has been asked for.
func (c *Client) bearer(ctx context.Context) (token string, fresh bool, err error) {
	if v, ok := c.token.current(c.cfg.Clock.Now()); ok {
		return v, false, nil
	}
	select {
	case c.token.turn <- struct{}{}:
		defer func() { <-c.token.turn }()
	case <-ctx.Done():
		return "", false, &payment.RejectedError{Code: "token", Detail: ctx.Err().Error(), Transient: true}
	}
	if v, ok := c.token.current(c.cfg.Clock.Now()); ok { // fetched while we waited
		return v, false, nil
	}
	asked := c.cfg.Clock.Now()
	ans, err := c.exchange(ctx, http.MethodGet, "/oauth/v1/generate?grant_type=client_credentials", nil, func(r *http.Request) {
		r.SetBasicAuth(c.cfg.ConsumerKey, c.cfg.ConsumerSecret)
	})
	if err != nil {
		return "", false, &payment.RejectedError{Code: "token", Detail: err.Error(), Transient: true}
	}
	if !ans.ok() || ans.body.AccessToken == "" {
		return "", false, &payment.RejectedError{
			Code:      "token",
			Detail:    fmt.Sprintf("Daraja gave no token: HTTP %d %s", ans.status, bounded(ans.body.ErrorCode)),
			Transient: ans.status >= 500 || ans.status == http.StatusTooManyRequests,
		}
	}
	life, err := strconv.Atoi(string(ans.body.ExpiresIn))
	if err != nil || life < 0 {
		life = 0 // of unknown life: good for this once
	}
	value := string(ans.body.AccessToken)
	c.token.keep(value, asked.Add(time.Duration(life)*time.Second-margin))
	return value, true, nil
}
