package demo_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/sim/model"
)

// overheard is a simulated model that keeps what it is asked.
type overheard struct {
	http.Handler

	mu    sync.Mutex
	asked []string
}

func (o *overheard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	o.asked = append(o.asked, string(raw))
	o.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	o.Handler.ServeHTTP(w, r)
}

// classifications are what the intent was asked with, since the last time.
func (o *overheard) classifications() (out []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, raw := range o.asked {
		if strings.Contains(raw, "You sort the messages") {
			out = append(out, raw)
		}
	}
	o.asked = nil
	return out
}

// A model is told how it did, from what was read at most once in ten minutes,
// and nothing while nothing is known.
func TestAModelIsToldItsTrackRecord(t *testing.T) {
	t.Parallel()
	simulated, err := model.New(model.Config{Clock: clock.NewFixed(monday)})
	if err != nil {
		t.Fatal(err)
	}
	vendor := &overheard{Handler: simulated}
	srv := httptest.NewServer(vendor)
	t.Cleanup(srv.Close)
	w := newWorld(t, func(o *demo.Options) { o.Models = srv.URL })
	for i, step := range []struct {
		after time.Duration
		told  string
	}{
		{time.Second, ""},
		{time.Second, ""}, // the same ten minutes: what was read first stands
		{11 * time.Minute, "In the last seven days you gave 2 such answers. They said: question (100%)."},
		{8 * 24 * time.Hour, ""}, // a week on, nothing of it counts
	} {
		w.advance(step.after)
		w.phone(fmt.Sprintf("+25470000000%d", i)).say("which of those would suit the cousin then?")
		ctxIdle(t, w)
		asked := vendor.classifications()
		if len(asked) != 1 {
			t.Fatalf("after %s the intent was asked for %d times", step.after, len(asked))
		}
		if got := strings.Contains(asked[0], "seven days"); got != (step.told != "") || !strings.Contains(asked[0], step.told) {
			t.Errorf("after %s it is told %s, want %q", step.after, asked[0], step.told)
		}
	}
}
