package understand

import (
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
	"github.com/ratiba/ratiba/internal/understand/when"
)

// besideNumber may stand beside a number that picks from a list.
var besideNumber = set(`option number no namba nambari the one ya la cha wa ile hiyo hilo please plz pls tafadhali asante thanks choice choose pick
	ok okay sawa i want nataka nachagua chaguo will take ill let go with s`)

// choice finds what a typed text picks of what was offered: its place in the
// list, its title, or its time. The yes of a summary is never picked by typing:
// a typed yes is an Answer.
func (r *reading) choice() {
	choices := r.req.Expect.Choices
	n, alone := r.number()
	if alone {
		r.in.Number = n
	}
	if r.in.Choice != "" || len(choices) == 0 || r.in.Answer != "" {
		return
	}
	byPlace := -1
	if alone {
		switch {
		case n == lastPlace:
			byPlace = len(choices) - 1
			r.in.Number = len(choices)
		case n >= 1 && n <= len(choices):
			byPlace = n - 1
		}
	}
	byTitle := r.titled()
	byTime := r.timed()
	pick := byPlace
	for _, other := range [...]int{byTitle, byTime, r.sized()} {
		switch {
		case other < 0:
		case pick >= 0 && pick != other:
			r.clash = true
			return
		default:
			pick = other
		}
	}
	if pick < 0 {
		return
	}
	title := lex.Tokens(lex.Clean(choices[pick].Title))
	if r.req.Expect.wants(SlotConfirm) {
		a := leads(title)
		if a == graph.NoAnswer && r.req.Expect.Yes != "" && choices[pick].ID == r.req.Expect.Yes {
			a = graph.Yes // "Try again", typed, says yes as its button does
		}
		if a != graph.NoAnswer {
			r.in.Answer = a
			return
		}
	}
	r.in.Choice = choices[pick].ID
	r.picked = true
	if pick == byPlace && byTime < 0 {
		r.in.When = graph.When{} // the "2" that picks tomorrow is no second of the month
	}
	if byTime == pick && len(r.in.When.Options) > 0 {
		if w := r.offered(pick); w.Time != "" {
			r.in.When.Time, r.in.When.Options = w.Time, nil
		}
	}
	for i := range r.known {
		r.known[i] = true
	}
}

// leads is the answer a title begins with: "Yes, book it".
func leads(title []lex.Token) graph.Answer {
	for _, t := range title {
		switch {
		case t.Kind != lex.Word && t.Kind != lex.Emoji:
		case t.Kind == lex.Emoji && yesEmoji[baseEmoji(t.Raw)], yesWords[t.Text]:
			return graph.Yes
		case t.Kind == lex.Emoji && noEmoji[baseEmoji(t.Raw)], noWords[t.Text]:
			return graph.No
		default:
			return graph.NoAnswer
		}
	}
	return graph.NoAnswer
}

// lastPlace stands for "the last one".
const lastPlace = -2

// number reads a number that is typed alone, or with nothing but the words that
// pick from a list beside it.
func (r *reading) number() (n int, alone bool) {
	if len(r.toks) > 8 {
		return 0, false
	}
	found := false
	for i := 0; i < len(r.toks); {
		t := r.toks[i]
		if t.Kind == lex.Mark || t.Kind == lex.Emoji || t.Kind == lex.Break {
			if t.Raw != "." && t.Raw != "#" && t.Raw != ")" && t.Raw != "(" && t.Raw != "," && t.Raw != "!" && t.Kind == lex.Mark {
				return 0, false
			}
			i++
			continue
		}
		if (t.Text == "one" || t.Text == "pili") && found {
			i++
			continue
		}
		if v, next, ok := lex.ReadOrdinal(r.toks, i); ok && !(t.Text == "pili" && found) {
			if found {
				return 0, false
			}
			n, i, found = v, next, true
			continue
		}
		if t.Text == "last" || t.Text == "mwisho" {
			n, i, found = lastPlace, i+1, true
			continue
		}
		if v, next, ok := lex.ReadNumber(r.toks, i); ok && !(t.Text == "one" && r.oneIsWord(i)) {
			if found {
				return 0, false
			}
			n, i, found = v, next, true
			continue
		}
		if t.Kind != lex.Word || !besideNumber[t.Text] {
			return 0, false
		}
		i++
	}
	if !found || n > 999 {
		return 0, false
	}
	return n, true
}

