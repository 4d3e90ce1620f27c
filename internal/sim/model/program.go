package model

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

// Faults a program may ask for.
const (
	faultRate      = "429"
	faultQuota     = "429_quota"
	faultServer    = "500"
	faultOverload  = "529"
	faultTimeout   = "timeout"
	faultJSON      = "invalid_json"
	faultRefusal   = "refusal"
	faultTruncated = "truncated"

	// Bad answers; see spoil.
	faultEmpty    = "empty"
	faultHTML     = "html"
	faultTrailing = "trailing_text"
	faultSchema   = "wrong_schema"
	faultStrings  = "numbers_as_strings"
	faultSeven    = "confidence_7"
	faultNaN      = "nan"
	faultHuge     = "huge"
	faultUTF8     = "invalid_utf8"
	faultTools    = "refusal_with_tool" // a refusal with a tool call beside it, whether or not tools were offered
)

func knownFaults() []string {
	return []string{
		faultRate, faultQuota, faultServer, faultOverload, faultTimeout, faultJSON, faultRefusal, faultTruncated,
		faultEmpty, faultHTML, faultTrailing, faultSchema, faultStrings, faultSeven, faultNaN, faultHuge, faultUTF8, faultTools,
	}
}

// Fault is how the next calls fail.
type Fault struct {
	Role       string  `json:"role,omitempty"` // empty: whichever comes next
	Fault      string  `json:"fault"`
	Times      int     `json:"times"`                 // 0 means 1
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds, on a 429; 0 sends no header
}

// Program makes the next calls fail. It returns fault.Invalid for a fault or a
// role that does not exist.
func (s *Simulator) Program(f Fault) error {
	switch {
	case !slices.Contains(knownFaults(), f.Fault):
		return fault.E(fault.Invalid, `"fault" must be one of `+strings.Join(knownFaults(), ", ")+".")
	case f.Role != "" && !slices.Contains(seams(), f.Role):
		return fault.E(fault.Invalid, `"role" must be one of `+strings.Join(seams(), ", ")+".")
	case f.Times < 0 || f.RetryAfter < 0:
		return fault.E(fault.Invalid, `"times" and "retry_after" must not be negative.`)
	}
	f.Times = max(1, f.Times)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
	return nil
}

// next takes the fault that applies to a call of a seam.
func (s *Simulator) next(role string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.Role != "" && f.Role != role {
			continue
		}
		f.Times--
		if f.Times == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return *f, true
	}
	return Fault{}, false
}

func (s *Simulator) program(w http.ResponseWriter, r *http.Request) {
	// The fault is a word, but 429 and 500 invite a number.
	var in struct {
		Role       string          `json:"role"`
		Fault      json.RawMessage `json:"fault"`
		Times      int             `json:"times"`
		RetryAfter float64         `json:"retry_after"`
	}
	if err := face.Read(w, r, &in); err != nil {
		face.Fail(w, err)
		return
	}
	f := Fault{Role: in.Role, Fault: strings.Trim(string(in.Fault), `"`), Times: in.Times, RetryAfter: in.RetryAfter}
	if err := s.Program(f); err != nil {
		face.Fail(w, err)
		return
	}
	f.Times = max(1, f.Times)
	face.Write(w, http.StatusOK, f)
}

func (s *Simulator) listCalls(w http.ResponseWriter, r *http.Request) {
	after, err := face.After(r)
	if err != nil {
		face.Fail(w, err)
		return
	}
	face.Write(w, http.StatusOK, s.Calls(int(after)))
}

// retryAfter sets the header a 429 may carry.
func (f Fault) retryAfter(h http.Header) {
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatFloat(f.RetryAfter, 'f', -1, 64))
	}
}
