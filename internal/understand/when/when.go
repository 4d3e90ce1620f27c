// Package when reads what people say about days and times of day, in English,
// in Swahili and in both at once, as they say it in East Africa.
//
// Rules that a reader must know:
//
//   - Dates are day first: 5/12 is the fifth of December. A day without a month
//     is the next such day; a day and month without a year is the next one, but
//     one that passed within the last month is taken for a slip and reported as
//     past. "Friday" is the coming one, today included. "Next Friday" is the
//     Friday of the next calendar week, which begins on Monday; where the coming
//     Friday lies in this week the two are confused by many, and the confidence
//     stays under the acting threshold.
//   - The Swahili day begins at six: "saa tisa" is 15:00. Without a part of the
//     day, hours that fall between 09:00 and 17:00 are read by day and act; "saa
//     moja", "saa mbili" and "saa kumi na mbili" name an early hour as likely as
//     a late one and yield Options, the daytime one first. Digits after "saa"
//     are Swahili time in a Swahili sentence and Options in a mixed one. A
//     reading that does not fit the part of the day beside it is never taken.
//   - "At 3" yields Options, the likelier first. The bounds of a window ("after
//     3") are read by day, because a window has no options.
//   - Lengths ("90 minutes"), sums, phone numbers and counts are never times.
//   - A day that does not exist, an hour that does not exist and a day or hour
//     that is over are Faults; what is at fault is left empty.
//
// Scan and Parse are pure, never panic and take time linear in the text. The
// package imports graph's input type and lex.
package when

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// Faults of graph.When.
const (
	NoSuchDate = "no_such_date"
	NoSuchTime = "no_such_time"
	Past       = "past"
)

// Expect says what was asked for last: a bare number is a time or a day of the
// month only as an answer.
type Expect struct {
	Date bool
	Time bool
	// About is the day and About's Time the clock time that is being talked about,
	// which "same time next week" and "the following day" count from.
	About graph.When
}

// Parse reads a text. Now is any instant; zone is where its words are said, nil
// meaning UTC.
func Parse(text string, now time.Time, zone *time.Location, expect Expect) graph.When {
	text = lex.Clean(text)
	w, _ := Scan(text, lex.Tokens(text), now, zone, expect)
	return w
}

// Scan is Parse for a text that was cleaned and cut already. It also returns
// the tokens that speak of time, lengths of time included.
func Scan(text string, toks []lex.Token, now time.Time, zone *time.Location, expect Expect) (graph.When, []lex.Span) {
	if zone == nil {
		zone = time.UTC
	}
	s := newScanner(toks, now.In(zone), expect)
	s.collect()
	s.bare()
	w := s.assemble()
	spans := s.spans()
	if !w.Empty() {
		parts := make([]string, 0, len(spans))
		for _, sp := range spans {
			if !s.length[sp.From] {
				parts = append(parts, lex.Join(text, toks, sp))
			}
		}
		w.Span = strings.Join(parts, " ")
	}
	return w, spans
}

type scanner struct {
	toks   []lex.Token
	now    time.Time // local
	today  time.Time // midnight UTC of the local date
	expect Expect
	used   []bool // tokens that speak of time
	shut   []bool // tokens that must not be read as time: sums, phones, greetings
	length []bool // tokens of a length of time
	dates  []dateItem
	clocks []clockItem
	parts  []partItem
	open   bool // "any time"

	english verdict // whether English function words stand in the text
}

// verdict is what a question about the whole text came to, once it was asked.
type verdict uint8

const (
	unread verdict = iota
	no
	yes
)

// dateItem is one mention of a day or of a run of days.
type dateItem struct {
	lex.Span
	kind  dateKind
	from  time.Time // zero when fault is set
	to    time.Time // of a run: its last day
	day   int       // of dayOfMonth
	conf  float64
	fault string
}

type dateKind uint8

const (
	fixed      dateKind = iota
	weekday             // a bare weekday: a run beside it moves it
	dayOfMonth          // a bare day of the month: a month beside it moves it
	run                 // a week, a weekend, a month
)

// clockItem is one mention of a time of day.
type clockItem struct {
	lex.Span
	readings []int // minutes of the day, the likelier first
	swahili  int   // how many of the readings, from the front, are Swahili time
	exact    bool  // no part of the day can change it
	clear    bool  // the first reading acts without a part of the day
	conf     float64
	fault    string
}

// partItem is one mention of a part of the day.
type partItem struct {
	lex.Span
	part
}

