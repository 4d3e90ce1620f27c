// Package httpd is the product's HTTP face: webhooks of the providers, calendars
// to subscribe to, and health.
//
// A webhook is verified on its raw body, stored, and answered 200 only once
// what it brought is durable; nothing slow runs before the answer. What cannot
// be read goes into quarantine and is answered 200, because a provider would
// otherwise send it for days. Bodies are bounded. The package declares the
// small interface it needs and imports no store.
package httpd

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the page payers come back to
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
)

// maxBody bounds a webhook's body (Meta sends up to 3 MB), maxCallback one of
// a payment provider, maxTap one of Slack.
const (
	maxBody     = 3 << 20
	maxCallback = 64 << 10
	maxTap      = 256 << 10 // a card comes back with what is tapped on it
)

// storeTime bounds how long a webhook may wait to be stored, real time.
const storeTime = 10 * time.Second

// tapTime is the same for Slack, which shows who tapped a failure after 3 s.
const tapTime = 2500 * time.Millisecond

// Intake stores what providers deliver. It is safe for concurrent use.
// fault.Unauthorized means that nothing was stored because the sender is not
// who it claims to be; any other error that the delivery must be repeated.
type Intake interface {
	// Meta stores a signed webhook of the Cloud API.
	Meta(ctx context.Context, signature string, body []byte) error
	// MetaChallenge answers the subscription handshake.
	MetaChallenge(query url.Values) (string, error)
	// Dialog360 stores a webhook of 360dialog that came to the path with secret.
	Dialog360(ctx context.Context, secret, signature string, body []byte) error
	// Daraja stores the callback that came to the path with token.
	Daraja(ctx context.Context, token string, body []byte) error
	// Slack stores a signed interaction.
	Slack(ctx context.Context, timestamp, signature string, body []byte) error
	// Feed returns the calendar that the path with token leads to.
	Feed(ctx context.Context, token string) ([]byte, error)
	// Pesapal notes that somebody claims news of an order, and returns the JSON
	// that acknowledges it. Nothing of the claim is believed.
	Pesapal(ctx context.Context, query url.Values, body []byte) (any, error)
	// Ready reports whether deliveries can be stored now.
	Ready(ctx context.Context) error
}

