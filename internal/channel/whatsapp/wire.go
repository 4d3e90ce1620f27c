package whatsapp

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/lenient"
)

// Bounds of what is kept of an inbound string, in bytes. Longer ones are cut at
// a rune's boundary; a longer id makes its message unreadable.
const (
	maxText   = 64 << 10
	maxName   = 256
	maxID     = 512
	maxDetail = 512
	maxCards  = 20
	maxPhones = 10
)

// str is a string that a sender may also write as a number.
type str = lenient.String

// num is a JSON number that a sender may also write as a string. What cannot be
// read as a number is 0.
type num string

// UnmarshalJSON implements json.Unmarshaler.
func (n *num) UnmarshalJSON(raw []byte) error { return (*lenient.String)(n).UnmarshalJSON(raw) }

func (n num) int() int {
	v, err := strconv.Atoi(string(n))
	if err != nil {
		return 0
	}
	return v
}

func (n num) float() (float64, bool) {
	v, err := strconv.ParseFloat(string(n), 64)
	return v, err == nil && v == v // NaN differs from itself.
}

// millis separates seconds from milliseconds: in seconds it lies in the year 5138.
const millis = 100_000_000_000

// time reads a Unix time. What cannot be read is the zero time.
func (n num) time() time.Time {
	v, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || v <= 0 {
		return time.Time{}
	}
	if v >= millis {
		v /= 1000
	}
	if v >= millis {
		return time.Time{}
	}
	return time.Unix(v, 0).UTC()
}

// wireError is an element of an errors list.
type wireError struct {
	Code    num `json:"code"`
	Title   str `json:"title"`
	Message str `json:"message"`
	Details str `json:"details"`
	Data    struct {
		Details str `json:"details"`
	} `json:"error_data"`
}

func (e wireError) text() string {
	return cut(firstOf(e.Data.Details, e.Details, e.Message, e.Title), maxDetail)
}

func firstOf(list ...str) string {
	for _, s := range list {
		if s != "" {
			return string(s)
		}
	}
	return ""
}

// cut shortens s to at most limit bytes at a rune's boundary.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// phoneDigits is an international number: at most 15 digits, no leading zero
// (ITU-T E.164).
var phoneDigits = regexp.MustCompile(`^[1-9][0-9]{5,14}$`)

// e164 reads a WhatsApp id, which is a phone number without its plus.
func e164(waID string) (string, bool) {
	digits := strings.TrimPrefix(strings.TrimSpace(waID), "+")
	if !phoneDigits.MatchString(digits) {
		return "", false
	}
	return "+" + digits, true
}

// userID reads a business-scoped user id. Meta calls the form CC.alphanumerics
// subject to change, so only its size and characters are checked.
func userID(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxName || strings.ContainsFunc(s, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r)
	}) {
		return "", false
	}
	return s, true
}

// identities returns who is meant by a phone, a user id or both, the phone
// first.
func identities(phone, user str) []contact.Identity {
	var out []contact.Identity
	if p, ok := e164(string(phone)); ok {
		out = append(out, contact.Identity{Kind: contact.Phone, Value: p})
	}
	if u, ok := userID(string(user)); ok {
		out = append(out, contact.Identity{Kind: contact.BSUID, Value: u})
	}
	return out
}
