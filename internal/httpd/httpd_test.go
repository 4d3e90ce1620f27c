package httpd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/httpd"
)

// intake notes what it is given and answers with err.
type intake struct {
	err   error
	got   []string
	store func(ctx context.Context)
}

func (i *intake) take(ctx context.Context, parts ...string) error {
	if i.store != nil {
		i.store(ctx)
	}
	i.got = parts
	return i.err
}

func (i *intake) Meta(ctx context.Context, signature string, body []byte) error {
	return i.take(ctx, "meta", signature, string(body))
}

func (i *intake) MetaChallenge(q url.Values) (string, error) { return q.Get("hub.challenge"), i.err }

func (i *intake) Dialog360(ctx context.Context, secret, signature string, body []byte) error {
	return i.take(ctx, "360dialog", secret, signature, string(body))
}

func (i *intake) Daraja(ctx context.Context, token string, body []byte) error {
	return i.take(ctx, "daraja", token, string(body))
}

func (i *intake) Slack(ctx context.Context, timestamp, signature string, body []byte) error {
	return i.take(ctx, "slack", timestamp, signature, string(body))
}

func (i *intake) Feed(ctx context.Context, token string) ([]byte, error) {
	return []byte("BEGIN:VCALENDAR\r\n"), i.take(ctx, "feed", token)
}

func (i *intake) Pesapal(ctx context.Context, query url.Values, body []byte) (any, error) {
	return map[string]int{"status": http.StatusOK}, i.take(ctx, "pesapal", query.Encode(), string(body))
}

func (i *intake) Ready(context.Context) error { return i.err }

func serve(i *intake, r *http.Request) (*httptest.ResponseRecorder, string) {
	var log bytes.Buffer
	w := httptest.NewRecorder()
	httpd.New(i, slog.New(slog.NewJSONHandler(&log, nil))).ServeHTTP(w, r)
	return w, log.String()
}

var webhooks = []string{"/webhooks/whatsapp", "/webhooks/360dialog/s3cret", "/webhooks/daraja/t0ken", "/webhooks/slack"}