// New returns the product's handler.
func New(in Intake, log *slog.Logger) http.Handler {
	h := handler{in: in, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /webhooks/whatsapp", h.challenge)
	mux.HandleFunc("POST /webhooks/whatsapp", h.meta)
	mux.HandleFunc("POST /webhooks/360dialog/{secret}", h.dialog360)
	mux.HandleFunc("POST /webhooks/daraja/{token}", h.daraja)
	mux.HandleFunc("POST /webhooks/slack", h.slack)
	mux.HandleFunc("GET /ics/{file}", h.feed)
	mux.HandleFunc("GET /webhooks/pesapal/ipn", h.pesapal)
	mux.HandleFunc("POST /webhooks/pesapal/ipn", h.pesapal)
	mux.HandleFunc("GET /webhooks/pesapal/return", returned)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
	return secure(mux)
}

// secure sets the headers every answer carries.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

type handler struct {
	in  Intake
	log *slog.Logger
}

func (h handler) challenge(w http.ResponseWriter, r *http.Request) {
	challenge, err := h.in.MetaChallenge(r.URL.Query())
	if err != nil {
		answer(w, http.StatusForbidden, fault.SentenceOf(err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, challenge) //nolint:gosec // plain text that nothing may sniff: no browser renders it.
}

func (h handler) meta(w http.ResponseWriter, r *http.Request) {
	h.store(w, r, maxBody, func(ctx context.Context, body []byte) error {
		return h.in.Meta(ctx, r.Header.Get("X-Hub-Signature-256"), body)
	})
}

func (h handler) dialog360(w http.ResponseWriter, r *http.Request) {
	h.store(w, r, maxBody, func(ctx context.Context, body []byte) error {
		return h.in.Dialog360(ctx, r.PathValue("secret"), r.Header.Get("X-360dialog-Signature"), body)
	})
}

// daraja answers in Safaricom's form. The token is a secret and is in no log.
func (h handler) daraja(w http.ResponseWriter, r *http.Request) {
	body, ok := h.body(w, r, maxCallback)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTime)
	defer cancel()
	if err := h.in.Daraja(ctx, r.PathValue("token"), body); err != nil {
		h.failed(w, r, "daraja", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ResultCode": 0, "ResultDesc": "Accepted"})
}

// slack answers with nothing: Slack would show whatever it is told.
func (h handler) slack(w http.ResponseWriter, r *http.Request) {
	body, ok := h.body(w, r, maxTap)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), tapTime)
	defer cancel()
	if err := h.in.Slack(ctx, r.Header.Get("X-Slack-Request-Timestamp"), r.Header.Get("X-Slack-Signature"), body); err != nil {
		h.failed(w, r, "slack", err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// feed answers a calendar program. The token is a secret and is in no log.
func (h handler) feed(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutSuffix(r.PathValue("file"), ".ics")
	ctx, cancel := context.WithTimeout(r.Context(), storeTime)
	defer cancel()
	body, err := []byte(nil), error(fault.E(fault.NotFound, "No such calendar."))
	if ok {
		body, err = h.in.Feed(ctx, token)
	}
	if err != nil {
		h.failed(w, r, "ics", err)
		return
	}
	sum := sha256.Sum256(body)
	w.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	w.Header().Set("Cache-Control", "private, max-age=300")
	w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // answers 304 by the tag
}

// pesapal answers in PesaPal's form: what is not acknowledged so is sent again.
func (h handler) pesapal(w http.ResponseWriter, r *http.Request) {
	body, ok := h.body(w, r, maxCallback)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTime)
	defer cancel()
	ack, err := h.in.Pesapal(ctx, r.URL.Query(), body)
	if err != nil {
		h.failed(w, r, "pesapal", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(ack)
}

//go:embed returned.html
var returnedPage string

// returned is where a payer's browser comes back to from a page of payment. It
// is told nothing there that anybody could have made up: the chat says whether
// the payment came.
func returned(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	_, _ = io.WriteString(w, returnedPage)
}

func (h handler) store(w http.ResponseWriter, r *http.Request, limit int64, fn func(ctx context.Context, body []byte) error) {
	body, ok := h.body(w, r, limit)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTime)
	defer cancel()
	if err := fn(ctx, body); err != nil {
		h.failed(w, r, "whatsapp", err)
		return
	}
	answer(w, http.StatusOK, "ok")
}

func (h handler) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		h.log.LogAttrs(r.Context(), slog.LevelWarn, "webhook.refused", slog.String("code", string(fault.TooLarge)))
		answer(w, http.StatusRequestEntityTooLarge, "The body is too large.")
		return nil, false
	}
	if err != nil {
		answer(w, http.StatusBadRequest, "The body could not be read.")
		return nil, false
	}
	return body, true
}

// failed refuses a delivery that is not genuine and asks for a repetition of
// one that could not be stored.
func (h handler) failed(w http.ResponseWriter, r *http.Request, source string, err error) {
	code := fault.CodeOf(err)
	status := http.StatusServiceUnavailable
	switch code {
	case fault.Unauthorized:
		status = http.StatusUnauthorized
	case fault.NotFound:
		status = http.StatusNotFound
	case fault.RateLimited:
		status = http.StatusTooManyRequests
	case fault.Internal, fault.Invalid, fault.Conflict, fault.Forbidden, fault.TooLarge, fault.Unavailable:
	}
	level := slog.LevelWarn
	if status == http.StatusServiceUnavailable {
		level = slog.LevelError
	}
	h.log.LogAttrs(r.Context(), level, "webhook.refused", slog.String("source", source), slog.String("code", string(code)),
		slog.String("error", err.Error()))
	answer(w, status, fault.SentenceOf(err))
}

func (h handler) ready(w http.ResponseWriter, r *http.Request) {
	if err := h.in.Ready(r.Context()); err != nil {
		answer(w, http.StatusServiceUnavailable, "not ready")
		return
	}
	answer(w, http.StatusOK, "ready")
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") //nolint:gosec // plain text that nothing may sniff: no browser renders it.
}