// oneIsWord reports whether "one" at token i stands for a thing: "the last one",
// "that one".
func (r *reading) oneIsWord(i int) bool {
	if i == 0 {
		return false
	}
	switch r.toks[i-1].Text {
	case "the", "that", "this", "last", "option", "number":
		return r.toks[i-1].Text != "option" && r.toks[i-1].Text != "number"
	}
	_, _, ok := lex.ReadOrdinal(r.toks, i-1)
	return ok
}

// titled finds the one choice whose title was typed, whole or in part.
func (r *reading) titled() int {
	typed := words(r.toks)
	if typed == "" || len(r.toks) > 16 {
		return -1
	}
	pick, exact, partial := -1, 0, 0
	choices := r.req.Expect.Choices
	titles := make([][]lex.Token, len(choices))
	for i, c := range choices {
		titles[i] = lex.Tokens(lex.Clean(c.Title))
		if words(titles[i]) == typed {
			pick, exact = i, exact+1
		}
	}
	if exact > 0 {
		if exact > 1 {
			return -1
		}
		return pick
	}
	for i := range titles {
		if r.within(titles[i]) {
			pick, partial = i, partial+1
		}
	}
	if partial == 1 {
		return pick
	}
	return -1
}

// within reports whether every word that was typed stands in a title, one of
// them a word that says something.
func (r *reading) within(title []lex.Token) bool {
	says := false
	for i, t := range r.toks {
		if t.Kind == lex.Mark || t.Kind == lex.Emoji || t.Kind == lex.Break {
			if t.Raw == "?" {
				return false
			}
			continue
		}
		if courtesy[t.Text] || besideNumber[t.Text] {
			continue
		}
		hit := slices.ContainsFunc(title, func(c lex.Token) bool {
			return c.Kind == t.Kind && (c.Text == t.Text || t.Kind == lex.Word && len(t.Text) >= 4 && !function[t.Text] && lex.Near(c.Text, t.Text, lex.Slips(c.Text)))
		})
		if !hit {
			return false
		}
		says = says || t.Kind == lex.Word && !function[t.Text] && !timely(r.in.When, r.toks[i].Text)
	}
	return says
}

// timely reports whether a word belongs to what was said about time: times are
// compared as times, not as words.
func timely(w graph.When, word string) bool {
	return !w.Empty() && slices.ContainsFunc(lex.Tokens(lex.Clean(w.Span)), func(t lex.Token) bool { return t.Text == word })
}

// sized finds the one choice of the length that was typed: "the 90 minute one".
func (r *reading) sized() int {
	said := r.lengths()
	if len(said) != 1 || r.asks() || len(r.toks) > 12 {
		return -1
	}
	for i, t := range r.toks {
		if (t.Kind == lex.Word || t.Kind == lex.Number) && !(i >= said[0].From && i < said[0].To) && !besideNumber[t.Text] && !courtesy[t.Text] && !function[t.Text] {
			return -1
		}
	}
	pick := -1
	for i, c := range r.req.Expect.Choices {
		if !slices.ContainsFunc(lex.Durations(lex.Tokens(lex.Clean(c.Title))), func(d lex.Duration) bool { return d.Minutes == said[0].Minutes }) {
			continue
		}
		if pick >= 0 {
			return -1
		}
		pick = i
	}
	return pick
}

// offered is the time a choice stands for.
func (r *reading) offered(i int) graph.When {
	c := r.req.Expect.Choices[i]
	w := when.Parse(c.Title, r.req.Now, r.req.Zone, when.Expect{Time: true})
	if w.Time == "" && len(w.Options) > 0 {
		w.Time = w.Options[0] // a title means the likelier one
	}
	if w.Date == "" && c.Description != "" {
		d := when.Parse(c.Description, r.req.Now, r.req.Zone, when.Expect{})
		w.Date = d.Date
		if w.Time == "" && len(w.Options) == 0 {
			w.Time, w.Options = d.Time, d.Options
		}
	}
	return w
}

// timed finds the one choice that is at the time that was typed.
func (r *reading) timed() int {
	said := r.in.When
	if said.Time == "" && len(said.Options) == 0 || said.Fault != "" || said.From != "" || len(r.toks) > 24 {
		return -1
	}
	times := said.Options
	if said.Time != "" {
		times = []string{said.Time}
	}
	pick := -1
	for i := range r.req.Expect.Choices {
		w := r.offered(i)
		if w.Time == "" || !slices.Contains(times, w.Time) {
			continue
		}
		if said.Date != "" && said.Date != w.Date {
			continue
		}
		if pick >= 0 {
			return -1
		}
		pick = i
	}
	return pick
}