func TestP1StoredBeforeAcknowledged(t *testing.T) {
	t.Parallel()
	for _, path := range webhooks {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			i := &intake{store: func(ctx context.Context) {
				if w.Body.Len() > 0 || w.Flushed {
					t.Error("the webhook was answered before it was stored")
				}
				if _, ok := ctx.Deadline(); !ok {
					t.Error("storing has no deadline")
				}
			}}
			h := httpd.New(i, slog.New(slog.DiscardHandler))
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}")))
			if w.Code != http.StatusOK || i.got == nil {
				t.Errorf("stored: %d, want 200", w.Code)
			}
			for _, err := range []error{
				errors.New("disk full"), context.DeadlineExceeded, fault.E(fault.Unavailable, "Busy."), fault.E(fault.Conflict, "No."), fault.E(fault.Invalid, "No."),
			} {
				w, log := serve(&intake{err: err}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}")))
				if w.Code != http.StatusServiceUnavailable {
					t.Errorf("%v: got %d, want 503 so that it is delivered again", err, w.Code)
				}
				if strings.Contains(w.Body.String(), "disk full") {
					t.Errorf("the sender reads the cause: %s", w.Body)
				}
				if strings.Contains(log, "t0ken") || strings.Contains(log, "s3cret") {
					t.Errorf("a secret is in the log: %s", log)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]int{
		fault.Unauthorized: http.StatusUnauthorized, fault.NotFound: http.StatusNotFound, fault.RateLimited: http.StatusTooManyRequests,
	} {
		w, log := serve(&intake{err: fault.E(code, "Not you.")}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhooks[0], http.NoBody))
		if w.Code != want || w.Body.String() != "Not you.\n" || !strings.Contains(log, `"code":"`+string(code)) {
			t.Errorf("%s: got %d %q, log %s", code, w.Code, w.Body, log)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	for path, limit := range map[string]int{webhooks[0]: 3 << 20, webhooks[1]: 3 << 20, webhooks[2]: 64 << 10, webhooks[3]: 256 << 10} {
		for extra, want := range map[int]int{0: http.StatusOK, 1: http.StatusRequestEntityTooLarge} {
			i := &intake{}
			body := strings.Repeat("a", limit+extra)
			w, _ := serve(i, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
			if w.Code != want || (i.got == nil) == (extra == 0) {
				t.Errorf("%s with %d bytes: got %d, stored %v; want %d", path, len(body), w.Code, i.got != nil, want)
			}
		}
	}
	w, _ := serve(&intake{}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhooks[0], io.NopCloser(broken{})))
	if w.Code != http.StatusBadRequest {
		t.Errorf("a body that breaks off: got %d, want 400", w.Code)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhatReachesTheIntake(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		webhooks[0]: "meta sha256=ab {}", webhooks[1]: "360dialog s3cret sig {}", webhooks[2]: "daraja t0ken {}",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}"))
		r.Header.Set("X-Hub-Signature-256", "sha256=ab")
		r.Header.Set("X-360dialog-Signature", "sig")
		i := &intake{}
		w, _ := serve(i, r)
		if got := strings.Join(i.got, " "); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", path, w.Header())
		}
	}
}

func TestACalendarIsSentOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	get := func(i *intake, path, tag string) (*httptest.ResponseRecorder, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("If-None-Match", tag)
		return serve(i, r)
	}
	i := &intake{}
	w, _ := get(i, "/ics/route.s3cret.ics", "")
	if w.Code != http.StatusOK || w.Body.String() != "BEGIN:VCALENDAR\r\n" || w.Header().Get("Content-Type") != "text/calendar; charset=utf-8" ||
		strings.Join(i.got, " ") != "feed route.s3cret" {
		t.Errorf("%d %q %v of %v", w.Code, w.Body, w.Header(), i.got)
	}
	if again, _ := get(i, "/ics/route.s3cret.ics", w.Header().Get("Etag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("unchanged: %d %q", again.Code, again.Body)
	}
	if other, _ := get(&intake{}, "/ics/route.s3cret", ""); other.Code != http.StatusNotFound {
		t.Errorf("without its ending: %d", other.Code)
	}
	gone, log := get(&intake{err: fault.E(fault.NotFound, "No such calendar.")}, "/ics/route.s3cret.ics", "")
	if gone.Code != http.StatusNotFound || strings.Contains(log, "s3cret") {
		t.Errorf("one that is not there: %d, log %s", gone.Code, log)
	}
}

func TestDarajaIsAnsweredInItsOwnForm(t *testing.T) {
	t.Parallel()
	w, _ := serve(&intake{}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhooks[2], strings.NewReader("{}")))
	if got := strings.TrimSpace(w.Body.String()); got != `{"ResultCode":0,"ResultDesc":"Accepted"}` || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %s as %s", got, w.Header().Get("Content-Type"))
	}
}

func TestMethodsAndHealth(t *testing.T) {
	t.Parallel()
	down := errors.New("closed")
	tests := []struct {
		method, path string
		err          error
		want         int
		body         string
	}{
		{http.MethodGet, "/webhooks/whatsapp?hub.challenge=42", nil, 200, "42"},
		{http.MethodGet, "/webhooks/whatsapp?hub.challenge=42", fault.E(fault.Forbidden, "No."), 403, "No.\n"},
		{http.MethodGet, webhooks[1], nil, 405, ""},
		{http.MethodGet, webhooks[2], nil, 405, ""},
		{http.MethodPut, webhooks[0], nil, 405, ""},
		{http.MethodPost, "/webhooks/daraja/", nil, 404, ""},
		{http.MethodPost, "/webhooks/unknown", nil, 404, ""},
		{http.MethodGet, "/healthz", down, 200, "ok\n"},
		{http.MethodGet, "/readyz", nil, 200, "ready\n"},
		{http.MethodGet, "/readyz", down, 503, "not ready\n"},
	}
	for _, tt := range tests {
		w, _ := serve(&intake{err: tt.err}, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody))
		if w.Code != tt.want || tt.body != "" && w.Body.String() != tt.body {
			t.Errorf("%s %s: got %d %q, want %d %q", tt.method, tt.path, w.Code, w.Body, tt.want, tt.body)
		}
	}
}
