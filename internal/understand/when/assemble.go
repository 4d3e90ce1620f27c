package when

import (
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// bare reads a number that stands alone as the answer to what was asked.
func (s *scanner) bare() {
	if !s.expect.Date && !s.expect.Time || len(s.clocks) > 0 {
		return
	}
	at, to, n := -1, 0, 0
	for i := 0; i < len(s.toks); i++ {
		if s.used[i] || s.toks[i].Kind > lex.Number {
			continue
		}
		v, next, ok := lex.ReadNumber(s.toks, i)
		switch {
		case s.shut[i]:
			return
		case ok && at >= 0:
			return // two numbers
		case ok:
			at, to, n = i, next, v
			i = next - 1
		case !filler(s.text(i)):
			return
		}
	}
	if at < 0 {
		return
	}
	sp := lex.Span{From: at, To: to}
	digits := s.toks[at].Kind == lex.Number
	needsDate := s.expect.Date && len(s.dates) == 0
	switch {
	case s.expect.Time && n >= 1 && n <= 23 && (!needsDate || n <= 12):
		s.clocks = append(s.clocks, s.bareHour(sp, n, digits, needsDate))
	case needsDate && n >= 1 && n <= 31 && digits:
		d := s.dayAlone(at, to, n)
		d.conf = min(d.conf, probable)
		s.dates = append(s.dates, d)
	default:
		return
	}
	fill(s.used, sp)
}

func (s *scanner) bareHour(sp lex.Span, n int, digits, needsDate bool) clockItem {
	var c clockItem
	switch _, english := englishHour[s.text(sp.From)]; {
	case n > 12:
		c = s.at(sp.From, sp.To, n*60)
	case digits || english:
		c = s.twelve(sp.From, sp.To, n, 0)
		c.conf = 0.86
	default:
		early := swahiliHour(n) * 60
		c = clockItem{Span: sp, readings: []int{early, (early + 720) % day}, swahili: 2, clear: n >= 3 && n <= 11, conf: 0.86}
	}
	if needsDate {
		c.conf = 0.6
	}
	return c
}

var englishHour = map[string]bool{
	"one": true, "two": true, "three": true, "four": true, "five": true, "six": true, "seven": true, "eight": true,
	"nine": true, "ten": true, "eleven": true, "twelve": true,
}

// filler are the words that may stand beside a bare answer.
func filler(w string) bool {
	switch w {
	case "please", "plz", "pls", "ok", "okay", "the", "at", "on", "is", "fine", "good", "works", "thanks", "asante", "tafadhali", "sawa", "ni", "itakuwa",
		"would", "be", "lets", "say", "make", "it", "for", "me", "i", "want", "nataka", "naomba", "iwe", "then", "basi", "tu", "yes", "ndio", "ndiyo", "no", "hapana", "actually",
		"what", "how", "about", "around", "maybe", "can", "we", "do", "could", "vipi", "kuhusu", "je", "nope", "nah":
		return true
	}
	return false
}

// assemble puts the mentions together.
func (s *scanner) assemble() graph.When {
	var w graph.When
	conf := 1.0
	s.pickDates(&w, &conf)
	s.pickClocks(&w, &conf)
	if w.Empty() {
		return graph.When{}
	}
	s.dropPast(&w)
	w.Confidence = conf
	return w
}

// pickDates settles on one day or one run of days.
func (s *scanner) pickDates(w *graph.When, conf *float64) {
	ds := s.dates
	if len(ds) == 0 {
		return
	}
	slices.SortStableFunc(ds, func(a, b dateItem) int { return a.From - b.From })
	for len(ds) > 1 {
		m, ok := s.merge(ds[0], ds[1])
		if !ok {
			break
		}
		ds = append([]dateItem{m}, ds[2:]...)
	}
	d := ds[0]
	if len(ds) > 1 {
		d = s.choose(ds)
	}
	*conf = min(*conf, d.conf)
	if d.fault != "" {
		w.Fault = d.fault
		return
	}
	w.Date = dateText(d.from)
	if !d.to.IsZero() && d.to.After(d.from) {
		w.DateTo = dateText(d.to)
	}
}

// merge joins two mentions of one day: "Friday the 27th", "next week on
// Tuesday", "tomorrow, Saturday".
func (s *scanner) merge(a, b dateItem) (dateItem, bool) {
	if a.kind == run && (b.kind == weekday || b.kind == dayOfMonth) {
		a, b = b, a
	}
	joined := a
	joined.From, joined.To = min(a.From, b.From), max(a.To, b.To)
	switch {
	case a.fault != "" || b.fault != "":
		if a.kind == weekday || a.fault != "" && b.kind == weekday {
			joined.fault, joined.from = a.fault+b.fault, time.Time{}
			return joined, true
		}
		return dateItem{}, false
	case b.kind == run && a.kind == weekday:
		for t := b.from; !t.After(b.to); t = t.AddDate(0, 0, 1) {
			if t.Weekday() == a.from.Weekday() {
				joined.from, joined.kind, joined.conf = t, fixed, min(a.conf, b.conf)
				return joined, b.to.Sub(b.from) <= 7*24*time.Hour
			}
		}
		return dateItem{}, false
	case b.kind == run && a.kind == dayOfMonth:
		for t := b.from; !t.After(b.to); t = t.AddDate(0, 0, 1) {
			if t.Day() == a.day {
				joined.from, joined.kind = t, fixed
				return joined, true
			}
		}
		return dateItem{}, false
	case a.from.Equal(b.from) && a.to.Equal(b.to):
		joined.kind, joined.conf = fixed, max(a.conf, b.conf)
		return joined, true
	case a.kind == run && b.kind == run:
		return dateItem{}, false
	case s.apart(a, b):
		return dateItem{}, false
	case a.kind == weekday && b.kind != weekday:
		return s.beside(joined, b, a)
	case b.kind == weekday && a.kind != weekday:
		return s.beside(joined, a, b)
	}
	return dateItem{}, false
}

// apart reports whether words that set two days against each other stand
// between two mentions.
func (s *scanner) apart(a, b dateItem) bool {
	for i := min(a.To, b.To); i < max(a.From, b.From); i++ {
		if s.is(i, "to", "or", "au", "ama", "and", "na", "hadi", "mpaka", "till", "until", "-", "not") || correcting(s.text(i)) || s.toks[i].Kind == lex.Break {
			return true
		}
	}
	return max(a.From, b.From)-min(a.To, b.To) > 3
}

// beside keeps a day that a weekday stands beside. Where the two disagree the
// person made a slip in one of them.
func (s *scanner) beside(joined, exact, named dateItem) (dateItem, bool) {
	joined.from, joined.to, joined.kind, joined.day = exact.from, exact.to, fixed, 0
	joined.conf = max(exact.conf, named.conf)
	if exact.from.Weekday() != named.from.Weekday() {
		joined.conf = doubtful
	}
	return joined, true
}

// choose settles between several days.
func (s *scanner) choose(ds []dateItem) dateItem {
	a, b := ds[0], ds[len(ds)-1]
	between, moved, corrected := "", false, false
	for i := range s.toks {
		moved = moved || moving(s.toks[i].Text)
	}
	for i := a.To; i < b.From; i++ {
		corrected = corrected || correcting(s.toks[i].Text)
		if s.is(i, "to", "or", "au", "ama", "hadi", "mpaka", "till", "until", "-", "and", "na") {
			between = s.toks[i].Text
		}
	}
	out := b
	out.conf = doubtful
	switch {
	case len(ds) > 2 || a.fault != "" || b.fault != "":
	case corrected:
		out.conf = min(b.conf, 0.87)
	case moved:
		out.conf = 0.65
	case between == "or" || between == "au" || between == "ama" || between == "and" || between == "na":
		out = a
		out.conf = 0.6
		if b.from.Sub(a.from) == 24*time.Hour {
			out.to, out.conf = b.from, probable
		}
	case between != "" && b.from.After(a.from):
		out = a
		out.to, out.conf = b.from, probable
		if !b.to.IsZero() {
			out.to = b.to
		}
	}
	return out
}

// dropPast takes away the times of today that are over.
func (s *scanner) dropPast(w *graph.When) {
	if w.Date != dateText(s.today) || w.DateTo != "" || w.Fault != "" {
		return
	}
	now := clockText(s.now.Hour()*60 + s.now.Minute())
	over := func(t string) bool { return t != "" && t <= now }
	named := len(s.dates) == 1 && s.dates[0].kind == weekday
	past := false
	if len(w.Options) > 0 {
		left := slices.DeleteFunc(slices.Clone(w.Options), over)
		switch len(left) {
		case 0:
			past = true
		case 1:
			if !named {
				w.Time, w.Options = left[0], nil
			}
		default:
			w.Options = left
		}
	}
	past = past || over(w.Time) && len(w.Options) == 0 || over(w.To)
	switch {
	case past && named:
		w.Date = dateText(s.today.AddDate(0, 0, 7)) // "Friday at 9", said on a Friday at noon
	case past:
		w.Fault, w.Date, w.Time, w.Options, w.From, w.To = Past, "", "", nil, "", ""
	}
}
