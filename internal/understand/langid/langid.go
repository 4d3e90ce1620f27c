// Package langid tells English from Swahili in chat messages, and both from
// anything else, by what the words are: function words, the build of Swahili
// verbs, and the shape of Swahili syllables. It is made for the mixed language
// of Kenyan chats, where an English noun says little and a Swahili verb says
// much.
//
// Detect is pure, never panics and takes time linear in the tokens. The package
// imports lex.
package langid

import (
	"strings"
	"unicode"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

// The languages Detect reports.
const (
	English = "en"
	Swahili = "sw"
	Other   = "other"
)

// settle is the evidence at which confidence reaches half of its share: one
// plain function word does not decide, two do.
const settle = 0.35

// Detect returns the language of a text and how sure that is. Without any
// evidence the language is Other and the confidence 0.
func Detect(toks []lex.Token) (language string, confidence float64) {
	var en, sw, other float64
	words := 0
	for i := range toks {
		if toks[i].Kind != lex.Word {
			continue
		}
		words++
		e, s, o := weigh(toks[i].Text)
		en, sw, other = en+e, sw+s, other+o
	}
	total := en + sw + other
	if total == 0 {
		return Other, 0
	}
	best := max(en, sw, other)
	confidence = best / total * total / (total + settle)
	if words >= 4 && (en+sw) < 0.22*float64(words) && other == 0 {
		return Other, 0.5 // nothing but shapes speaks for it
	}
	switch best {
	case sw:
		return Swahili, confidence
	case en:
		return English, confidence
	}
	return Other, confidence
}

// weigh returns what one folded word says for English, Swahili and others.
func weigh(w string) (en, sw, other float64) {
	if r, _ := firstLetter(w); r >= 0x250 && !unicode.Is(unicode.Latin, r) {
		return 0, 0, 1
	}
	e, s := english[w], swahili[w]
	if e > 0 || s > 0 {
		return e, s, 0
	}
	if foreign[w] {
		return 0, 0, 1
	}
	switch {
	case verb(w):
		return 0, 1.2, 0
	case len(w) >= 4 && endsEnglish(w):
		return 0.5, 0, 0
	case len(w) >= 4 && syllabic(w):
		return 0, 0.25, 0
	case len(w) >= 3:
		return 0.12, 0, 0.08
	}
	return 0, 0, 0
}

func firstLetter(w string) (rune, bool) {
	for _, r := range w {
		return r, true
	}
	return 0, false
}

func endsEnglish(w string) bool {
	for _, end := range [...]string{"ing", "tion", "ed", "ght", "ly", "ness", "ment", "able", "ous", "ful", "ck", "ll", "ss", "ty", "nt", "rs", "st"} {
		if strings.HasSuffix(w, end) {
			return true
		}
	}
	return false
}

var (
	subjects = []string{"ni", "u", "a", "tu", "m", "wa", "i", "ki", "vi", "li", "ya", "zi", "si", "hatu", "hawa", "ham", "hu", "ha"}
	tenses   = []string{"na", "me", "li", "ta", "nge", "ki", "ka", "taka", "mesha"}
)

// verb reports whether a word is built like an inflected Swahili verb: a
// subject, a tense, and a syllabic rest that ends in a, e, i or u.
func verb(w string) bool {
	if len(w) < 6 || !syllabic(w) {
		return false
	}
	if strings.HasPrefix(w, "ku") && w[len(w)-1] == 'a' {
		return true
	}
	for _, s := range subjects {
		rest, ok := strings.CutPrefix(w, s)
		if !ok {
			continue
		}
		for _, t := range tenses {
			if stem, ok := strings.CutPrefix(rest, t); ok && len(stem) >= 3 && stem[len(stem)-1] != 'o' {
				return true
			}
		}
	}
	return false
}

// onsets are the consonants and clusters a Swahili syllable can begin with.
var onsets = map[string]bool{
	"": true, "b": true, "ch": true, "d": true, "dh": true, "f": true, "g": true, "gh": true, "h": true, "j": true, "k": true, "kh": true,
	"l": true, "m": true, "n": true, "ny": true, "ng": true, "p": true, "r": true, "s": true, "sh": true, "t": true, "th": true,
	"v": true, "w": true, "y": true, "z": true, "mb": true, "nd": true, "nj": true, "nz": true, "mv": true, "nt": true, "nk": true,
	"bw": true, "kw": true, "mw": true, "pw": true, "tw": true, "sw": true, "gw": true, "ngw": true, "nyw": true, "chw": true, "shw": true,
	"lw": true, "zw": true, "my": true, "vy": true, "fy": true, "mch": true, "mk": true, "mp": true, "ms": true, "mt": true, "ml": true,
	"mj": true, "mz": true, "mf": true, "mg": true, "mh": true, "md": true, "mn": true, "mr": true, "mtw": true, "mbw": true, "ndw": true, "mkw": true, "msh": true, "mny": true, "st": true, "sk": true, "sp": true, "ks": true,
}

// syllabic reports whether a word is a row of Swahili syllables: it ends in a
// vowel, and between vowels stands only what may begin a syllable.
func syllabic(w string) bool {
	start := 0
	for i := range len(w) {
		switch c := w[i]; {
		case c == 'q' || c == 'x' || c < 'a' || c > 'z':
			return false
		case c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u':
			if !onsets[w[start:i]] {
				return false
			}
			start = i + 1
		}
	}
	return start == len(w) && start > 0
}

// Everyday reports whether a word is a common one of either language, nouns and
// verbs included: no slip of the thumb in a name.
func Everyday(w string) bool { return Common(w) || nouns[w] || content[w] || sheng[w] }

// Common reports whether a word is one that either language uses every day.
func Common(w string) bool { return english[w] > 0 || swahili[w] > 0 }
