package when

import "github.com/ratiba/ratiba/internal/understand/lex"

const day = 24 * 60

// clock reads the time of day that begins at token i.
func (s *scanner) clock(i int) (clockItem, bool) {
	switch s.toks[i].Kind {
	case lex.Number:
		if c, ok := s.hoursMinutes(i); ok {
			return c, true
		}
		if c, ok := s.military(i); ok {
			return c, true
		}
	case lex.Word:
		if s.is(i, "saa", "sa") {
			return s.saa(i)
		}
		switch s.text(i) {
		case "noon", "midday", "adhuhuri":
			return s.at(i, i+1, 12*60), true
		case "midnight":
			return s.at(i, i+1, 0), true
		}
		if c, ok := s.quarters(i); ok {
			return c, true
		}
	case lex.Mark, lex.Emoji, lex.Break:
		return clockItem{}, false
	}
	return s.hour(i)
}

// at is a time that nothing beside it can change.
func (s *scanner) at(from, to, minutes int) clockItem {
	return clockItem{Span: lex.Span{From: from, To: to}, readings: []int{minutes}, exact: true, clear: true, conf: certain}
}

func (s *scanner) noSuchTime(from, to int) clockItem {
	return clockItem{Span: lex.Span{From: from, To: to}, fault: NoSuchTime, conf: 0.9}
}

// twelve is a time on a clock of twelve hours, without am or pm.
func (s *scanner) twelve(from, to, h, m int) clockItem {
	c := clockItem{Span: lex.Span{From: from, To: to}, conf: 0.9}
	switch {
	case h == 12:
		c.readings, c.clear, c.conf = []int{12*60 + m, m}, true, 0.87
	case h <= 6:
		c.readings = []int{(h+12)*60 + m, h*60 + m}
	default:
		c.readings = []int{h*60 + m, (h+12)*60 + m}
	}
	return c
}

// meridiem reads am or pm at token i.
func (s *scanner) meridiem(i int) (pm bool, next int, ok bool) {
	switch s.text(i) {
	case "am", "pm":
		return s.text(i) == "pm", i + 1, true
	case "a", "p":
		if s.text(i+1) == "." && s.is(i+2, "m") {
			next = i + 3
			if s.text(next) == "." && s.toks[next].Glued {
				next++
			}
			return s.text(i) == "p", next, true
		}
		if s.is(i+1, "m") && s.toks[i].Kind == lex.Word && s.is(i, "p") {
			return true, i + 2, true
		}
	}
	return false, i, false
}

// withMeridiem finishes an hour that has am or pm.
func (s *scanner) withMeridiem(from, to, h, m int, pm bool) clockItem {
	switch {
	case h > 23 || m > 59 || h > 12 && !pm:
		return s.noSuchTime(from, to)
	case h > 12:
	case pm && h < 12:
		h += 12
	case !pm && h == 12:
		h = 0
	}
	return s.at(from, to, h*60+m)
}

// hoursMinutes reads 15:00, 3:30pm, 3.30 pm, 15h30.
func (s *scanner) hoursMinutes(i int) (clockItem, bool) {
	h, ok := s.digits(i)
	if !ok || len(s.toks[i].Raw) > 2 || i+2 >= len(s.toks) || !s.toks[i+1].Glued || !s.toks[i+2].Glued {
		return clockItem{}, false
	}
	if s.is(i-1, "/", ".", "-", ":") && s.toks[i].Glued && s.text(i-1) != "-" {
		return clockItem{}, false
	}
	sep := s.text(i + 1)
	m, ok := s.digits(i + 2)
	if !ok || len(s.toks[i+2].Raw) != 2 || sep != ":" && sep != "." && sep != "h" {
		return clockItem{}, false
	}
	to := i + 3
	if s.is(to, ":") && to+1 < len(s.toks) && s.toks[to+1].Glued && s.toks[to+1].Kind == lex.Number {
		to += 2
	}
	if pm, next, ok := s.meridiem(to); ok {
		return s.withMeridiem(i, next, h, m, pm), true
	}
	if sep == "." && !s.anchored(i) && !(s.expect.Time && m%5 == 0) && !s.partNear(i, to) {
		return clockItem{}, false // a price or a version, as far as one can tell
	}
	switch {
	case h > 23 || m > 59:
		return s.noSuchTime(i, to), true
	case h > 12 || h == 0 || s.toks[i].Raw[0] == '0':
		return s.at(i, s.hrs(to), h*60+m), true
	}
	return s.twelve(i, s.hrs(to), h, m), true
}

