package pesapal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/payment"
)

// tokenLife is how long a token lives where its answer does not say, margin how
// long before its end it is no longer used.
const (
	tokenLife = 5 * time.Minute
	margin    = 30 * time.Second
)

// kept is something fetched that is good for a while. Whoever fetches holds
// turn, so that many callers fetch once; it is a channel, so that a caller whose
// context ends stops waiting.
type kept struct {
	turn chan struct{}

	mu    sync.Mutex
	value string
	until time.Time
}

func newKept() *kept { return &kept{turn: make(chan struct{}, 1)} }

func (k *kept) current(now time.Time) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, k.value != "" && now.Before(k.until)
}

// get returns what is kept, fetched when there is nothing good.
func (k *kept) get(ctx context.Context, now time.Time, fetch func() (string, time.Time, error)) (string, error) {
	if v, ok := k.current(now); ok {
		return v, nil
	}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if v, ok := k.current(now); ok { // fetched while we waited
		return v, nil
	}
	v, until, err := fetch()
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value, k.until = v, until
	return v, nil
}

// drop forgets a refused value, unless another caller has replaced it.
func (k *kept) drop(value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value == value {
		k.value = ""
	}
}

// bearer returns a token. Its errors are RejectedErrors: without a token nothing
// has been asked for.
func (c *Client) bearer(ctx context.Context) (string, error) {
	token, err := c.token.get(ctx, c.cfg.Clock.Now(), func() (string, time.Time, error) {
		asked := c.cfg.Clock.Now()
		ans, err := c.exchange(ctx, http.MethodPost, "/api/Auth/RequestToken", "", map[string]string{
			"consumer_key": c.cfg.ConsumerKey, "consumer_secret": c.cfg.ConsumerSecret,
		})
		if err != nil {
			return "", asked, err
		}
		if !ans.ok() || ans.body.Token == "" {
			return "", asked, &payment.RejectedError{
				Code: "token", Detail: fmt.Sprintf("PesaPal gave no token: HTTP %d %s", ans.status, ans.rejection().Code),
				Transient: ans.status >= 500 || ans.status == http.StatusTooManyRequests,
			}
		}
		until := asked.Add(tokenLife)
		if said, err := time.Parse(time.RFC3339, string(ans.body.ExpiryDate)); err == nil && said.Before(until) {
			until = said
		}
		return string(ans.body.Token), until.Add(-margin), nil
	})
	if refused, ok := errors.AsType[*payment.RejectedError](err); ok {
		return "", refused
	}
	if err != nil {
		return "", &payment.RejectedError{Code: "token", Detail: err.Error(), Transient: true}
	}
	return token, nil
}
