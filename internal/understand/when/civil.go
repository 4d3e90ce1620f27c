package when

import (
	"time"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

// exists returns the date, if there is such a day.
func exists(year, month, day int) (time.Time, bool) {
	if year < 1900 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return t, t.Day() == day
}

// civil makes the mention of a day, month and year; year 0 means the next one.
func (s *scanner) civil(from, to, year, month, day int) dateItem {
	guess := year == 0
	if guess {
		year = s.today.Year()
	}
	t, ok := exists(year, month, day)
	if guess && !ok && month == 2 && day == 29 && s.today.Month() > 2 {
		t, ok = exists(year+1, month, day)
	}
	if !ok {
		return s.faulty(from, to, NoSuchDate)
	}
	if t.Before(s.today) {
		if !guess || s.today.Sub(t) <= slipDays*24*time.Hour {
			return s.faulty(from, to, Past)
		}
		if t, ok = exists(year+1, month, day); !ok {
			return s.faulty(from, to, NoSuchDate)
		}
	}
	return s.single(from, to, t)
}

// dayAlone makes the mention of a day of the month: the next such day.
func (s *scanner) dayAlone(from, to, day int) dateItem {
	if day < 1 || day > 31 {
		return s.faulty(from, to, NoSuchDate)
	}
	first := s.today.AddDate(0, 0, 1-s.today.Day())
	if day < s.today.Day() {
		first = first.AddDate(0, 1, 0)
	}
	conf := 0.95
	for range 3 {
		if t, ok := exists(first.Year(), int(first.Month()), day); ok {
			return dateItem{Span: lex.Span{From: from, To: to}, kind: dayOfMonth, from: t, day: day, conf: conf}
		}
		first, conf = first.AddDate(0, 1, 0), 0.75
	}
	return s.faulty(from, to, NoSuchDate)
}

// numericDate reads 5/12, 5/12/2026, 5-12-2026, 5.12.2026 and 2026-12-05.
func (s *scanner) numericDate(i int) (dateItem, bool) {
	a, ok := s.digits(i)
	if !ok || i+2 >= len(s.toks) {
		return dateItem{}, false
	}
	sep := s.text(i + 1)
	if sep != "/" && sep != "-" && sep != "." || !s.toks[i+1].Glued {
		return dateItem{}, false
	}
	b, ok := s.digits(i + 2)
	if !ok || !s.toks[i+2].Glued || len(s.toks[i+2].Raw) > 2 {
		return dateItem{}, false
	}
	c, three := 0, false
	if s.text(i+3) == sep && s.toks[i+3].Glued && i+4 < len(s.toks) && s.toks[i+4].Glued {
		c, three = s.digits(i + 4)
	}
	switch {
	case three && len(s.toks[i].Raw) == 4 && len(s.toks[i+4].Raw) <= 2:
		return s.civil(i, i+5, a, b, c), true
	case len(s.toks[i].Raw) > 2:
		return dateItem{}, false
	case three && len(s.toks[i+4].Raw) == 4:
		return s.dayFirst(i, i+5, a, b, c), true
	case three && len(s.toks[i+4].Raw) == 2:
		if sep == "." && s.is(i+5, "am", "pm") {
			return dateItem{}, false
		}
		return s.dayFirst(i, i+5, a, b, 2000+c), true
	case three || sep != "/":
		return dateItem{}, false
	}
	if s.is(i+3, "=") {
		return dateItem{}, false
	}
	return s.dayFirst(i, i+3, a, b, 0), true
}

// dayFirst reads the day first, and the month first only where that alone is
// possible.
func (s *scanner) dayFirst(from, to, a, b, year int) dateItem {
	if b > 12 && b <= 31 && a >= 1 && a <= 12 {
		item := s.civil(from, to, year, a, b)
		item.conf = min(item.conf, probable)
		return item
	}
	return s.civil(from, to, year, b, a)
}

func (s *scanner) digits(i int) (int, bool) {
	if i < 0 || i >= len(s.toks) || s.toks[i].Kind != lex.Number || s.shut[i] {
		return 0, false
	}
	return s.toks[i].Value, s.toks[i].Value >= 0
}

// relative reads distances from now: "in two weeks", "baada ya siku tatu", "a
// week from today", "in an hour", "right now".
func (s *scanner) relative() {
	s.fromAbout()
	for i := range s.toks {
		switch {
		case s.shut[i] || s.used[i]:
		case s.is(i, "in", "after"):
			s.distance(i, i+1)
		case s.is(i, "baada") && s.is(i+1, "ya"):
			s.distance(i, i+2)
		case s.is(i, "within"):
			s.distance(i, i+1)
		case s.is(i-1, "not"):
		case s.is(i, "right") && s.is(i+1, "now"), s.is(i, "sasa") && s.is(i+1, "hivi"), s.is(i, "saa") && s.is(i+1, "hii", "hizi", "hivi"):
			s.soon(i, i+2)
		case s.is(i, "now") && (s.is(i+1, "please") || i == len(s.toks)-1 && i > 0):
			s.soon(i, i+1)
		case s.is(i, "later") && s.is(i+1, "today"), s.is(i, "baadaye") && s.is(i+1, "leo"), s.is(i, "leo") && s.is(i+1, "baadaye"):
			s.soon(i, i+2)
		case s.is(i, "any", "wakati", "saa") && s.is(i+1, "time", "wowote", "yoyote"):
			fill(s.used, lex.Span{From: i, To: i + 2})
			s.open = true
		case s.is(i, "anytime"):
			fill(s.used, lex.Span{From: i, To: i + 1})
			s.open = true
		default:
			s.fromNow(i)
		}
	}
}

// soon notes "from now on, today".
func (s *scanner) soon(from, to int) {
	d := s.single(from, to, s.today)
	s.dates = append(s.dates, d)
	fill(s.used, d.Span)
	at := s.now.Hour()*60 + s.now.Minute()
	s.parts = append(s.parts, partItem{d.Span, part{from: at, to: 23*60 + 59, lenient: at, until: 23*60 + 59}})
}

// distance reads a number and a unit at token at, "from now" understood.
func (s *scanner) distance(from, at int) {
	if s.is(at, "wiki", "siku", "mwezi", "miezi", "masaa", "dakika", "lisaa") {
		n, to, ok := lex.ReadNumber(s.toks, at+1)
		if ok {
			s.ahead(from, to, n, s.text(at))
		}
		return
	}
	n, unit, ok := s.counted(at)
	if !ok {
		return
	}
	if s.is(from, "after", "within") && s.is(unit, "hour", "hours", "minutes", "minute", "mins") {
		return // "after 2 hours" may be a length
	}
	s.ahead(from, unit+1, n, s.text(unit))
}

// counted reads "two", "a", "an", "a couple of" before a unit.
func (s *scanner) counted(at int) (n, unit int, ok bool) {
	switch {
	case s.is(at, "a", "an"):
		if s.is(at+1, "couple") && s.is(at+2, "of") {
			return 2, at + 3, true
		}
		return 1, at + 1, true
	case s.is(at, "the", "this"):
		return 0, at, false
	}
	return lex.ReadNumber(s.toks, at)
}

// fromNow reads "two weeks from now", "a week from today", "siku tatu zijazo".
func (s *scanner) fromNow(i int) {
	if s.is(i, "siku", "wiki") {
		switch n, to, ok := lex.ReadNumber(s.toks, i+1); {
		case ok && s.is(to, "zijazo"):
			s.ahead(i, to+1, n, s.text(i))
		case ok && s.is(to, "kutoka", "kuanzia", "tangu") && s.is(to+1, "leo", "sasa"):
			s.ahead(i, to+2, n, s.text(i))
		}
		return
	}
	n, unit, ok := s.counted(i)
	if ok && s.is(unit+1, "from") && s.is(unit+2, "now", "today") {
		s.ahead(i, unit+3, n, s.text(unit))
	}
	if ok && s.is(unit+1, "time") && s.is(unit, "weeks", "days") {
		s.ahead(i, unit+2, n, s.text(unit))
	}
}

// ahead notes the day or the minute n units from now.
func (s *scanner) ahead(from, to, n int, unit string) {
	if n < 0 || n > 1000 {
		return
	}
	if s.is(to, "time") || s.is(to, "'") && s.is(to+1, "time") {
		to++
	}
	at := s.today
	switch unit {
	case "day", "days", "siku":
		at = at.AddDate(0, 0, n)
	case "week", "weeks", "wiki":
		at = at.AddDate(0, 0, 7*n)
	case "fortnight":
		at = at.AddDate(0, 0, 14*n)
	case "month", "months", "mwezi", "miezi":
		at = at.AddDate(0, n, 0)
		if at.Day() != s.today.Day() {
			at = at.AddDate(0, 0, -at.Day())
		}
	case "hour", "hours", "hr", "hrs", "masaa", "lisaa":
		s.minutesAhead(from, to, 60*n)
		return
	case "minute", "minutes", "min", "mins", "dakika":
		s.minutesAhead(from, to, n)
		return
	default:
		return
	}
	d := s.single(from, to, at)
	d.conf = 0.92
	s.dates = append(s.dates, d)
	fill(s.used, d.Span)
}

func (s *scanner) minutesAhead(from, to, n int) {
	local := time.Date(s.today.Year(), s.today.Month(), s.today.Day(), s.now.Hour(), s.now.Minute(), 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	sp := lex.Span{From: from, To: to}
	s.dates = append(s.dates, s.single(from, to, time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)))
	s.clocks = append(s.clocks, clockItem{Span: sp, readings: []int{local.Hour()*60 + local.Minute()}, exact: true, clear: true, conf: 0.9})
	fill(s.used, sp)
}
