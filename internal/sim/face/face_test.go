package face_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

func TestFaultsHaveOneForm(t *testing.T) {
	t.Parallel()
	for code, status := range map[fault.Code]int{
		fault.Invalid: 400, fault.NotFound: 404, fault.Conflict: 409, fault.Unauthorized: 401, fault.Forbidden: 403,
		fault.TooLarge: 413, fault.RateLimited: 429, fault.Unavailable: 503,
	} {
		w := httptest.NewRecorder()
		face.Fail(w, fault.E(code, "No <b>."))
		want := `{"error":{"code":"` + string(code) + `","message":"No <b>."}}`
		if w.Code != status || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s, want %d %s", code, w.Code, w.Body, status, want)
		}
	}
	w := httptest.NewRecorder()
	face.Handle(func(http.ResponseWriter, *http.Request) (any, error) { return nil, errors.New("disk full") })(w, nil)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "disk") {
		t.Errorf("an internal error is told as %d %s", w.Code, w.Body)
	}
}

func TestBodiesAreOneBoundedObject(t *testing.T) {
	t.Parallel()
	read := func(body string) error {
		var dst struct {
			N int `json:"n"`
		}
		return face.ReadAtMost(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), &dst, 1000)
	}
	if err := read(`{"n":1,"unknown":true}`); err != nil {
		t.Errorf("an unknown field is refused: %v", err)
	}
	for body, want := range map[string]fault.Code{
		``: fault.Invalid, `{`: fault.Invalid, `{"n":"x"}`: fault.Invalid, `{} {}`: fault.Invalid,
		`{"x":"` + strings.Repeat("x", 1000) + `"}`: fault.TooLarge,
	} {
		if err := read(body); fault.CodeOf(err) != want {
			t.Errorf("%.20q: %v, want %s", body, err, want)
		}
	}
}

func TestQueryParameters(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{"": 0, "wait=2": 2 * time.Second, "wait=0.5": 500 * time.Millisecond, "wait=1e9": time.Minute} {
		if got, err := face.Wait(httptest.NewRequest(http.MethodGet, "/?"+query, nil)); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", query, got, err, want)
		}
	}
	for phone, want := range map[string]string{
		"+254 700-000 101": "254700000101", "0700000101": "254700000101", "abc": "", "254700000101": "254700000101",
	} {
		if got := face.Digits(phone); got != want {
			t.Errorf("Digits(%q) = %q, want %q", phone, got, want)
		}
	}
}
