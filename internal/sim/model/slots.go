package model

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	servicesHead = `(?:services|huduma)`
	staffHead    = `(?:staff|team|wahudumu)`
)

// nowhen is enough of a day to tell whether a text names one.
var nowhen = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// extract answers the slot seam.
func extract(q question, today time.Time) fields {
	text := q.customer()
	w := readWhen(text, today)
	service, serviceSure := pick(text, q.list(servicesHead))
	staff, staffSure := pickStaff(text, q.list(staffHead))
	name := nameGiven(text, q.label(`the customer was last asked`))
	if service+staff+w.date+w.time+w.from+w.to != "" && !nameSaid.MatchString(text) && !nameMay.MatchString(text) {
		name = "" // The whole message is another detail.
	}
	slot := func(value string, sure float64) map[string]any {
		if value == "" {
			return map[string]any{"value": nil, "confidence": 0.0}
		}
		return map[string]any{"value": value, "confidence": sure}
	}
	return fields{
		"reasoning": "Read from the customer's words alone.",
		"service":   slot(service, serviceSure),
		"staff":     slot(staff, staffSure),
		"date":      slot(w.date, w.dateSure),
		"time":      slot(w.time, w.timeSure),
		"time_from": slot(w.from, 0.9),
		"time_to":   slot(w.to, 0.9),
		"name":      slot(name, 0.92),
	}
}

// entryName is a catalogue line without what is told about the entry.
func entryName(line string) string {
	for _, sep := range []string{" (", " — ", " – ", " | ", ": ", ", ", " - "} {
		line, _, _ = strings.Cut(line, sep)
	}
	return strings.TrimSpace(line)
}

// synonyms are what customers call things, by the word a catalogue uses.
var synonyms = map[string][]string{
	"massage":  {"masaji", "kukandwa", "kukanda", "usingaji", "kusingwa", "massaji", "masage"},
	"facial":   {"uso", "facials"},
	"manicure": {"kucha", "nails", "nail"},
	"pedicure": {"miguu", "pedi"},
	"nails":    {"kucha", "nail"},
	"nail":     {"kucha", "nails"},
	"haircut":  {"kunyoa", "kunyolewa", "nyoa", "cut", "shave"},
	"braids":   {"kusuka", "kusukwa", "nywele", "braiding"},
	"braiding": {"kusuka", "kusukwa", "nywele", "braids"},
	"beard":    {"ndevu"},
	"waxing":   {"wax"},
	"cleaning": {"meno", "kusafisha"},
	"couples":  {"couple", "wawili"},
	"deep":     {"deeptissue"},
	"stone":    {"mawe"},
}

// filling are words of a catalogue line that tell no service from another.
var filling = words(`and the with for min mins minute minutes hour kes ksh from per of na ya dakika`)

// pick finds the one entry of a catalogue that the text fits best. Two that
// fit alike are no find.
func pick(text string, lines []string) (string, float64) {
	said := make(map[string]bool)
	for _, t := range tokenize(text) {
		said[t] = true
	}
	lower := strings.ToLower(text)
	best, bestScore, tie, full := "", 0.0, false, false
	for _, line := range lines {
		name := entryName(line)
		score := 0.0
		for _, t := range tokenize(line) {
			if filling[t] || len(t) < 2 {
				continue
			}
			for _, form := range append([]string{t, t + "s", strings.TrimSuffix(t, "s")}, synonyms[t]...) {
				if said[form] {
					score++
					break
				}
			}
		}
		whole := name != "" && strings.Contains(lower, strings.ToLower(name))
		if whole {
			score += 2
		}
		switch {
		case score > bestScore:
			best, bestScore, tie, full = name, score, false, whole
		case score == bestScore && score > 0:
			tie = true
		}
	}
	if tie || bestScore == 0 || onlyNumber(text, best, lines) {
		return "", 0
	}
	if full {
		return best, 0.97
	}
	return best, 0.88
}

