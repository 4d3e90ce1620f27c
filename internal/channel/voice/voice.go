// Package voice is the form in which a telephone gateway and the product talk:
// signed events of a call come in, what to say and whether to hang up goes back.
//
// The gateway does speech; the product gets words and gives words. Parse bounds
// and checks what comes; Speech makes of a message what can be said aloud. The
// package keeps nothing and logs nothing. It imports leaves, vocabulary and the
// contract channel.
package voice

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/fault"
)

// Bounds of an event: of its body in bytes, of what was heard in runes, of a
// call's id and of the keys pressed in one event.
const (
	MaxBody = 16 << 10
	MaxText = 2000
	maxKeys = 20
)

// Header is the header that carries the signature.
const Header = "X-Ratiba-Signature"

// Kind is what happened in a call.
type Kind string

// The kinds of event.
const (
	Start Kind = "start" // somebody calls
	Heard Kind = "heard" // they said Text; "" when they were silent for a while
	Key   Kind = "key"   // they pressed Keys
	End   Kind = "end"   // they hung up
)

// Event is one thing that happened in a call. Text is what somebody said: data,
// never an instruction.
type Event struct {
	Seq      int    `json:"seq"` // 1 for the start, then one more each: what tells repetitions and gaps
	Kind     Kind   `json:"event"`
	From     string `json:"from"`               // the caller's phone, E.164; "" when it is hidden
	To       string `json:"to"`                 // the number that was called
	Text     string `json:"text,omitempty"`     // Heard
	Keys     string `json:"key,omitempty"`      // Key: digits, * and #
	Language string `json:"language,omitempty"` // Start: en or sw, when the gateway knows
}

// Answer is what the gateway is to do.
type Answer struct {
	Say      string `json:"say"`      // words for the speech synthesiser, "" for silence
	Language string `json:"language"` // of Say: en or sw
	HangUp   bool   `json:"hang_up"`  // after Say
	// Filler says that the answer is not ready: report what is heard next, or an
	// empty Heard when the caller waits.
	Filler bool `json:"filler,omitempty"`
}

var (
	phoneForm = regexp.MustCompile(`^\+[1-9]\d{6,14}$`)
	keyForm   = regexp.MustCompile(`^[0-9*#]+$`)
	idForm    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// Parse reads an event of the call with that id. Every error is fault.Invalid
// and says what is wrong.
func Parse(id string, body []byte) (Event, error) {
	var e Event
	bad := func(what string) (Event, error) {
		return Event{}, fault.E(fault.Invalid, "The event is not usable: "+what+".")
	}
	if !idForm.MatchString(id) {
		return bad("the call's id wants up to 100 letters, digits, dots, dashes and underscores")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&e); err != nil || d.More() {
		return bad("it is not one JSON object of the form that is described")
	}
	switch {
	case !phoneForm.MatchString(e.To):
		return bad("to wants the number that was called, such as +254711000001")
	case e.From != "" && !phoneForm.MatchString(e.From):
		return bad("from wants the caller's phone, such as +254700000001, or nothing")
	case e.Seq < 1 || e.Seq > 100_000:
		return bad("seq wants 1 for the start and one more for each event")
	case (e.Kind == Start) != (e.Seq == 1):
		return bad("the start is event 1, and no other is")
	case e.Language != "" && e.Language != "en" && e.Language != "sw":
		return bad("language wants en or sw")
	case utf8.RuneCountInString(e.Text) > MaxText:
		return bad(fmt.Sprintf("text has more than %d characters", MaxText))
	}
	switch e.Kind {
	case Start, End:
	case Heard:
		e.Text = strings.ToValidUTF8(strings.TrimSpace(e.Text), "")
	case Key:
		if len(e.Keys) > maxKeys || !keyForm.MatchString(e.Keys) {
			return bad("key wants digits, * and #")
		}
	default:
		return bad("event wants start, heard, key or end")
	}
	return e, nil
}

// Sign is the signature of an event's body for a call: HMAC-SHA256 over the
// call's id, a line break and the body.
func Sign(secret, id string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(id + "\n")) // a hash never fails
	_, _ = mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Verify reports, in constant time, whether a signature is right. Without a
// secret none is.
func Verify(secret, id string, body []byte, signature string) bool {
	return secret != "" && hmac.Equal([]byte(Sign(secret, id, body)), []byte(signature))
}
