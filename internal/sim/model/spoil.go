package model

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// notUTF8 stands for a byte that is no UTF-8 until the response is written.
const notUTF8 = "\uE000"

// hugeAnswer is how much a model writes that does not stop.
const hugeAnswer = 1 << 20

var (
	anyNumber     = regexp.MustCompile(`:(-?\d+(?:\.\d+)?)`)
	anyConfidence = regexp.MustCompile(`("confidence"):-?\d+(?:\.\d+)?`)
)

// spoil writes an answer as a model does that keeps to the protocol and not to
// what it was asked.
func spoil(programmed, answer string) (string, bool) {
	switch programmed {
	case faultEmpty:
		return "", true
	case faultTrailing:
		return answer + "\n\nI hope this helps!", true
	case faultSchema:
		return `{"colour":"blue","sure":true}`, true
	case faultStrings:
		return anyNumber.ReplaceAllString(answer, `:"$1"`), true
	case faultSeven:
		return anyConfidence.ReplaceAllString(answer, `$1:7`), true
	case faultNaN:
		return anyConfidence.ReplaceAllString(answer, `$1:NaN`), true
	case faultHuge:
		return `{"reasoning":"` + strings.Repeat("and ", hugeAnswer/4) + `"}`, true
	case faultUTF8:
		if before, after, ok := strings.Cut(answer, `":"`); ok {
			return before + `":"` + notUTF8 + after, true
		}
		return notUTF8 + answer, true
	}
	return "", false
}

// writeHTML answers as a proxy in front of a vendor may: all is well, and not
// the protocol.
func (s *Simulator) writeHTML(w http.ResponseWriter, q question) {
	s.remember(Call{Provider: q.provider, Model: q.model, Role: q.seam(), Status: http.StatusOK, Fault: faultHTML, Text: q.customer()})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><html><body><h1>We will be back soon</h1></body></html>")
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the simulator cannot write its answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(bytes.ReplaceAll(raw, []byte(notUTF8), []byte{0xff}), '\n')) // The client has gone; nobody is left to tell.
}