func newScanner(toks []lex.Token, now time.Time, expect Expect) *scanner {
	flags := make([]bool, 3*len(toks)+3)
	n := len(toks) + 1
	y, m, d := now.Date()
	s := &scanner{
		toks: toks, now: now, today: time.Date(y, m, d, 0, 0, 0, 0, time.UTC), expect: expect,
		used: flags[:n], shut: flags[n : 2*n], length: flags[2*n:],
	}
	for _, a := range lex.Amounts(toks) {
		fill(s.shut, a)
	}
	s.shutPhones()
	for i := range toks {
		if toks[i].Kind <= lex.Number {
			for _, g := range greetings[toks[i].Text] {
				if s.row(i, g) && !s.is(i+len(g), "/") { // 24/7/2027 is a day
					fill(s.shut, lex.Span{From: i, To: i + len(g)})
				}
			}
		}
	}
	return s
}

// shutPhones closes digit runs of seven and more, however they are grouped.
func (s *scanner) shutPhones() {
	for i := 0; i < len(s.toks); i++ {
		if s.toks[i].Kind != lex.Number {
			continue
		}
		digits, groups, j := len(s.toks[i].Raw), 1, i+1
		for j < len(s.toks) {
			k := j
			if s.toks[k].Raw == "-" && k+1 < len(s.toks) && s.toks[k].Glued {
				k++
			}
			if s.toks[k].Kind != lex.Number || len(s.toks[k].Raw) < 3 || len(s.toks[i].Raw) < 3 {
				break
			}
			digits += len(s.toks[k].Raw)
			groups++
			j = k + 1
		}
		if digits >= 7 && (groups > 1 || s.text(j) != "-" || digits > 8) {
			fill(s.shut, lex.Span{From: i, To: j})
		}
		i = j - 1
	}
}

func fill(flags []bool, sp lex.Span) {
	for i := sp.From; i < sp.To && i < len(flags); i++ {
		flags[i] = true
	}
}

func (s *scanner) text(i int) string {
	if i < 0 || i >= len(s.toks) {
		return ""
	}
	return s.toks[i].Text
}

// row reports whether the words stand at i, one after another.
func (s *scanner) row(i int, words []string) bool {
	for j, w := range words {
		if s.text(i+j) != w {
			return false
		}
	}
	return true
}

// is reports whether the word at i is one of words.
func (s *scanner) is(i int, words ...string) bool {
	t := s.text(i)
	if t == "" {
		return false
	}
	return slices.Contains(words, t)
}

// collect walks over the text once and notes every mention.
func (s *scanner) collect() {
	s.relative()
	for _, d := range lex.Durations(s.toks) {
		if !s.used[d.From] && !s.shut[d.From] {
			fill(s.used, d.Span)
			fill(s.length, d.Span)
		}
	}
	for i := 0; i < len(s.toks); {
		if s.used[i] || s.shut[i] {
			i++
			continue
		}
		switch d, ok := s.date(i); {
		case ok:
			if !s.negated(d.Span) {
				s.dates = append(s.dates, d)
			}
			fill(s.used, d.Span)
			i = d.To
			continue
		default:
		}
		if c, ok := s.clock(i); ok {
			if !s.negated(c.Span) {
				s.clocks = append(s.clocks, c)
			}
			fill(s.used, c.Span)
			i = c.To
			continue
		}
		if p, ok := s.part(i); ok {
			s.parts = append(s.parts, p)
			fill(s.used, p.Span)
			i = p.To
			continue
		}
		i++
	}
}

// negated reports whether a mention is there to be ruled out: "not Friday",
// "Friday doesn't work".
func (s *scanner) negated(sp lex.Span) bool {
	i := sp.From - 1
	for range 3 {
		if s.is(i, "on", "at", "the", "do", "make", "for", "ya", "of", "come", "than", "saa", "kuja") {
			i--
		}
	}
	if s.is(i, "not", "isnt", "cant", "cannot", "except", "sio", "siyo", "si", "isipokuwa", "badala", "instead", "rather", "siwezi", "sitaweza", "dont", "wont") {
		return true
	}
	return s.is(sp.To, "doesnt", "wont", "isnt", "haifai", "haitafaa", "haiwezekani", "siwezi", "sitaweza", "haitawezekana")
}

// spans returns the runs of tokens that speak of time.
func (s *scanner) spans() []lex.Span {
	var out []lex.Span
	for i := 0; i < len(s.toks); i++ {
		if !s.used[i] {
			continue
		}
		j := i + 1
		for j < len(s.toks) && s.used[j] && s.length[j] == s.length[i] {
			j++
		}
		out = append(out, lex.Span{From: i, To: j})
		i = j - 1
	}
	return out
}

func clockText(minutes int) string {
	minutes = ((minutes % 1440) + 1440) % 1440
	return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
}

func dateText(t time.Time) string { return t.Format(time.DateOnly) }
