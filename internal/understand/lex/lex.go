// Package lex cuts what people type into words, numbers, marks and emoji, and
// knows the small vocabularies of numbers that English and Swahili share with
// every other part of understanding.
//
// Every function is pure, never panics on any bytes, and takes time linear in
// at most MaxRunes of its input: what lies beyond is not looked at. The package
// imports only the standard library and golang.org/x/text.
package lex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxRunes is how much of a text is read: the length of the longest text
// message WhatsApp carries.
const MaxRunes = 4096

// Kind is what a token is.
type Kind uint8

// Kinds of token. A Break is an end of line: the border between two messages
// of a burst.
const (
	Word Kind = iota
	Number
	Mark
	Emoji
	Break
)

// Token is one piece of a text.
type Token struct {
	Text  string // lower case, without apostrophes, drawn-out letters shortened
	Raw   string // as it was typed, after Clean
	Start int    // byte offset in the cleaned text
	End   int
	Value int // of a Number of at most nine digits, -1 beyond
	Kind  Kind
	Glued bool // nothing stands between this token and the one before it
}

// Span is a run of tokens, To exclusive.
type Span struct{ From, To int }

// Clean brings a text into the form the rest of understanding reads: NFKC,
// without zero-width, direction and control characters, typographic quotes made
// plain, at most MaxRunes long. Newlines stay.
func Clean(s string) string {
	s = clip(s)
	if plain(s) {
		return strings.TrimSpace(s)
	}
	s = clip(norm.NFKC.String(strings.ToValidUTF8(s, " ")))
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\u2018' || r == '\u2019' || r == '\u02bc' || r == '`' || r == '\u00b4':
			return '\''
		case r == '\u201c' || r == '\u201d':
			return '"'
		case r == '\u2013' || r == '\u2014' || r == '\u2212' || r == '\u2010' || r == '\u2011':
			return '-'
		case r == '\u200d' || r == '\ufe0f':
			return r // they hold emoji together
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		}
		return r
	}, s))
}

func clip(s string) string {
	if len(s) <= MaxRunes {
		return s
	}
	n := 0
	for i := range s {
		if n == MaxRunes {
			return s[:i]
		}
		n++
	}
	return s
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c == '`' || c < ' ' && c != '\n' || c == 0x7f {
			return false
		}
	}
	return true
}

// Tokens cuts a cleaned text.
func Tokens(s string) []Token { return Append(make([]Token, 0, len(s)/4+4), s) }

// Append cuts a cleaned text and appends its tokens to out, for who cuts many
// short ones.
func Append(out []Token, s string) []Token {
	last := -1
	add := func(k Kind, from, to int) {
		raw := s[from:to]
		t := Token{Kind: k, Raw: raw, Text: raw, Start: from, End: to, Glued: from == last}
		switch k {
		case Word:
			t.Text = Fold(raw)
		case Number:
			t.Value = value(raw)
		case Mark, Emoji, Break:
		}
		last = to
		out = append(out, t)
	}
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '\n':
			add(Break, i, i+1)
			i++
		case r == ' ' || unicode.IsSpace(r) || r == '\u200d' || r == '\ufe0f':
			i += size
		case digit(r):
			end := i + 1
			for end < len(s) && digit(rune(s[end])) {
				end++
			}
			add(Number, i, end)
			i = end
		case letter(r):
			end := wordEnd(s, i+size)
			add(Word, i, end)
			i = end
		case pictograph(r):
			end := emojiEnd(s, i+size)
			add(Emoji, i, end)
			i = end
		default:
			add(Mark, i, i+size)
			i += size
		}
	}
	return out
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

// wordEnd finds where a word ends. An apostrophe between letters belongs to it.
func wordEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case letter(r):
			i += size
		case r == '\'' && i+1 < len(s):
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if !letter(next) {
				return i
			}
			i++
		default:
			return i
		}
	}
	return i
}

func pictograph(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2600 && r <= 0x27BF || r >= 0x2B00 && r <= 0x2BFF ||
		r >= 0x2300 && r <= 0x23FF || r >= 0x1F1E6 && r <= 0x1F1FF
}

// emojiEnd takes in what changes the emoji before it: skin tone, joiner,
// presentation.
func emojiEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF:
			i += size
		case r == 0x200D:
			_, next := utf8.DecodeRuneInString(s[i+size:])
			i += size + next
		default:
			return i
		}
	}
	return i
}

func value(digits string) int {
	if len(digits) > 9 {
		return -1
	}
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// Fold makes spellings of one word equal: lower case, no apostrophes, a letter
// typed three times or more counts once.
func Fold(w string) string {
	if !needsFold(w) {
		return w
	}
	w = strings.ReplaceAll(strings.ToLower(w), "'", "")
	var b strings.Builder
	b.Grow(len(w))
	runes := []rune(w)
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && runes[j] == runes[i] {
			j++
		}
		b.WriteRune(runes[i])
		if j-i == 2 {
			b.WriteRune(runes[i])
		}
		i = j
	}
	if b.String() == "sa" {
		return "saa"
	}
	return b.String()
}

func needsFold(w string) bool {
	for i := range len(w) {
		c := w[i]
		if c < 'a' || c > 'z' || i >= 2 && c == w[i-1] && c == w[i-2] {
			return true
		}
	}
	return w == "sa"
}

// Join returns the source text of a run of tokens.
func Join(text string, toks []Token, s Span) string {
	if s.From >= s.To || s.To > len(toks) {
		return ""
	}
	return text[toks[s.From].Start:toks[s.To-1].End]
}
