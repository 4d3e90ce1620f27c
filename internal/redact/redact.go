// Package redact is the one redactor: what leaves the product for a log, a
// trace or an export passes through it (P14).
//
// An allow-list goes first: amounts of money, M-Pesa receipts and our own
// references are kept. Then e-mail addresses, phones and runs of six and more
// digits are masked, and known names become <name>. The package imports only
// the standard library.
package redact

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// keep is what must survive: amounts with their currency, M-Pesa receipts,
	// our references and ULIDs.
	keep = regexp.MustCompile(`\b(?i:KES|KSHS?|USD|TZS|UGX)\.? ?\d[\d,]*(?:\.\d+)?\b|\bRTB-[a-z0-9]+-[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b|\b(?:` +
		receipt() + `)\b`)
	email = regexp.MustCompile(`[\pL\pN._%+\-]+@[\pL\pN.\-]+\.\pL{2,}`)
	phone = regexp.MustCompile(`\+?\d(?:[ \-.()]{0,3}\d){7,14}`) // "(0722) 000 - 001" has up to three signs between digits
	run   = regexp.MustCompile(`\d{6,}`)
)

// receipt is the form of an M-Pesa receipt: exactly ten capital letters and
// digits, a letter first and a digit within. A longer form would keep phones
// that are glued to a word.
func receipt() string {
	var forms []string
	for letters := 1; letters <= 9; letters++ {
		forms = append(forms, fmt.Sprintf(`[A-Z]{%d}\d[A-Z0-9]{%d}`, letters, 9-letters))
	}
	return strings.Join(forms, "|")
}

// Redactor masks text. It is immutable and safe for concurrent use.
type Redactor struct{ names *regexp.Regexp }

// New returns a redactor that also knows some names.
func New(names ...string) *Redactor {
	var parts []string
	for _, n := range names {
		if len([]rune(n)) >= 3 {
			parts = append(parts, edge(n[0])+regexp.QuoteMeta(n)+edge(n[len(n)-1]))
		}
	}
	if len(parts) == 0 {
		return &Redactor{}
	}
	return &Redactor{names: regexp.MustCompile(`(?i)(?:` + strings.Join(parts, "|") + `)`)}
}

// edge is where a name begins or ends: at a word boundary, except beside a
// letter such as ũ, which regexp does not know as part of a word.
func edge(b byte) string {
	if 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' {
		return `\b`
	}
	return ""
}

// Text masks what identifies a person and keeps what a ledger needs.
func (r *Redactor) Text(s string) string {
	var b strings.Builder
	rest := s
	for {
		at := keep.FindStringIndex(rest)
		if at == nil {
			b.WriteString(r.mask(rest))
			return b.String()
		}
		b.WriteString(r.mask(rest[:at[0]]))
		b.WriteString(rest[at[0]:at[1]])
		rest = rest[at[1]:]
	}
}

func (r *Redactor) mask(s string) string {
	s = email.ReplaceAllString(s, "<email>")
	s = phone.ReplaceAllString(s, "<phone>")
	s = run.ReplaceAllString(s, "<digits>")
	if r.names != nil {
		s = r.names.ReplaceAllString(s, "<name>")
	}
	return s
}
