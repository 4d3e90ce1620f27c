package when

import "github.com/ratiba/ratiba/internal/understand/lex"

// swahiliHour is the hour, by day, that Swahili calls h: the count begins at
// six in the morning.
func swahiliHour(h int) int { return (h + 6) % 24 }

// saa reads a time that begins with "saa".
func (s *scanner) saa(i int) (clockItem, bool) {
	if s.is(i+1, "ngapi", "yoyote", "zote") {
		return clockItem{}, false
	}
	if s.is(i+1, "za") || s.is(i+1, "ya") {
		return clockItem{}, false
	}
	n, to, ok := lex.ReadNumber(s.toks, i+1)
	if !ok || i+1 < len(s.shut) && s.shut[i+1] {
		return clockItem{}, false
	}
	digits := s.toks[i+1].Kind == lex.Number
	if digits && n > 12 || digits && s.toks[i+1].Raw[0] == '0' {
		if c, ok := s.hoursMinutes(i + 1); ok {
			c.From = i
			return c, true
		}
		if n > 23 {
			return s.noSuchTime(i, to), true
		}
		return s.at(i, to, n*60), true
	}
	if n < 1 || n > 12 {
		return s.noSuchTime(i, to), true
	}
	m := 0
	if digits && (s.is(to, ":") || s.is(to, ".")) && to+1 < len(s.toks) && s.toks[to+1].Kind == lex.Number && s.toks[to+1].Glued && len(s.toks[to+1].Raw) == 2 {
		m, to = s.toks[to+1].Value, to+2
		if m > 59 {
			return s.noSuchTime(i, to), true
		}
	}
	if pm, next, found := s.meridiem(to); found {
		return s.withMeridiem(i, next, n, m, pm), true
	}
	off, to := s.swahiliMinutes(i, to)
	early := swahiliHour(n)*60 + m
	c := clockItem{Span: lex.Span{From: i, To: to}, swahili: 2, conf: 0.92}
	c.readings = []int{early, early + 12*60}
	c.clear = n >= 3 && n <= 11
	if digits {
		c.readings = append(c.readings, n*60+m, n%12*60+12*60+m)
		c.conf = 0.88
		if s.mixed() {
			c.clear, c.conf = false, 0.75
			c.readings = []int{early, s.twelve(i, to, n, m).readings[0], early + 12*60}
			c.swahili = 1
		}
	}
	c.shift(off)
	c.readings = distinct(c.readings)
	if s.maybeLength(i, n) {
		c.clear, c.conf = false, doubtful
	}
	return c, true
}

func distinct(in []int) []int {
	out := in[:0:0]
	for _, v := range in {
		seen := false
		for _, o := range out {
			seen = seen || o == v
		}
		if !seen {
			out = append(out, v)
		}
	}
	return out
}

// maybeLength reports whether "ya saa moja" behind a noun may be the length of
// a service.
func (s *scanner) maybeLength(i, n int) bool {
	return n <= 2 && s.is(i-1, "ya") && !s.is(i-2, "baada", "kabla", "kati")
}

// swahiliMinutes reads what follows the hour: "na nusu", "na robo", "kasorobo",
// "kasoro dakika tano", "na dakika kumi", "kamili".
func (s *scanner) swahiliMinutes(i, to int) (off, next int) {
	between := s.is(i-1, "ya") && s.is(i-2, "kati")
	switch {
	case s.is(to, "na", "u") && s.is(to+1, "nusu"):
		return 30, to + 2
	case s.is(to, "nusu", "unusu", "nanusu"):
		return 30, to + 1
	case s.is(to, "na", "u") && s.is(to+1, "robo"):
		return 15, to + 2
	case s.is(to, "kasorobo", "kasrobo", "kasororobo"):
		return -15, to + 1
	case s.is(to, "kasoro", "kasro") && s.is(to+1, "robo"):
		return -15, to + 2
	case s.is(to, "kasoro"):
		at := to + 1
		if s.is(at, "dakika") {
			at++
		}
		if n, end, ok := lex.ReadNumber(s.toks, at); ok && n < 60 {
			return -n, end
		}
	case s.is(to, "na") && s.is(to+1, "dakika"):
		if n, end, ok := lex.ReadNumber(s.toks, to+2); ok && n < 60 {
			return n, end
		}
	case s.is(to, "kamili"):
		return 0, to + 1
	case !between && s.is(to, "na"):
		if n, end, ok := lex.ReadNumber(s.toks, to+1); ok && n >= 5 && n < 60 && n%5 == 0 && s.ends(end) {
			return n, end
		}
	}
	return 0, to
}

// mixed reports whether English function words stand in the text, so that
// digits after "saa" may be meant either way.
func (s *scanner) mixed() bool {
	if s.english == unread {
		s.english = no
		if s.readsEnglish() {
			s.english = yes
		}
	}
	return s.english == yes
}

func (s *scanner) readsEnglish() bool {
	for i := range s.toks {
		if s.is(i, "the", "at", "on", "for", "i", "please", "book", "me", "my", "want", "can", "is", "tomorrow", "today", "next", "need", "would", "like", "and", "with", "you") {
			return true
		}
	}
	return false
}

// part reads a part of the day that is no clock time.
func (s *scanner) part(i int) (partItem, bool) {
	w := s.text(i)
	p, ok := dayParts[w]
	item := partItem{lex.Span{From: i, To: i + 1}, p}
	switch {
	case w == "lunch" && s.is(i+1, "time", "hour", "break"):
		return partItem{lex.Span{From: i, To: i + 2}, lunch}, true
	case w == "after" && s.is(i+1, "lunch"):
		return partItem{lex.Span{From: i, To: i + 2}, part{14 * 60, 17 * 60, 13 * 60, 19 * 60}}, true
	case w == "after" && s.is(i+1, "work"), w == "baada" && s.is(i+1, "ya") && s.is(i+2, "kazi"):
		n := 2
		if w == "baada" {
			n = 3
		}
		return partItem{lex.Span{From: i, To: i + n}, part{17 * 60, 21 * 60, 16 * 60, 22 * 60}}, true
	case w == "over" && s.is(i+1, "lunch"):
		return partItem{lex.Span{From: i, To: i + 2}, lunch}, true
	case !ok, w == "eve" && s.is(i-1, "christmas", "year", "years"):
		return partItem{}, false
	case w == "mapema" && (s.partBeside(i) || s.is(i+1, "kidogo", "zaidi", "iwezekanavyo")):
		return partItem{}, false
	case w == "morning" && (i == 0 || s.toks[i-1].Kind == lex.Break) && !s.is(i+1, "or", "and", "is", "works", "would") && !s.expect.Time && !s.expect.Date:
		if _, _, isNumber := lex.ReadNumber(s.toks, i+1); !isNumber {
			return partItem{}, false // "Morning, ..." greets
		}
	}
	switch {
	case s.is(i-1, "early"):
		item.To, item.from, item.to = i+1, p.from, p.from+(p.to-p.from)/2
		item.From = i - 1
	case s.is(i-1, "late"):
		item.From, item.from = i-1, p.from+(p.to-p.from)/2
		if w == "afternoon" {
			item.from, item.part.to = 15*60, 18*60
		}
	}
	return item, true
}

func (s *scanner) partBeside(i int) bool {
	_, before := dayParts[s.text(i-1)]
	_, after := dayParts[s.text(i+1)]
	return before || after
}
