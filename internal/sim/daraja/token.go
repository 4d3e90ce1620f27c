package daraja

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/sim/face"
)

// tokenLife is what expires_in says, in seconds as a string: "3599".
const tokenLife = 3599 * time.Second

type token struct {
	consumerKey string
	until       time.Time // by the product's clock
}

// apiError is Daraja's error body.
type apiError struct {
	HTTP      int    `json:"-"`
	RequestID string `json:"requestId"`
	Code      string `json:"errorCode"`
	Message   string `json:"errorMessage"`
}

func (e *apiError) write(w http.ResponseWriter) { face.Write(w, e.HTTP, e) }

func badRequest(what string) *apiError {
	return &apiError{HTTP: http.StatusBadRequest, RequestID: newRequestID(), Code: "400.002.02", Message: "Bad Request - Invalid " + what}
}

func serverError(code, message string) *apiError {
	return &apiError{HTTP: http.StatusInternalServerError, RequestID: newRequestID(), Code: code, Message: message}
}

// generateToken serves GET /oauth/v1/generate.
func (s *Simulator) generateToken(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("grant_type") != "client_credentials" {
		e := &apiError{HTTP: http.StatusBadRequest, RequestID: newRequestID(), Code: "400.008.02", Message: "Invalid grant type passed"}
		e.write(w)
		return
	}
	key, secret, ok := r.BasicAuth()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || !s.knownConsumer(key, secret) {
		e := &apiError{HTTP: http.StatusBadRequest, RequestID: newRequestID(), Code: "400.008.01", Message: "Invalid Authentication passed"}
		e.write(w)
		return
	}
	now := s.clock.Now()
	for t, held := range s.tokens {
		if !now.Before(held.until) {
			delete(s.tokens, t)
		}
	}
	text := rand.Text() + rand.Text()[:2]
	s.tokens[text] = token{consumerKey: key, until: now.Add(tokenLife)}
	face.Write(w, http.StatusOK, map[string]string{"access_token": text, "expires_in": "3599"})
}

func (s *Simulator) knownConsumer(key, secret string) bool {
	for _, c := range s.shortcodes {
		if c.ConsumerKey == key && subtle.ConstantTimeCompare([]byte(c.ConsumerSecret), []byte(secret)) == 1 {
			return true
		}
	}
	return false
}

// authorise checks the bearer token and returns whose it is. Documents disagree
// on the code for a bad token; this is the one that is not a 401, so that a
// client which only looks for 401 is found out. Callers hold mu.
func (s *Simulator) authorise(r *http.Request) (consumerKey string, e *apiError) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", &apiError{HTTP: http.StatusNotFound, RequestID: newRequestID(), Code: "404.001.04", Message: "Invalid Authentication Header"}
	}
	held, ok := s.tokens[text]
	if !ok || !s.clock.Now().Before(held.until) {
		return "", &apiError{HTTP: http.StatusNotFound, RequestID: newRequestID(), Code: "404.001.03", Message: "Invalid Access Token"}
	}
	return held.consumerKey, nil
}

// faceExpireTokens ends every token at once.
func (s *Simulator) faceExpireTokens(http.ResponseWriter, *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.tokens)
	clear(s.tokens)
	return map[string]int{"expired": n}, nil
}
