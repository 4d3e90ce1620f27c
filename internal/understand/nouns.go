package understand

import (
	"maps"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/langid"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// find is how well one noun fits a text.
type find struct {
	id       string
	count    int     // words of the name found
	quality  float64 // 1 exact, less with slips
	whole    bool    // every word of the name was found
	conflict bool    // the text names another length
	at       []int   // where
}

// entities finds the app's own nouns.
func (r *reading) entities() {
	durations := r.lengths()
	for _, kind := range slices.Sorted(maps.Keys(r.req.Nouns)) {
		asked := r.req.Expect.wants(kind)
		var finds []find
		for _, n := range r.req.Nouns[kind] {
			best, minutes := find{id: n.ID}, r.minutes(n)
			for _, name := range n.Names {
				if f := r.fit(name, durations, minutes, asked); better(f, best) > 0 {
					f.id = n.ID
					best = f
				}
			}
			if best.count > 0 {
				finds = append(finds, best)
			}
		}
		e, at := settle(r.corrected(finds))
		if e.ID == "" && len(e.Candidates) == 0 {
			continue
		}
		if r.ruledOut(at) {
			continue
		}
		var spans []string
		for _, i := range at {
			r.known[i] = true
			spans = append(spans, r.toks[i].Raw)
		}
		for _, d := range durations {
			r.mark(d.Span)
		}
		e.Span = strings.Join(spans, " ")
		if r.in.Entities == nil {
			r.in.Entities = make(map[string]graph.Entity)
		}
		r.in.Entities[kind] = e
	}
}

// corrected drops the nouns that a word of correction takes back: "a manicure,
// actually a facial".
func (r *reading) corrected(finds []find) []find {
	last := 0
	for i, t := range r.toks {
		switch t.Text {
		case "actually", "wait", "sorry", "instead", "rather", "pole", "badala", "samahani":
			last = i
		}
	}
	var after []find
	for _, f := range finds {
		if len(f.at) > 0 && f.at[0] > last {
			after = append(after, f)
		}
	}
	if last == 0 || len(after) == 0 {
		return finds
	}
	return after
}

// ruledOut reports whether what was found is there to be refused: "not with
// Grace".
func (r *reading) ruledOut(at []int) bool {
	if len(at) == 0 {
		return false
	}
	for i := at[0] - 1; i >= max(0, at[0]-2); i-- {
		switch r.toks[i].Text {
		case "not", "sio", "siyo", "except", "isipokuwa", "without", "bila", "badala":
			return true
		case "with", "na", "the", "a", "ya", "of":
		default:
			return false
		}
	}
	return false
}

// better compares two finds: positive when a fits better than b.
func better(a, b find) int {
	score := func(f find) int {
		s := f.count * 16
		if f.conflict {
			s -= 1000
		}
		if f.quality < 0.9 {
			s -= 8
		}
		return s
	}
	if b.count == 0 {
		return min(a.count, 1)
	}
	if f := score(a) - score(b); f != 0 {
		return f
	}
	switch {
	case a.whole && !b.whole:
		return 1
	case b.whole && !a.whole:
		return -1
	}
	return 0
}

// settle picks the noun that fits best; several that fit equally well are
// candidates.
func settle(finds []find) (graph.Entity, []int) {
	if len(finds) == 0 {
		return graph.Entity{}, nil
	}
	top := finds[0]
	for _, f := range finds[1:] {
		if better(f, top) > 0 {
			top = f
		}
	}
	var equal []string
	for _, f := range finds {
		if f.id == top.id || better(f, top) == 0 && f.count == top.count {
			equal = append(equal, f.id)
		}
	}
	conf := 0.92
	switch {
	case top.conflict:
		conf = 0.5
	case top.quality < 0.6:
		conf = 0.5
	case top.quality < 0.95:
		conf = 0.86
	case top.whole:
		conf = 0.95
	}
	if len(equal) > 1 {
		return graph.Entity{Candidates: equal, Confidence: conf}, top.at
	}
	return graph.Entity{ID: top.id, Confidence: conf}, top.at
}

// fit tries one name. Only a word that can name something by itself, or two
// words together, or the answer to what was asked, counts as a find.
func (r *reading) fit(name string, durations []lex.Duration, minutes []int, asked bool) find {
	r.tried = lex.Append(r.tried[:0], name)
	toks := r.tried
	lengths := lex.Durations(toks)
	f := find{quality: 1}
	total, strong := 0, asked
	if len(lengths) > 0 {
		minutes = minutes[:0:0]
		for _, d := range lengths {
			minutes = append(minutes, d.Minutes)
		}
	} else if len(durations) == 0 {
		minutes = nil
	}
	for _, d := range minutes {
		total++
		f.conflict = len(durations) > 0
		for _, said := range durations {
			if said.Minutes == d {
				f.conflict = false
				f.count++
				f.at = append(f.at, said.From)
			}
		}
		if f.conflict {
			break
		}
	}
	for i, t := range toks {
		if t.Kind != lex.Word && t.Kind != lex.Number || within(lengths, i) || t.Kind == lex.Word && (len(t.Text) < 2 || glue[t.Text]) {
			continue
		}
		total++
		// A bare number belongs to a name where it follows the name's own word:
		// "massage 60", not "at 9".
		follows := t.Kind == lex.Number && len(f.at) > 0 && f.at[len(f.at)-1] < len(r.toks)-1
		at, quality := r.locate(t, asked)
		if at < 0 && follows {
			if next := f.at[len(f.at)-1] + 1; r.toks[next].Kind == lex.Number && r.toks[next].Value == t.Value && !r.known[next] {
				at, quality = next, 1
			}
		}
		if at < 0 {
			continue
		}
		f.count++
		f.quality = min(f.quality, quality)
		f.at = append(f.at, at)
		strong = strong || !weak[t.Text] && t.Kind == lex.Word
	}
	if r.onlyTime(f.at, durations) {
		return find{} // "saa tano" does not name the "massage ya saa moja"
	}
	words := f.count
	if len(durations) > 0 && len(minutes) > 0 && !f.conflict {
		words--
	}
	f.whole = f.count >= total && f.count > 0
	named := f.whole && total == 1 && r.pointed(f.at)
	if words <= 0 && !asked || !strong && !named && words < 2 {
		return find{}
	}
	slices.Sort(f.at)
	return f
}

// minutes are the lengths in a noun's names: its other names mean the same
// length.
func (r *reading) minutes(n Noun) []int {
	var out []int
	for _, name := range n.Names {
		r.tried = lex.Append(r.tried[:0], name)
		for _, d := range lex.Durations(r.tried) {
			if !slices.Contains(out, d.Minutes) {
				out = append(out, d.Minutes)
			}
		}
	}
	return out
}

// lengths are the lengths of time in the text. "In an hour" is none: it is a
// time of day.
func (r *reading) lengths() []lex.Duration {
	word := func(i int) string {
		if i < 0 || i >= len(r.toks) {
			return ""
		}
		return r.toks[i].Text
	}
	return slices.DeleteFunc(lex.Durations(r.toks), func(d lex.Duration) bool {
		return word(d.From-1) == "in" || word(d.To) == "later" || word(d.To) == "earlier" || word(d.From-2) == "baada"
	})
}

// onlyTime reports whether every word found was already read as a day, a time
// or a phone number; a length may still tell services apart.
func (r *reading) onlyTime(at []int, durations []lex.Duration) bool {
	for _, i := range at {
		if !r.known[i] || slices.ContainsFunc(durations, func(d lex.Duration) bool { return i >= d.From && i < d.To }) {
			return false
		}
	}
	return len(at) > 0
}

// glue are words inside names that name nothing.
var glue = set("and with the of for a an ya na wa za kwa la to in")

// pointed reports whether the words say that a common word is a name here: it
// is written with a capital inside a sentence, or stands behind "with".
func (r *reading) pointed(at []int) bool {
	if len(at) == 0 {
		return false
	}
	i := at[0]
	if i > 0 {
		switch r.toks[i-1].Text {
		case "with", "na", "by", "kwa", "for", "dr", "mr", "mrs", "ms", "miss":
			return true
		}
	}
	c := r.toks[i].Raw[0]
	return i > 0 && c >= 'A' && c <= 'Z' && r.toks[i-1].Kind == lex.Word
}

func within(ds []lex.Duration, i int) bool {
	for _, d := range ds {
		if i >= d.From && i < d.To {
			return true
		}
	}
	return false
}

// locate finds one word of a name in the text and says how well it fits.
func (r *reading) locate(want lex.Token, asked bool) (at int, quality float64) {
	at = -1
	slips := lex.Slips(want.Text)
	stem := lex.Stem(want.Text)
	for i := range r.toks {
		t := &r.toks[i]
		if t.Kind != want.Kind || i >= r.called.From && i < r.called.To {
			continue
		}
		if want.Kind == lex.Number {
			if t.Value == want.Value && asked {
				return i, 1
			}
			continue
		}
		q := 0.0
		switch {
		case t.Text == want.Text:
			return i, 1
		case len(t.Text) < 3:
			continue
		case lex.Stem(t.Text) == stem:
			q = 0.97
		case i+1 < len(r.toks) && r.toks[i+1].Kind == lex.Word && len(t.Text)+len(r.toks[i+1].Text) == len(want.Text) && t.Text+r.toks[i+1].Text == want.Text:
			q = 0.96
		case slips == 0 || t.Text[0] != want.Text[0] && t.Text[len(t.Text)-1] != want.Text[len(want.Text)-1]:
			continue
		case lex.Near(t.Text, want.Text, slips):
			q = 0.8
			if function[t.Text] || langid.Everyday(t.Text) || lookalike[t.Text] {
				q = 0.5
			}
		}
		if q > quality {
			at, quality = i, q
		}
	}
	if quality == 0.5 && weak[want.Text] {
		return -1, 0
	}
	return at, quality
}

// lookalike are common words one slip away from what salons and clinics offer.
var lookalike = set("message messages massages passage facial racial mail nail wait waist hairy cut but trim train mani main back pack colour color tails snails")