// onlyNumber reports whether nothing but a number speaks for an entry: the 3
// of "at 3" must not choose a service of 3 hours.
func onlyNumber(text, name string, lines []string) bool {
	for _, line := range lines {
		if entryName(line) != name {
			continue
		}
		for _, t := range tokenize(line) {
			if filling[t] || len(t) < 2 || unicode.IsDigit(rune(t[0])) {
				continue
			}
			for _, form := range append([]string{t, t + "s", strings.TrimSuffix(t, "s")}, synonyms[t]...) {
				if slices.Contains(tokenize(text), form) {
					return false
				}
			}
		}
	}
	return true
}

var notBefore = regexp.MustCompile(`(?i)(?:\bnot(?: with| on| at)?|\bsiyo|\bsio|\bsi|\bexcept|\bisipokuwa)(?: na)?\s+$`)

// pickStaff finds the one member of staff whose first name the text holds and
// does not rule out.
func pickStaff(text string, lines []string) (string, float64) {
	found := ""
	lower := strings.ToLower(text)
	for _, line := range lines {
		name := entryName(line)
		first, _, _ := strings.Cut(strings.ToLower(name), " ")
		if len(first) < 2 {
			continue
		}
		at := wordIndex(lower, first)
		if at < 0 || notBefore.MatchString(lower[:at]) {
			continue
		}
		if found != "" {
			return "", 0
		}
		found = name
	}
	return found, 0.93
}

func wordIndex(text, word string) int {
	from := 0
	for {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		before, after := rune(' '), rune(' ')
		if i > 0 {
			before = lastRune(text[:i])
		}
		if i+len(word) < len(text) {
			after = []rune(text[i+len(word):])[0]
		}
		if !unicode.IsLetter(before) && !unicode.IsLetter(after) {
			return i
		}
		from = i + len(word)
	}
}

func lastRune(s string) rune {
	r := []rune(s)
	return r[len(r)-1]
}

var (
	nameSaid = regexp.MustCompile(`(?i)\b(?:my name is|my name's|the name is|name:|jina langu ni|jina ni|naitwa)\s+(.+)`)
	nameMay  = regexp.MustCompile(`(?i)\b(?:call me|mimi ni|i am|i'm|this is)\s+(.+)`)
	nameAsks = regexp.MustCompile(`(?i)\b(?:name|jina)\b`)
	nameLike = regexp.MustCompile(`^\pL[\pL'’-]+(?:\s+\pL[\pL'’-]+){0,2}[.!]?$`)
)

// nameGiven finds what the customer is called: after the usual words or, when
// the name was asked for, as the whole message.
func nameGiven(text, expecting string) string {
	if m := nameSaid.FindStringSubmatch(text); m != nil {
		return leadingName(m[1], true)
	}
	if m := nameMay.FindStringSubmatch(text); m != nil {
		if name := leadingName(m[1], false); name != "" {
			return name
		}
	}
	text = strings.TrimSpace(text)
	if !nameAsks.MatchString(expecting) || !nameLike.MatchString(text) {
		return ""
	}
	if toks := tokenize(text); anyIn(toks, affirmWords) || anyIn(toks, denyWords) || anyIn(toks, greetWords) || anyIn(toks, thankCore) || anyIn(toks, swWords) || anyIn(toks, enWords) {
		return ""
	}
	return strings.TrimRight(text, ".!")
}

// leadingName takes the capitalised words a text begins with, at most three.
// After unmistakable words one small letter is forgiven.
func leadingName(text string, forgive bool) string {
	var name []string
	for word := range strings.FieldsSeq(text) {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
		if bare == "" || len(name) == 3 || !unicode.IsUpper([]rune(bare)[0]) && (len(name) > 0 || !forgive) {
			break
		}
		name = append(name, bare)
		if bare != word {
			break
		}
	}
	return strings.Join(name, " ")
}
