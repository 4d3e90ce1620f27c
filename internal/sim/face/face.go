// Package face reads and writes the JSON of the laboratory's own face: the
// routes under /sim/ that people, pages and tests drive.
//
// Every refusal has one form, {"error":{"code","message"}}, with a message a
// person can act on. Bodies are bounded. Unknown fields are ignored, so that an
// older simulator accepts a newer test. The package imports only leaves.
package face

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
)

// BodyLimit is the largest request body the face reads, in bytes. It leaves
// room for a 16 MiB file in base64.
const BodyLimit = 24 << 20

// maxWait bounds a long poll.
const maxWait = 60 * time.Second

// Read decodes the request's JSON object into dst. It returns
// fault.TooLarge or fault.Invalid.
func Read(w http.ResponseWriter, r *http.Request, dst any) error { return read(w, r, dst, BodyLimit) }

func read(w http.ResponseWriter, r *http.Request, dst any, limit int64) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	if err := dec.Decode(dst); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return fault.Wrap(err, fault.TooLarge, fmt.Sprintf("The body is larger than %d bytes.", limit))
		}
		if errors.Is(err, io.EOF) {
			return fault.Wrap(err, fault.Invalid, "The body is empty; send a JSON object.")
		}
		return fault.Wrap(err, fault.Invalid, "The body is not the JSON object expected here: "+err.Error())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fault.E(fault.Invalid, "The body goes on after the JSON object.")
	}
	return nil
}

// Write answers with v as JSON.
func Write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // The client has gone; nobody is left to tell.
}

type problem struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Fail answers with err's code and sentence and the HTTP status that fits.
func Fail(w http.ResponseWriter, err error) {
	code := fault.CodeOf(err)
	Write(w, statusOf(code), map[string]problem{"error": {Code: code, Message: fault.SentenceOf(err)}})
}

func statusOf(code fault.Code) int {
	switch code {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Unauthorized:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
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

// Handle adapts a handler that answers with a value or an error.
func Handle(serve func(w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := serve(w, r)
		if err != nil {
			Fail(w, err)
			return
		}
		Write(w, http.StatusOK, v)
	}
}

// HangUp closes the connection without an answer: the caller cannot know what
// became of its request.
func HangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// The documented way to abort an answer where the connection cannot be taken over.
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}

// After reads the query parameter "after": the sequence number the caller has
// seen last, 0 when absent.
func After(r *http.Request) (int64, error) {
	raw := r.URL.Query().Get("after")
	if raw == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return 0, fault.Wrap(err, fault.Invalid, `"after" must be the number of the last entry seen.`)
	}
	return n, nil
}

// Wait reads the query parameter "wait": how many seconds a long poll may
// last. More than a minute counts as a minute.
func Wait(r *http.Request) (time.Duration, error) {
	raw := r.URL.Query().Get("wait")
	if raw == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(raw, 64)
	if err != nil || !(seconds >= 0) {
		return 0, fault.E(fault.Invalid, `"wait" must be a number of seconds.`)
	}
	if seconds >= maxWait.Seconds() {
		return maxWait, nil
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// Digits keeps the digits of a phone number or id. A Kenyan number in its
// local form (0712 345 678) gets its country code.
func Digits(s string) string {
	d := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
	if len(d) == 10 && d[0] == '0' {
		return "254" + d[1:]
	}
	return d
}