func (s *scanner) hrs(i int) int {
	if s.is(i, "hrs", "hours", "h", "oclock") {
		return i + 1
	}
	return i
}

// partNear reports whether a part of the day stands at either side.
func (s *scanner) partNear(from, to int) bool {
	if _, ok := dayParts[s.text(from-1)]; ok {
		return true
	}
	for range 3 {
		if _, ok := dayParts[s.text(to)]; ok {
			return true
		}
		if !s.is(to, "in", "at", "the", "ya", "za") {
			break
		}
		to++
	}
	return false
}

// englishPart reports whether the part of the day beside [from, to) is named in
// English, where nobody counts hours from six.
func (s *scanner) englishPart(from, to int) bool {
	for i := from - 1; i < to+3; i++ {
		switch s.text(i) {
		case "morning", "morn", "mornin", "afternoon", "afternoons", "evening", "night", "tonight", "tonite":
			return true
		}
	}
	return false
}

// military reads 1500hrs, 0900 hours, 15hrs.
func (s *scanner) military(i int) (clockItem, bool) {
	n, ok := s.digits(i)
	if !ok || !s.is(i+1, "hrs", "hours", "hr", "h") {
		return clockItem{}, false
	}
	switch raw := s.toks[i].Raw; {
	case len(raw) == 4 && n/100 < 24 && n%100 < 60:
		return s.at(i, i+2, n/100*60+n%100), true
	case len(raw) == 4:
		return s.noSuchTime(i, i+2), true
	case len(raw) == 2 && n > 12 && n < 24:
		return s.at(i, i+2, n*60), true
	}
	return clockItem{}, false
}

// quarters reads "half past 3", "quarter to four", "ten past two", "half three".
func (s *scanner) quarters(i int) (clockItem, bool) {
	at := i
	if s.is(at, "a") && s.is(at+1, "quarter") {
		at++
	}
	var minutes int
	named := true
	switch s.text(at) {
	case "half":
		minutes = 30
	case "quarter":
		minutes = 15
	case "five", "ten", "twenty":
		n, to, _ := lex.ReadNumber(s.toks, at)
		minutes, at, named = n, to-1, false
		if s.is(at+1, "minutes", "mins") {
			at++
		}
	default:
		return clockItem{}, false
	}
	sign, next := 1, at+2
	switch {
	case s.is(at+1, "past", "after"):
	case s.is(at+1, "to", "before", "till"):
		sign = -1
	case minutes == 30 && named && (s.anchored(i) || s.halfPart(at)):
		next = at + 1 // "at half three"
	default:
		return clockItem{}, false
	}
	h, to, ok := lex.ReadNumber(s.toks, next)
	if !ok || h < 1 || h > 23 || s.shut[next] || !s.ends(to) && !s.is(to, "am", "pm", "oclock", "a", "p", "o") {
		return clockItem{}, false
	}
	to = s.oclock(to)
	if pm, after, found := s.meridiem(to); found {
		c := s.withMeridiem(i, after, h, 0, pm)
		c.shift(sign * minutes)
		return c, true
	}
	c := s.at(i, to, h*60)
	if h <= 12 {
		c = s.twelve(i, to, h, 0)
		c.clear = c.clear && minutes == 30
	}
	c.shift(sign * minutes)
	if !named {
		c.conf = min(c.conf, probable)
	}
	return c, true
}

// halfPart reports whether "half nine" at token i is followed by what tells
// that it is a time: a day or a part of one.
func (s *scanner) halfPart(i int) bool {
	_, to, ok := lex.ReadNumber(s.toks, i+1)
	return ok && s.partNear(i, to+1) || ok && s.partNear(i, to)
}

func (c *clockItem) shift(by int) {
	for i := range c.readings {
		c.readings[i] = (c.readings[i] + by + day) % day
	}
}

