package understand

import (
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// secondThoughts are words of who has a booking and thinks of another time for
// it.
var secondThoughts = lex.CompileAll(strings.ReplaceAll(`
	i|we have|had|already|booked an|a|my? BOOKING
	nilikuwa|niko|nina na? BOOKING
	instead of
	rather than
	badala ya
	siku|saa|tarehe nyingine|ingine|tofauti
	different|another|other time|day|date`, "BOOKING", bookingNoun))

// inside reports whether a span lies in another one.
func inside(a, b lex.Span) bool { return a.From >= b.From && a.To <= b.To }

// reconsiders reads what would be a first booking but for words of one that is
// there: "I have an appointment at 2 but I'd prefer 4". It is never sure.
func (r *reading) reconsiders(found []finding) bool {
	if len(r.req.Expect.Slots) > 0 || len(found) == 0 {
		return false
	}
	for _, f := range found {
		if f.intent != graph.Book && f.intent != graph.MyBookings && f.strength > hint {
			return false
		}
	}
	if _, ok := lex.FindAny(secondThoughts, r.toks); !ok {
		return false
	}
	mine := slices.ContainsFunc(found, func(f finding) bool { return f.intent == graph.MyBookings })
	if mine && !anyOf(r.toks, turning) {
		return false
	}
	r.in.Intent, r.in.Confidence = graph.Reschedule, 0.66
	return true
}

// owning are words that make a price somebody's own account.
var owning = set("my our owe owing yangu langu nadaiwa")

// turning are words after which a person says the opposite.
var turning = set("but lakini however though ila prefer instead badala")

// forbids reports whether a word is a Swahili "do not": usifute, msighairi.
func forbids(w string) bool {
	return len(w) > 6 && (strings.HasPrefix(w, "usi") || strings.HasPrefix(w, "msi")) && w[len(w)-1] == 'e' || w == "usighairi" || w == "msighairi"
}

func anyForbids(toks []lex.Token) bool {
	return slices.ContainsFunc(toks, func(t lex.Token) bool { return forbids(t.Text) })
}

var soonestPhrases = lex.CompileAll(`
	as early|soon as possible
	earliest|soonest|asap
	first|next available|free
	mapema|haraka iwezekanavyo
	ya|nafasi kwanza kabisa
	wakati|saa wowote|yoyote
	any time
	anytime`)

// soonest reports whether the time is left to the business.
func (r *reading) soonest() bool {
	sp, ok := lex.FindAny(soonestPhrases, r.toks)
	if ok && r.in.When.Empty() {
		r.mark(sp)
	}
	return ok && r.in.When.Empty()
}
