package when

import (
	"time"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

// fromAbout reads days and times that count from the one that is being talked
// about: "same time next week", "the following day", "an hour later". Where
// nothing is being talked about they say nothing.
func (s *scanner) fromAbout() {
	about, err := time.Parse(time.DateOnly, s.expect.About.Date)
	dated := err == nil && !about.Before(s.today)
	clock, err := time.Parse("15:04", s.expect.About.Time)
	timed := err == nil
	same := false
	for i := range s.toks {
		switch thing, to := s.same(i); {
		case thing == "":
			continue
		case thing == "time" && timed:
			s.clocks = append(s.clocks, s.at(i, to, clock.Hour()*60+clock.Minute()))
		case thing == "day" && dated:
			s.dates = append(s.dates, s.single(i, to, about))
		default:
			continue
		}
		same = true
	}
	for i := range s.toks {
		if s.used[i] || !dated {
			continue
		}
		if days, to := s.onward(i, same); days > 0 {
			d := s.single(i, to, about.AddDate(0, 0, days))
			s.dates = append(s.dates, d)
			fill(s.used, d.Span)
		}
		if minutes, to := s.shift(i); minutes != 0 && timed {
			s.clocks = append(s.clocks, s.at(i, to, (clock.Hour()*60+clock.Minute()+minutes+day)%day))
			fill(s.used, lex.Span{From: i, To: to})
		}
	}
	for _, c := range s.clocks {
		fill(s.used, c.Span)
	}
	if len(s.dates) > 0 {
		for _, d := range s.dates {
			fill(s.used, d.Span)
		}
	} else if same && dated && !s.namesDay() {
		s.dates = append(s.dates, s.single(s.clocks[0].From, s.clocks[0].To, about))
	}
}

// same reads "same time", "same day", "saa hiyo hiyo", "siku ileile".
func (s *scanner) same(i int) (thing string, to int) {
	if s.is(i, "same") {
		switch {
		case s.is(i+1, "time", "hour", "saa", "tym"):
			return "time", i + 2
		case s.is(i+1, "day", "date"):
			return "day", i + 2
		}
		return "", i
	}
	switch {
	case s.is(i, "saa", "wakati", "time"):
		thing = "time"
	case s.is(i, "siku", "tarehe"):
		thing = "day"
	default:
		return "", i
	}
	switch {
	case s.is(i+1, "hiyohiyo", "ileile", "huohuo", "uleule"):
		return thing, i + 2
	case s.is(i+1, "hiyo", "ile", "huo", "ule") && s.text(i+2) == s.text(i+1):
		return thing, i + 3
	}
	return "", i
}

// onward reads how many days later: "the following day", "a week later". "Next
// week" counts from there only beside a "same".
func (s *scanner) onward(i int, same bool) (days, to int) {
	switch {
	case s.is(i, "following", "next") && s.is(i+1, "day"), s.is(i, "kesho") && s.is(i+1, "yake"),
		s.is(i, "siku") && s.is(i+1, "inayofuata", "ifuatayo"), s.is(i, "day") && s.is(i+1, "later"):
		return 1, i + 2
	case s.is(i, "day") && s.is(i+1, "after") && s.toks[len(s.toks)-1].Kind == lex.Word && i+2 == len(s.toks):
		return 1, i + 2
	case s.is(i, "following") && s.is(i+1, "week"), s.is(i, "week") && s.is(i+1, "later", "after"),
		s.is(i, "wiki") && s.is(i+1, "inayofuata", "ifuatayo"):
		return 7, i + 2
	case same && (s.is(i, "next", "nxt") && s.is(i+1, "week") || s.is(i, "wiki") && s.is(i+1, "ijayo", "inayokuja", "lijalo")):
		return 7, i + 2
	}
	return 0, i
}

// shift reads how much later or earlier: "an hour later", "30 minutes earlier".
func (s *scanner) shift(i int) (minutes, to int) {
	n, unit, ok := s.counted(i)
	if !ok {
		return 0, i
	}
	switch {
	case s.is(unit, "hour", "hours", "hr", "hrs") && n <= 12:
		n *= 60
	case !s.is(unit, "minutes", "mins", "min"):
		return 0, i
	}
	switch {
	case s.is(unit+1, "later") && !s.is(unit+2, "today"):
		return n, unit + 2
	case s.is(unit+1, "earlier", "before"):
		return -n, unit + 2
	}
	return 0, i
}

// namesDay reports whether another day is named anywhere.
func (s *scanner) namesDay() bool {
	for i := range s.toks {
		if s.used[i] || s.shut[i] {
			continue
		}
		if _, ok := s.date(i); ok {
			return true
		}
	}
	return false
}