// oclock steps over "o'clock" in its spellings.
func (s *scanner) oclock(i int) int {
	switch {
	case s.is(i, "oclock", "oclck", "ish"):
		return i + 1
	case s.is(i, "o") && s.is(i+1, "clock"):
		return i + 2
	case s.is(i, "o") && s.is(i+2, "clock"):
		return i + 3
	}
	return i
}

// hour reads a bare hour, in digits or in words, where something beside it says
// that it is one: am or pm, o'clock, a part of the day, or a preposition before
// it and nothing to count behind it.
func (s *scanner) hour(i int) (clockItem, bool) {
	h, to, ok := lex.ReadNumber(s.toks, i)
	if !ok || s.shut[i] || to <= i {
		return clockItem{}, false
	}
	digits := s.toks[i].Kind == lex.Number
	if digits && len(s.toks[i].Raw) > 2 {
		return clockItem{}, false
	}
	if digits && i > 0 && s.toks[i].Glued && s.toks[i-1].Kind == lex.Word && !s.is(i-1, "at", "saa") {
		return clockItem{}, false // part of a code: K7
	}
	if pm, next, found := s.meridiem(to); found {
		if h > 23 && !digits {
			return clockItem{}, false
		}
		return s.withMeridiem(i, next, h, 0, pm), true
	}
	if after := s.oclock(to); after > to && h >= 1 && h <= 24 {
		if pm, next, found := s.meridiem(after); found {
			return s.withMeridiem(i, next, h, 0, pm), true
		}
		if h > 12 {
			return s.at(i, after, h%24*60), true
		}
		return s.twelve(i, after, h, 0), true
	}
	near := s.partNear(i, to)
	behindDay := len(s.dates) > 0 && s.dates[len(s.dates)-1].To == i && digits && h >= 1 && h <= 12 && s.ends(to) // "Friday 3"
	if !near && !behindDay && !(s.anchored(i) && s.ends(to)) && !s.ranged(i, to) {
		return clockItem{}, false
	}
	if h > 23 {
		if s.is(i-1, "at") && digits {
			return s.noSuchTime(i, to), true
		}
		return clockItem{}, false
	}
	if h > 12 || h == 0 {
		if !digits {
			return clockItem{}, false
		}
		return s.at(i, to, h*60), true
	}
	c := s.twelve(i, to, h, 0)
	if behindDay && !near && !s.anchored(i) {
		c.conf, c.clear = 0.72, false
	}
	if near && !s.englishPart(i, to) {
		// "9 asubuhi" and "8 mchana": the part of the day decides between the clocks.
		c.readings = append(c.readings, swahiliHour(h)*60, (swahiliHour(h)+12)%24*60)
	}
	return c, true
}

// anchored reports whether a preposition of time stands before token i.
func (s *scanner) anchored(i int) bool {
	if s.is(i-1, "about", "around", "like", "the", "say", "exactly", "hivi") && i > 1 {
		i--
	}
	switch s.text(i - 1) {
	case "at", "@", "around", "by", "after", "before", "between", "till", "until", "til", "past", "saa", "onwards":
		return true
	case "from", "to":
		return true
	case "for":
		return s.expect.Time
	case "ya":
		return s.is(i-2, "baada", "kabla", "kati")
	case "hadi", "mpaka", "kuanzia", "mnamo":
		return true
	case "than":
		return s.is(i-2, "later", "earlier", "sooner")
	case "and", "na", "or", "au", "ama", "-":
		return len(s.clocks) > 0 && s.clocks[len(s.clocks)-1].To >= i-2
	}
	return false
}

// ranged reports whether the hour at [i, to) opens a range whose end is a time:
// "2-4pm", "2 to 4 pm".
func (s *scanner) ranged(i, to int) bool {
	if !s.is(to, "-", "to", "hadi", "mpaka", "till", "until") || s.toks[i].Kind != lex.Number {
		return false
	}
	n, end, ok := lex.ReadNumber(s.toks, to+1)
	if !ok || n < 1 || n > 24 {
		return false
	}
	if _, _, found := s.meridiem(end); found {
		return true
	}
	return s.text(to) != "-" && s.expect.Time || s.partNear(i, end) || s.text(end) == ":" && s.toks[end].Glued
}
