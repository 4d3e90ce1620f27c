package courier_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script answers with the statuses given, then with 200; 0 is a broken line.
type script struct{ statuses []int }

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if len(s.statuses) > 0 {
		status, s.statuses = s.statuses[0], s.statuses[1:]
	}
	if status == 0 {
		return nil, errors.New("line broken")
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

func TestALetterIsRepeatedWithLongerPausesUntil200(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := courier.New(courier.Config{
			Client:  &http.Client{Transport: &script{statuses: []int{503, 0, 302, 500, 500, 500, 500, 500, 500}}},
			Backoff: time.Second,
		})
		begin := clock.Real{}.Now()
		var pauses []string
		var answers []courier.Answer
		ok := c.PostUntilOK(t.Context(), courier.Letter{URL: "http://product.invalid"}, func(a courier.Answer) {
			pauses = append(pauses, clock.Real{}.Now().Sub(begin).String())
			answers = append(answers, a)
		})
		if !ok {
			t.Error("the letter was given up")
		}
		want := []string{"0s", "1s", "3s", "7s", "15s", "31s", "1m1s", "1m31s", "2m1s", "2m31s"}
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Errorf("times of the attempts (-want +got):\n%s", diff)
		}
		if answers[0].Status != 503 || answers[0].Reason() != "" || !strings.Contains(answers[1].Reason(), "line broken") || answers[9].Attempt != 10 {
			t.Errorf("answers %+v", answers)
		}
	})
}

func TestStopEndsWorkAndWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := courier.New(courier.Config{Client: &http.Client{Transport: &script{}}})
		ended := false
		c.Go(func(ctx context.Context) {
			ended = !courier.Pause(ctx, time.Hour)
		})
		c.Stop()
		if !ended {
			t.Error("the pause was not cut short, or not waited for")
		}
		if c.Go(func(context.Context) {}) {
			t.Error("work was taken after Stop")
		}
		c.Stop()
	})
}

func TestAnAddressThatIsNoneIsAnAnswerToo(t *testing.T) {
	t.Parallel()
	c := courier.New(courier.Config{})
	defer c.Stop()
	if a := c.Post(t.Context(), courier.Letter{URL: ":"}); a.Err == nil {
		t.Errorf("posting to nowhere answered %+v", a)
	}
	if _, _, err := c.Get(t.Context(), ":", 1); err == nil {
		t.Error("getting from nowhere gave no error")
	}
}
