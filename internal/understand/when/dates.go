package when

import (
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

const (
	certain  = 0.97
	probable = 0.80 // under the acting threshold: the summary must show it
	doubtful = 0.50
)

// slipDays is how long ago a day and month without a year may have been for it
// to be a slip and not the one of next year.
const slipDays = 31

// date reads the mention of a day that begins at token i.
func (s *scanner) date(i int) (dateItem, bool) {
	t := s.toks[i]
	if t.Kind == lex.Number {
		if s.toks[i].Raw == "2" && i+1 < len(s.toks) && s.toks[i+1].Glued {
			switch s.text(i + 1) { // "2moro": the digit is a sound
			case "moro", "morow", "morrow", "mrw", "mro", "moz":
				return s.single(i, i+2, s.today.AddDate(0, 0, 1)), true
			case "day":
				return s.single(i, i+2, s.today), true
			}
		}
		if d, ok := s.numericDate(i); ok {
			return d, true
		}
		return s.dayAndMonth(i)
	}
	if t.Kind != lex.Word {
		return dateItem{}, false
	}
	if d, ok := s.dayWord(i); ok {
		return d, true
	}
	if d, ok := s.weekdayAt(i); ok {
		return d, true
	}
	if d, ok := s.holiday(i); ok {
		return d, true
	}
	if d, ok := s.period(i); ok {
		return d, true
	}
	if d, ok := s.tarehe(i); ok {
		return d, true
	}
	if d, ok := s.monthFirst(i); ok {
		return d, true
	}
	return s.dayAndMonth(i)
}

func (s *scanner) single(from, to int, at time.Time) dateItem {
	return dateItem{Span: lex.Span{From: from, To: to}, from: at, conf: certain}
}

func (s *scanner) faulty(from, to int, fault string) dateItem {
	return dateItem{Span: lex.Span{From: from, To: to}, fault: fault, conf: 0.95}
}

// dayWord reads today, tomorrow and their kin.
func (s *scanner) dayWord(i int) (dateItem, bool) {
	w := s.text(i)
	switch {
	case w == "today" || w == "todays" || w == "leo" || w == "2day" || w == "tody":
		return s.single(i, i+1, s.today), true
	case w == "tonight" || w == "tonite":
		// The part of the day is read from the same word.
		s.parts = append(s.parts, partItem{lex.Span{From: i, To: i + 1}, night})
		return s.single(i, i+1, s.today), true
	case w == "this" && s.is(i+1, "morning", "afternoon", "evening"):
		return s.single(i, i+1, s.today), true
	case w == "keshokutwa" || w == "kesho" && s.is(i+1, "kutwa"):
		n := 1
		if w == "kesho" {
			n = 2
		}
		return s.single(i, i+n, s.today.AddDate(0, 0, 2)), true
	case w == "mtondo":
		return s.single(i, i+1, s.today.AddDate(0, 0, 3)), true
	case w == "day" && s.is(i+1, "after") && tomorrows[s.text(i+2)]:
		from := i
		if s.is(i-1, "the") {
			from--
		}
		return s.single(from, i+3, s.today.AddDate(0, 0, 2)), true
	case tomorrows[w]:
		return s.single(i, i+1, s.today.AddDate(0, 0, 1)), true
	case (w == "yesterday" || w == "jana" || w == "juzi") && s.expect.Date:
		return s.faulty(i, i+1, Past), true
	}
	return dateItem{}, false
}

func (s *scanner) weekdayWord(i int) (day time.Weekday, next int, ok bool) {
	w := s.text(i)
	if i < len(s.toks) {
		switch before, after, cut := strings.Cut(s.toks[i].Raw, "'"); {
		case cut && after == "s":
			w = strings.TrimSuffix(w, "s") // "Monday's lesson"
		case cut && before != "":
			return 0, i, false // "we'd"
		}
	}
	if d, found := weekdays[w]; found {
		return d, i + 1, true
	}
	if w == "juma" || w == "j" {
		if s.is(i+1, "'") {
			i++
		}
		d, ok := jumas[s.text(i+1)]
		return d, i + 2, ok
	}
	if len(w) < 5 || len(w) > 10 || w[len(w)-1] == 's' {
		return 0, i, false
	}
	for _, full := range longWeekdays {
		if full[0] == w[0] && full[len(full)-1] == w[len(w)-1] && lex.Near(w, full, 1) {
			return weekdays[full], i + 1, true
		}
	}
	return 0, i, false
}

// monday returns the Monday of the calendar week.
func monday(t time.Time) time.Time { return t.AddDate(0, 0, -((int(t.Weekday()) + 6) % 7)) }

func (s *scanner) coming(d time.Weekday) time.Time {
	return s.today.AddDate(0, 0, (int(d)-int(s.today.Weekday())+7)%7)
}

func (s *scanner) inNextWeek(d time.Weekday) time.Time {
	return monday(s.today).AddDate(0, 0, 7+(int(d)+6)%7)
}

// weekdayAt reads "Friday", "next Friday", "ijumaa ijayo", "Friday next week".
func (s *scanner) weekdayAt(i int) (dateItem, bool) {
	at, next, this, last := i, false, false, false
	switch s.text(i) {
	case "next", "nxt":
		at, next = i+1, true
	case "this", "coming":
		at, this = i+1, true
	case "last", "past":
		at, last = i+1, true
	}
	d, to, ok := s.weekdayWord(at)
	if !ok {
		return dateItem{}, false
	}
	switch {
	case s.is(to, "ijayo", "inayokuja", "inayofuata"):
		next, to = true, to+1
	case s.is(to, "hii"):
		this, to = true, to+1
	case s.is(to, "iliyopita"):
		last, to = true, to+1
	}
	if last {
		if s.expect.Date {
			return s.faulty(i, to, Past), true
		}
		return dateItem{}, false
	}
	week := to
	for s.is(week, ",", "of", "ya", "in") {
		week++
	}
	switch {
	case s.is(week, "next", "nxt") && s.is(week+1, "week") || s.is(week, "wiki") && s.is(week+1, "ijayo", "inayokuja", "lijalo"):
		return s.single(i, week+2, s.inNextWeek(d)), true
	case s.is(week, "this") && s.is(week+1, "week") || s.is(week, "wiki") && s.is(week+1, "hii"):
		return s.single(i, week+2, s.coming(d)), true
	case next:
		item := s.single(i, to, s.inNextWeek(d))
		if !s.coming(d).Equal(item.from) && !s.coming(d).Equal(s.today) {
			item.conf = probable
		}
		return item, true
	}
	item := s.single(i, to, s.coming(d))
	if !this {
		item.kind = weekday
	}
	return item, true
}

// period reads weeks, weekends and months.
func (s *scanner) period(i int) (dateItem, bool) {
	w := s.text(i)
	span := func(to int, first, last time.Time) (dateItem, bool) {
		return dateItem{Span: lex.Span{From: i, To: to}, kind: run, from: later(first, s.today), to: last, conf: 0.95}, true
	}
	week := monday(s.today)
	month := s.today.AddDate(0, 0, 1-s.today.Day())
	weekend := week.AddDate(0, 0, 5)
	switch {
	case (w == "next" || w == "nxt") && s.is(i+1, "week") || w == "wiki" && s.is(i+1, "ijayo", "inayokuja", "inayofuata", "lijalo"):
		return span(i+2, week.AddDate(0, 0, 7), week.AddDate(0, 0, 13))
	case w == "this" && s.is(i+1, "week") || w == "wiki" && s.is(i+1, "hii"):
		return span(i+2, s.today, week.AddDate(0, 0, 6))
	case w == "next" && s.is(i+1, "weekend", "wikendi") || (w == "wikendi" || w == "weekend") && s.is(i+1, "ijayo"):
		return span(i+2, weekend.AddDate(0, 0, 7), weekend.AddDate(0, 0, 8))
	case w == "this" && s.is(i+1, "weekend", "wikendi") || (w == "wikendi" || w == "weekend") && s.is(i+1, "hii"):
		return span(i+2, weekend, weekend.AddDate(0, 0, 1))
	case w == "weekend" || w == "wikendi" || w == "wkend":
		return span(i+1, weekend, weekend.AddDate(0, 0, 1))
	case w == "mwisho" && s.is(i+1, "wa") && s.is(i+2, "wiki", "juma"):
		return span(i+3, weekend, weekend.AddDate(0, 0, 1))
	case w == "end" && s.is(i+1, "of") && s.is(i+2, "month") || w == "mwisho" && s.is(i+1, "wa") && s.is(i+2, "mwezi") || w == "end" && s.is(i+1, "of") && s.is(i+2, "the") && s.is(i+3, "month"):
		to := i + 3
		if s.is(i+2, "the") {
			to++
		}
		item, ok := span(to, month.AddDate(0, 1, -7), month.AddDate(0, 1, -1))
		item.conf = 0.75
		return item, ok
	case w == "next" && s.is(i+1, "month") || w == "mwezi" && s.is(i+1, "ujao", "unaokuja"):
		return span(i+2, month.AddDate(0, 1, 0), month.AddDate(0, 2, -1))
	case w == "this" && s.is(i+1, "month") || w == "mwezi" && s.is(i+1, "huu"):
		return span(i+2, month, month.AddDate(0, 1, -1))
	case w == "any" && s.is(i+1, "day") || w == "siku" && s.is(i+1, "yoyote", "yeyote"):
		return span(i+2, s.today, s.today.AddDate(0, 0, 14))
	}
	return s.monthAlone(i)
}

// monthAlone reads "in December" and "mwezi wa Desemba".
func (s *scanner) monthAlone(i int) (dateItem, bool) {
	at := i + 1
	if !s.is(i, "in") {
		if !s.is(i, "mwezi") || !s.is(i+1, "wa") {
			return dateItem{}, false
		}
		at++
	}
	m, to, ok := s.month(at)
	if !ok && s.is(i, "mwezi") {
		var n int
		if n, to, ok = lex.ReadNumber(s.toks, at); ok {
			m, ok = time.Month(n), n >= 1 && n <= 12
		}
	}
	if !ok {
		return dateItem{}, false
	}
	first := time.Date(s.today.Year(), m, 1, 0, 0, 0, 0, time.UTC)
	if m < s.today.Month() {
		first = first.AddDate(1, 0, 0)
	}
	return dateItem{Span: lex.Span{From: i, To: to}, kind: run, from: later(first, s.today), to: first.AddDate(0, 1, -1), conf: 0.9}, true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (s *scanner) month(i int) (m time.Month, next int, ok bool) {
	w := s.text(i)
	if m, ok = months[w]; ok {
		next = i + 1
		if s.text(next) == "." && next < len(s.toks) && s.toks[next].Glued && len(w) <= 4 {
			next++
		}
		return m, next, true
	}
	return 0, i, false
}

// tarehe reads "tarehe 5", "tarehe tano Desemba", "tarehe 5 mwezi ujao", and
// "the 5th", "on the fifth".
func (s *scanner) tarehe(i int) (dateItem, bool) {
	switch {
	case s.is(i, "tarehe", "tar", "trh", "date"):
		at := i + 1
		if s.is(at, "ya") {
			at++
		}
		if d, ok := s.numericDate(at); ok {
			d.From = i
			return d, true
		}
		n, to, ok := lex.ReadNumber(s.toks, at)
		if ordinal, after, found := lex.ReadOrdinal(s.toks, at); found {
			n, to, ok = ordinal, after, true
		}
		if !ok || s.shut[at] {
			return dateItem{}, false
		}
		return s.withMonth(i, to, n), true
	case s.is(i, "the"):
		n, to, ok := lex.ReadOrdinal(s.toks, i+1)
		if !ok {
			return dateItem{}, false
		}
		digits := s.toks[i+1].Kind == lex.Number
		if _, _, named := s.monthAfter(to); !digits && !named && !s.is(i-1, "on") {
			return dateItem{}, false // "the first", "the second": a choice, not a day
		}
		if !s.ends(to) {
			return dateItem{}, false
		}
		return s.withMonth(i, to, n), true
	}
	return dateItem{}, false
}

// ends reports whether what stands at i lets a bare number before it be a day
// or a time: nothing, a mark, a word of time, or a function word.
func (s *scanner) ends(i int) bool {
	if i >= len(s.toks) || s.toks[i].Kind != lex.Word {
		return i >= len(s.toks) || s.toks[i].Kind != lex.Number || !s.toks[i].Glued
	}
	w := s.toks[i].Text
	_, isPart := dayParts[w]
	_, isDay := weekdays[w]
	_, isMonth := months[w]
	return follows[w] || isPart || isDay || isMonth || tomorrows[w]
}

// monthAfter reads the month behind a day: "December", "of December", "mwezi wa
// kumi na mbili", "this month", "mwezi ujao".
func (s *scanner) monthAfter(i int) (m time.Month, next int, ok bool) {
	at := i
	for s.is(at, "of", "ya", ",", "mwezi", "wa", "-", "/") {
		at++
	}
	if m, next, ok = s.month(at); ok {
		return m, next, true
	}
	if at > i && s.is(at-1, "wa") && s.is(at-2, "mwezi") {
		if n, to, found := lex.ReadNumber(s.toks, at); found && n >= 1 && n <= 12 {
			return time.Month(n), to, true
		}
	}
	of := i
	for s.is(of, "of", "ya", ",") {
		of++
	}
	switch {
	case s.is(of, "this") && s.is(of+1, "month"), s.is(of, "mwezi") && s.is(of+1, "huu"):
		return s.today.Month(), of + 2, true
	case s.is(of, "next") && s.is(of+1, "month"), s.is(of, "mwezi") && s.is(of+1, "ujao", "unaokuja"):
		return s.today.AddDate(0, 1, 1-s.today.Day()).Month(), of + 2, true
	}
	return 0, i, false
}

// withMonth finishes a day of the month that was read from tokens [from, to).
func (s *scanner) withMonth(from, to, day int) dateItem {
	m, next, ok := s.monthAfter(to)
	if !ok {
		return s.dayAlone(from, to, day)
	}
	if s.is(next-1, "month", "huu", "ujao", "unaokuja") {
		year := s.today.Year()
		if m < s.today.Month() {
			year++
		}
		return s.civil(from, next, year, int(m), day)
	}
	year, end := s.year(next)
	return s.civil(from, end, year, int(m), day)
}

// year reads a year behind a month; 0 when there is none.
func (s *scanner) year(i int) (year, next int) {
	at := i
	for s.is(at, ",", "of", "mwaka") {
		at++
	}
	if at < len(s.toks) && s.toks[at].Kind == lex.Number && len(s.toks[at].Raw) == 4 && s.toks[at].Value >= 1900 && s.toks[at].Value <= 2200 && !s.is(at+1, "hrs", "hours") {
		return s.toks[at].Value, at + 1
	}
	return 0, i
}

// dayAndMonth reads "5 December", "5th of March", "fifth of March", "5th".
func (s *scanner) dayAndMonth(i int) (dateItem, bool) {
	n, to, ordinal := lex.ReadOrdinal(s.toks, i)
	if !ordinal {
		var ok bool
		if n, to, ok = lex.ReadNumber(s.toks, i); !ok || s.toks[i].Kind == lex.Word && n == 1 {
			return dateItem{}, false
		}
	}
	if s.shut[i] {
		return dateItem{}, false
	}
	_, after, named := s.monthAfter(to)
	if named {
		if name := s.text(after - 1); name == "may" && !ordinal && s.is(after, "i", "we", "you") {
			return dateItem{}, false
		}
		return s.withMonth(i, to, n), true
	}
	if ordinal && s.toks[i].Kind == lex.Number && s.ends(to) {
		return s.withMonth(i, to, n), true
	}
	return dateItem{}, false
}

// monthFirst reads "December 5", "March the 5th", "Desemba tarehe 5".
func (s *scanner) monthFirst(i int) (dateItem, bool) {
	m, at, ok := s.month(i)
	if !ok {
		return dateItem{}, false
	}
	for s.is(at, "the", "tarehe") {
		at++
	}
	n, to, ordinal := lex.ReadOrdinal(s.toks, at)
	if !ordinal {
		if at >= len(s.toks) || s.toks[at].Kind != lex.Number || len(s.toks[at].Raw) > 2 || s.is(at+1, ":", "am", "pm") {
			return dateItem{}, false
		}
		n, to = s.toks[at].Value, at+1
	}
	year, end := s.year(to)
	return s.civil(i, end, year, int(m), n), true
}
