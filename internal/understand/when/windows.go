package when

import (
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// pickClocks settles on a time, on options, or on a window.
func (s *scanner) pickClocks(w *graph.When, conf *float64) {
	slices.SortStableFunc(s.clocks, func(a, b clockItem) int { return a.From - b.From })
	cs := s.clocks
	for _, c := range cs {
		if c.fault != "" {
			w.Fault, *conf = c.fault, min(*conf, c.conf)
			return
		}
	}
	for i := range cs {
		s.narrow(&cs[i])
	}
	switch {
	case len(cs) == 0:
		s.window(w, conf)
	case len(cs) >= 2 && s.connected(cs[0], cs[1]):
		s.between(w, conf, cs[0], cs[1])
	case len(cs) >= 2:
		s.several(w, conf, cs)
	default:
		s.one(w, conf, cs[0])
	}
}

// narrow keeps the readings that fit the part of the day beside a clock time:
// the one that touches it, or the only one there is.
func (s *scanner) narrow(c *clockItem) {
	if c.exact || len(s.parts) == 0 {
		if !c.exact && len(c.readings) > 2 {
			c.readings = c.readings[:2]
		}
		return
	}
	p := s.parts[0]
	for _, q := range s.parts[1:] {
		if gap(c.Span, q.Span) < gap(c.Span, p.Span) {
			p = q
		}
	}
	if len(s.parts) > 1 && gap(c.Span, p.Span) > 4 {
		return
	}
	fits := func(r int) bool {
		return r >= p.lenient && r <= p.until || r+day >= p.lenient && r+day <= p.until
	}
	var in []int
	for i, r := range c.readings {
		if fits(r) && !(c.swahili > 0 && i >= c.swahili && len(in) > 0) {
			in = append(in, r)
		}
	}
	in = distinct(in)
	switch {
	case len(in) == 1:
		c.readings, c.exact, c.clear, c.conf = in, true, true, max(c.conf, 0.95)
	case len(in) > 1:
		c.readings, c.clear = s.nearest(in, p), false
		if len(c.readings) == 1 {
			c.clear = true
		}
	default:
		c.readings, c.conf = c.readings[:min(2, len(c.readings))], doubtful
	}
}

// nearest prefers, of several readings, those inside the window the part of
// the day names.
func (s *scanner) nearest(in []int, p partItem) []int {
	var out []int
	for _, r := range in {
		if r >= p.from && r < p.part.to {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return in
	}
	return out
}

func gap(a, b lex.Span) int {
	if a.From >= b.To {
		return a.From - b.To
	}
	return max(0, b.From-a.To)
}

// lean is the one reading of a bound of a window.
func lean(c clockItem, end bool) int {
	r := c.readings[0]
	if !c.exact && c.swahili == 0 && end && r >= 7*60 && r < 9*60 {
		return r + 12*60 // "before 8" is rarely eight in the morning
	}
	return r
}

// connected reports whether two clock times are the ends of one window.
func (s *scanner) connected(a, b clockItem) bool {
	and := false
	for i := a.To; i < b.From; i++ {
		switch {
		case s.is(i, "to", "till", "til", "until", "hadi", "mpaka", "-"):
			return !s.moved() || !s.is(a.From-1, "from", "kutoka", "it")
		case s.is(i, "and", "na", "&"):
			and = true
		case s.used[i], s.is(i, "the", "in", "saa", "za", "ya"):
		default:
			return false
		}
	}
	return and && (s.is(a.From-1, "between", "btw") || s.is(a.From-1, "ya") && s.is(a.From-2, "kati") || s.is(a.From-1, "baina"))
}

func (s *scanner) moved() bool {
	return slices.ContainsFunc(s.toks, func(t lex.Token) bool { return moving(t.Text) })
}

// between fills a window from its two ends, each helping to read the other.
func (s *scanner) between(w *graph.When, conf *float64, a, b clockItem) {
	from, to := lean(a, false), lean(b, true)
	switch {
	case b.exact && !a.exact:
		from = below(a.readings, to)
	case !b.exact:
		to = above(b.readings, from)
	}
	if to <= from {
		*conf = min(*conf, doubtful)
		w.Time = clockText(from)
		return
	}
	fill(s.used, lex.Span{From: a.From, To: b.To})
	w.From, w.To = clockText(from), clockText(to)
	*conf = min(*conf, max(a.conf, b.conf))
}

// below is the latest reading before a bound, the first one where none is.
func below(readings []int, bound int) int {
	best := -1
	for _, r := range readings {
		if r < bound && r > best {
			best = r
		}
	}
	if best < 0 {
		return readings[0]
	}
	return best
}

// above is the earliest reading after a bound, the first one where none is.
func above(readings []int, bound int) int {
	best := -1
	for _, r := range readings {
		if r > bound && (best < 0 || r < best) {
			best = r
		}
	}
	if best < 0 {
		return readings[0]
	}
	return best
}

// one places a single clock time: exact, as options, or as a bound.
func (s *scanner) one(w *graph.When, conf *float64, c clockItem) {
	*conf = min(*conf, c.conf)
	switch s.bound(c) {
	case lower:
		from := lean(c, false)
		w.From = clockText(from)
		if p, ok := s.onlyPart(); ok && p.to > from && p.from < from {
			w.To = clockText(p.to)
		}
		return
	case upper:
		to := lean(c, true)
		w.To = clockText(to)
		if p, ok := s.onlyPart(); ok && p.from < to && p.to > to {
			w.From = clockText(p.from)
		}
		return
	case exactly:
	}
	s.place(w, c.readings, c.clear)
}

func (s *scanner) place(w *graph.When, readings []int, certain bool) {
	if certain || len(readings) == 1 {
		w.Time = clockText(readings[0])
		return
	}
	for _, r := range distinct(readings) {
		w.Options = append(w.Options, clockText(r))
	}
}

func (s *scanner) onlyPart() (part, bool) {
	if len(s.parts) != 1 {
		return part{}, false
	}
	return s.parts[0].part, true
}

type bound uint8

const (
	exactly bound = iota
	lower
	upper
)

// bound reads the words before and behind a clock time that make it the edge of
// a window.
func (s *scanner) bound(c clockItem) bound {
	i := c.From - 1
	for s.is(i, "about", "around", "the", "like", "saa", "say") && !s.used[i] {
		i--
	}
	found := exactly
	switch {
	case s.is(i, "than"):
		found = lower
		if s.is(i-1, "earlier", "sooner") && !s.is(i-2, "not", "no") || s.is(i-1, "later") && s.is(i-2, "not", "no") {
			found = upper
		}
		i--
	case s.is(i, "after", "from", "past", "kuanzia", "kutoka", "onwards"):
		found = lower
	case s.is(i, "ya") && s.is(i-1, "baada"):
		found, i = lower, i-1
	case s.is(i, "before", "by", "until", "till", "til"):
		found = upper
	case s.is(i, "hadi", "mpaka"):
		found = upper
	case s.is(i, "ya") && s.is(i-1, "kabla"):
		found, i = upper, i-1
	}
	to := c.To
	if p, ok := dayParts[s.text(to)]; ok && p.to > 0 {
		to++
	}
	switch {
	case s.is(to, "onwards", "onward", "kuendelea"):
		found = lower
		fill(s.used, lex.Span{From: c.From, To: to + 1})
	case s.is(to, "or", "and", "au") && s.is(to+1, "later", "after", "baadaye"), s.is(to, "na") && s.is(to+1, "kuendelea"):
		found = lower
		fill(s.used, lex.Span{From: c.From, To: to + 2})
	case s.is(to, "or") && s.is(to+1, "earlier", "before"):
		found = upper
	}
	if s.moved() && (found == lower && s.is(i, "from", "kutoka") || found == upper && s.is(i, "hadi", "mpaka")) {
		return exactly
	}
	if found != exactly && i >= 0 {
		fill(s.used, lex.Span{From: i, To: c.From})
	}
	return found
}

// several settles between clock times that are no window.
func (s *scanner) several(w *graph.When, conf *float64, cs []clockItem) {
	a, b := cs[0], cs[len(cs)-1]
	or, corrected := false, false
	for i := a.To; i < b.From; i++ {
		or = or || s.is(i, "or", "au", "ama", "/")
		corrected = corrected || correcting(s.toks[i].Text) || s.toks[i].Kind == lex.Break
	}
	same := slices.Equal(a.readings, b.readings) || len(a.readings) > 1 && len(b.readings) == 1 && slices.Contains(a.readings, b.readings[0])
	switch {
	case len(cs) == 2 && same:
		s.one(w, conf, b)
	case corrected:
		s.one(w, conf, b)
		*conf = min(*conf, 0.87)
	case len(cs) == 2 && or:
		all := append(slices.Clone(first(a)), first(b)...)
		s.place(w, all, false)
		*conf = min(*conf, probable)
	case s.moved():
		s.one(w, conf, b)
		*conf = min(*conf, 0.65)
	default:
		s.one(w, conf, b)
		*conf = min(*conf, doubtful)
	}
}

// first is what a clock time stands for among alternatives.
func first(c clockItem) []int {
	if c.clear {
		return c.readings[:1]
	}
	return c.readings
}

// window fills a window from the parts of the day alone.
func (s *scanner) window(w *graph.When, conf *float64) {
	if len(s.parts) == 0 {
		if s.open {
			w.From, w.To = "00:00", "23:59"
			*conf = min(*conf, 0.9)
		}
		return
	}
	from, to := s.parts[0].from, s.parts[0].part.to
	for _, p := range s.parts[1:] {
		if p.from >= to || p.part.to <= from || from <= p.from {
			from, to = min(from, p.from), max(to, p.part.to)
			if s.overlap() {
				from = max(from, p.from)
			}
		}
	}
	w.From, w.To = clockText(from), clockText(to)
	*conf = min(*conf, 0.95)
}

// overlap reports whether the parts narrow each other instead of adding up:
// "later today, in the evening".
func (s *scanner) overlap() bool {
	return s.is(s.parts[0].From, "later", "right", "sasa", "baadaye", "leo", "tonight")
}
