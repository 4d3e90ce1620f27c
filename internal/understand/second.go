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

// mine finds a booking that is already there.
var mine = lex.CompileAll(strings.ReplaceAll(`
	got|get|have|see|find|receive|received my|our BOOKING
	BOOKING yangu|yetu|zangu`, "BOOKING", bookingNoun))

// wondering are words with which questions begin.
var wondering = set("do does is are can could will would have what whats when where who which how mna mko mnaweza gani ngapi lini wapi nani vipi je")

// addressed reports whether a text speaks to the business: "you", "yenu",
// "mnafungua".
func (r *reading) addressed() bool {
	return slices.ContainsFunc(r.toks, func(t lex.Token) bool {
		if address[t.Text] {
			return true
		}
		for _, p := range [...]string{"mna", "mta", "mli", "mme", "mnge"} {
			if len(t.Text) > 4 && strings.HasPrefix(t.Text, p) {
				return true
			}
		}
		return false
	})
}

var address = set("you your u ur youre yall yenu zenu wenu lenu penu kwenu nyinyi mko mpo muko mna here hapo hapa there")

// foreignThing reports whether a decision hangs on a thing that is none of the
// business's: "reschedule my exam", "gari yangu iko wapi". It is a word that
// nothing was made of beside a word that says whose it is.
func (r *reading) foreignThing() bool {
	for i, t := range r.toks {
		if t.Kind != lex.Word || r.known[i] || generic[t.Text] {
			continue
		}
		if i > 0 && determiner[r.toks[i-1].Text] || i+1 < len(r.toks) && possessive[r.toks[i+1].Text] {
			return true
		}
	}
	return false
}

var (
	determiner = set("my our his her their the a an that this")
	possessive = set("yangu wangu langu changu zangu vyangu yetu wetu letu zetu yake wake lake hiyo hii ile hilo huo")
	// generic are words for a visit that no business declares.
	generic = set("lesson lessons class classes visit checkup check-up meeting treatment service services miadi thing place spot turn chair kiti somo darasa zamu timing plan plans")
)

// owning are words that make a price somebody's own account.
var owning = set("my our owe owing yangu langu nadaiwa")

// settled are words of who asks for a change of a thing that is there, however
// politely.
var settled = set("my our the it this that yangu yetu hiyo hii ile miadi please tafadhali kindly you u me us")

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
