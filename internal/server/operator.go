package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/fault"
)

// How often one address may come with a wrong token.
const (
	wrongEvery = 2 * time.Second
	wrongBurst = 30
)

// operator lets through whoever brings the operator's bearer token, compared in
// constant time. An installation without a token has no such API, and says no
// more than that.
func (s *Server) operator(next http.HandlerFunc) http.Handler {
	wrong := s.hot.Bucket("operator", coord.Rate{Every: wrongEvery, Burst: wrongBurst})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		token := s.cfg.Secrets(s.cfg.Settings.Operator.TokenEnv)
		if token == "" {
			problem(w, fault.E(fault.NotFound, "There is nothing here."))
			return
		}
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
		if ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
			next(w, r)
			return
		}
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		if wrong.Take(r.Context(), host, s.real.Now()) > 0 {
			problem(w, fault.E(fault.RateLimited, "Too many wrong tokens. Wait a minute."))
			return
		}
		s.cfg.Logger.LogAttrs(r.Context(), slog.LevelWarn, "operator.refused", slog.String("path", r.URL.Path))
		w.Header().Set("WWW-Authenticate", "Bearer")
		problem(w, fault.E(fault.Unauthorized, "The token is missing or wrong."))
	})
}

// problem answers with an error as JSON. What is internal stays inside.
func problem(w http.ResponseWriter, err error) {
	code := fault.CodeOf(err)
	asJSON(w, statusOf(code), map[string]any{"error": map[string]any{"code": code, "message": fault.SentenceOf(err)}})
}

// statusOf is the HTTP status of an error's code.
func statusOf(code fault.Code) int {
	switch code {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Unauthorized:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// asJSON answers with a value.
func asJSON(w http.ResponseWriter, status int, out any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // a caller that has gone needs no answer
}
