package admin

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/understand/when"
	"github.com/ratiba/ratiba/internal/wording"
)

var (
	yesterday  = regexp.MustCompile(`(?i)\b(?:yesterday|jana)\b`)
	earlier    = regexp.MustCompile(`(?i)\bjuzi\b`)
	last       = regexp.MustCompile(`(?i)\b(?:last|previous|iliyopita|uliopita|jana)\b`)
	following  = regexp.MustCompile(`(?i)\b(?:next|ijayo|ujao)\b`)
	possessive = regexp.MustCompile(`(?i)['’]s\b`)
	months     = regexp.MustCompile(`(?i)\b(january|januari|february|februari|march|machi|april|aprili|may|mei|june|juni|july|julai|august|agosti|` +
		`september|septemba|october|oktoba|november|novemba|december|desemba)\b(?:\s+(20\d\d))?`)
)

// dayOf is the date a report is asked about, today where none is said. It
// reports false for one that does not exist, or that is not understood.
func dayOf(i in, text string) (string, bool) {
	today := i.Now.In(i.Facts.Zone)
	switch {
	case earlier.MatchString(text):
		return today.AddDate(0, 0, -2).Format(time.DateOnly), true
	case yesterday.MatchString(text):
		return today.AddDate(0, 0, -1).Format(time.DateOnly), true
	}
	w := when.Parse(text, i.Now, i.Facts.Zone, when.Expect{Date: true})
	switch {
	case w.Date != "":
		return w.Date, true
	case w.Fault != "" && w.Fault != when.Past:
		return "", false
	}
	return today.Format(time.DateOnly), true
}

// monthOf is the first day of the month asked about: the last of that name, this
// one where none is named.
func monthOf(i in, text string) time.Time {
	now := i.Now.In(i.Facts.Zone)
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, i.Facts.Zone)
	m := months.FindStringSubmatch(text)
	if m == nil {
		if last.MatchString(text) {
			return this.AddDate(0, -1, 0)
		}
		return this
	}
	for n := time.January; n <= time.December; n++ {
		named := time.Date(now.Year(), n, 1, 0, 0, 0, 0, i.Facts.Zone)
		if !strings.EqualFold(m[1], monthName(wording.English, named)) && !strings.EqualFold(m[1], monthName(wording.Swahili, named)) {
			continue
		}
		if year, err := strconv.Atoi(m[2]); err == nil {
			return time.Date(year, n, 1, 0, 0, 0, 0, i.Facts.Zone)
		}
		if named.After(now) {
			return named.AddDate(-1, 0, 0)
		}
		return named
	}
	return this
}

func monthName(lang string, t time.Time) string {
	if lang != wording.Swahili {
		return t.Month().String()
	}
	words := strings.Fields(wording.Date(lang, t))
	return words[len(words)-1]
}

// staffIn is the member of staff a text names, "" for none.
func staffIn(i in, text string) string { return nounIn(office(i).Nouns[understand.KindStaff], text) }

// nounIn finds the one noun whose longest name stands in a text as words, "" for
// none or for more than one.
func nounIn(nouns []understand.Noun, text string) string {
	id, longest := "", 0
	padded := words(text)
	for _, n := range nouns {
		for _, name := range n.Names {
			w := words(name)
			if len(w) <= 2 || !strings.Contains(padded, w) {
				continue
			}
			switch {
			case len(w) > longest:
				id, longest = n.ID, len(w)
			case len(w) == longest && id != n.ID:
				id = "" // two fit equally well
			}
		}
	}
	return id
}

// words is a text's words in lower case between single spaces.
func words(text string) string {
	text = possessive.ReplaceAllString(strings.ToLower(text), "")
	return " " + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ") + " "
}

// nounName is what the business calls one of its nouns.
func nounName(nouns []understand.Noun, id string) string {
	at := slices.IndexFunc(nouns, func(n understand.Noun) bool { return n.ID == id })
	if at < 0 || len(nouns[at].Names) == 0 {
		return id
	}
	return plain(nouns[at].Names[0])
}

// Lengths of what is quoted, in runes.
const (
	nameRunes = 60
	textRunes = 700
)

// quote shows what a customer wrote about themselves so that it cannot be taken
// for the assistant's words: on one line, without marks that format, order or
// hide, in quotation marks it cannot close.
func quote(s string) string { return "“" + clip(plain(s), nameRunes) + "”" }

func quoteLong(s string) string { return "“" + clip(plain(s), textRunes) + "”" }

func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == unicode.ReplacementChar:
			return -1
		case strings.ContainsRune("*_~`\"“”„«»#/\\<>{}[]", r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func clip(s string, most int) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
