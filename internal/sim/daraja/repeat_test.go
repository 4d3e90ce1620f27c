package daraja_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/daraja"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// Where it is asked for, a callback is repeated until the product takes it.
func TestACallbackIsRepeatedWhereAskedFor(t *testing.T) {
	t.Parallel()
	for repeat, want := range map[bool]int32{true: 3, false: 1} {
		var posts atomic.Int32
		product := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if posts.Add(1) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		b := &bundle{t: t, clock: clock.NewFixed(noon), product: product}
		b.journal = journal.New(b.clock, 0)
		post := courier.New(courier.Config{Backoff: time.Millisecond})
		sim, err := daraja.New(daraja.Config{
			Clock: b.clock, Real: b.clock, Courier: post, Journal: b.journal, RepeatCallbacks: repeat,
			Shortcodes: []daraja.Shortcode{{Shortcode: shortcode, Passkey: passkey, ConsumerKey: "key", ConsumerSecret: "secret"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		sim.Routes(mux)
		b.server = httptest.NewServer(mux)
		b.login()
		// Its callback is posted before the answer, so that the answer ends the wait.
		b.ok("/sim/daraja/next", object{"outcome": "success", "when": "before_response"})
		b.prompt()
		if got := posts.Load(); got != want {
			t.Errorf("repeated %v: %d posts, want %d", repeat, got, want)
		}
		b.server.Close()
		post.Stop()
		product.Close()
	}
}
