package understand

import (
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// finding is a rule that fits the text.
type finding struct {
	*rule
	lex.Span
}

// intent decides what the person wants.
func (r *reading) intent() {
	in := &r.in
	switch {
	case humanRequest(r.toks):
		in.Intent, in.Confidence = graph.Human, 0.95
		in.AboutBot = asksWhetherBot(r.toks)
		return
	case asksWhetherBot(r.toks):
		in.AboutBot, in.Intent, in.Topic, in.Confidence = true, graph.Question, TopicOther, 0.92
		if r.unexplained() > 12 {
			in.Confidence = 0.65
		}
		return
	case r.asksForStaff():
		in.Intent, in.Confidence = graph.Human, 0.9
		return
	case in.Answer == graph.Yes && thankful(r.toks) && len(r.req.Expect.Slots) == 0:
		in.Intent, in.Confidence = graph.Thanks, 0.9 // "sawa, asante" where nothing was asked
		return
	case in.Answer == graph.Yes:
		in.Intent, in.Confidence = graph.Affirm, 0.95
		return
	case in.Answer == graph.No:
		in.Intent, in.Confidence = graph.Deny, 0.95
		return
	case r.picked:
		in.Intent, in.Confidence = r.req.Expect.intent(), 0.95
		return
	case in.Choice != "":
		in.Intent, in.Confidence = r.req.Expect.intent(), 1
		return
	case r.courtesies():
		return
	}
	r.decide(r.findings())
}

var talkTo = lex.CompileAll(`
	want|like|need|let|can|could|may|please i|me|to? to? talk|speak|chat to|with
	nataka|naomba|ningependa|naweza|nahitaji|niweze %ongea|%ongee|%zungumza na`)

// asksForStaff reports whether the person asks to talk to somebody of the
// business by name.
func (r *reading) asksForStaff() bool {
	e := r.in.Entities[KindStaff]
	sp, ok := lex.FindAny(talkTo, r.toks)
	if !ok || e.Confidence < Doubt {
		return false
	}
	for i := sp.To; i < min(sp.To+2, len(r.toks)); i++ {
		if e.Span != "" && strings.Contains(e.Span, r.toks[i].Raw) {
			return true
		}
	}
	return false
}

// courtesies reads greetings, thanks and partings that stand alone.
func (r *reading) courtesies() bool {
	in := &r.in
	if _, ok := only(r.toks, thanksWords); ok && thankful(r.toks) {
		in.Intent, in.Confidence = graph.Thanks, 0.95
		return true
	}
	if _, ok := only(r.toks, byeWords, thanksWords); ok && (parting(r.toks) || thankful(r.toks)) && in.Answer == "" {
		in.Intent, in.Confidence = graph.Thanks, 0.9
		in.When = graph.When{}
		return true
	}
	if n, ok := only(r.toks, greetingWords, courtesy); ok && n <= 10 && greets(r.toks) && !r.partOfDay() {
		in.Intent, in.Confidence = graph.Greeting, 0.95
		in.When = graph.When{}
		return true
	}
	if words(r.toks) == "" && !r.asks() {
		emoji, thanks := 0, len(r.req.Expect.Slots) == 0
		for _, t := range r.toks {
			if t.Kind == lex.Emoji {
				emoji++
				thanks = thanks && thankEmoji[baseEmoji(t.Raw)]
			}
		}
		if emoji > 0 && thanks {
			in.Intent, in.Confidence = graph.Thanks, 0.9
			return true
		}
		if emoji > 0 {
			in.Intent, in.Confidence = graph.Unknown, 0.5
			return true
		}
	}
	return false
}

// partOfDay reports whether a bare "morning" answers the question when.
func (r *reading) partOfDay() bool {
	return r.in.When.From != "" && r.req.Expect.wants(SlotTime, SlotDate)
}

func anyOf(toks []lex.Token, set map[string]bool) bool {
	for _, t := range toks {
		if t.Kind == lex.Word && set[t.Text] {
			return true
		}
	}
	return false
}

var (
	thankWord   = set("bless awabariki thanks thank thankyou thx tx asante ahsante asanteni shukran shukrani nashukuru appreciate appreciated nimeshukuru ubarikiwe mbarikiwe akubariki cheers")
	partingWord = set("bye goodbye byebye kwaheri cheers tutaonana tuonane goodnight njema mwema")
	greetWord   = set(`hi hello hey hallo helo hy hie heyy hii habari habarini hujambo hamjambo mambo vipi niaje sasa shikamoo salama salamu
		salaam greetings morning afternoon evening wakuu aje oya yo`)
	wellWishes = lex.CompileAll(`
		how are|r you|u
		how is|s it going
		hope you|u|all are|re|is well|good|fine|ok|okay
		uko|mko fiti|poa|salama|aje
		greetings from`)
	partings = lex.CompileAll(`
		see you|u
		tuonane|tutaonana
		have|enjoy a|your? nice|good|great|lovely? day|evening|weekend|one
		take care
		talk later
		good night`)
)

func thankful(toks []lex.Token) bool { return anyOf(toks, thankWord) }

func greets(toks []lex.Token) bool {
	_, ok := lex.FindAny(wellWishes, toks)
	return ok || anyOf(toks, greetWord)
}

func parting(toks []lex.Token) bool {
	_, ok := lex.FindAny(partings, toks)
	return ok || anyOf(toks, partingWord)
}

// findings lists the rules that fit, at most one for each intent and topic.
func (r *reading) findings() []finding {
	var out []finding
	for i := range rules {
		rule := &rules[i]
		if rule.strength == hint && len(out) > 0 && out[0].strength > hint {
			continue
		}
		if sp, ok := lex.FindAny(rule.phrases, r.toks); ok {
			out = append(out, finding{rule, sp})
		}
	}
	return out
}

// decide weighs what was found.
func (r *reading) decide(found []finding) {
	in := &r.in
	for _, f := range found {
		r.mark(f.Span)
	}
	if r.onlySlots(found) {
		return
	}
	if r.reconsiders(found) {
		return
	}
	if len(found) == 0 {
		r.unruled()
		return
	}
	top := found[0]
	for _, f := range found[1:] {
		if r.outranks(f, top) {
			top = f
		}
	}
	in.Intent, in.Topic, in.Confidence = top.intent, top.topic, top.strength
	for _, f := range found {
		if f.intent != top.intent && f.strength > hint && !r.outranks(top, f) && !r.subsumed(top, f) {
			in.Confidence = min(in.Confidence, 0.65)
		}
		if f.intent == graph.Question && top.intent == graph.Question && f.topic != top.topic && f.topic != TopicOther && f.strength > hint && !inside(f.Span, top.Span) {
			in.Confidence = min(in.Confidence, 0.8)
		}
	}
	r.doubt(top)
}

// outranks reports whether a finding wins over another one for good.
func (r *reading) outranks(a, b finding) bool {
	if a.strength != b.strength && (a.strength == hint || b.strength == hint) {
		return a.strength > b.strength
	}
	order := func(f finding) int {
		switch f.intent {
		case graph.Complaint:
			return 5
		case graph.Reschedule, graph.Cancel:
			return 4
		case graph.MyBookings:
			return 3
		case graph.Question, graph.Feedback:
			return 2
		case graph.Book:
			return 1
		case graph.Greeting, graph.Thanks, graph.Affirm, graph.Deny, graph.Human, graph.Unknown:
		}
		return 0
	}
	if b.topic == TopicPolicy && order(a) == 4 || a.topic == TopicPolicy && order(b) == 4 {
		return a.topic == TopicPolicy
	}
	return order(a) > order(b) && (b.intent != graph.Book || a.intent != graph.Question || b.From >= a.From && b.To <= a.To)
}

// subsumed reports whether a finding says no more than the one that won: the
// words "an appointment" in "cancel my appointment".
func (r *reading) subsumed(top, f finding) bool {
	switch {
	case f.intent == graph.Book:
		return top.intent != graph.Question || top.topic == TopicPolicy || f.From >= top.From && f.To <= top.To
	case f.intent == graph.MyBookings:
		return top.intent == graph.Cancel || top.intent == graph.Reschedule
	case f.topic == TopicPolicy || top.topic == TopicPolicy:
		return true
	}
	return false
}

// doubt takes away confidence for what speaks against the finding.
func (r *reading) doubt(top finding) {
	in := &r.in
	// How many words nothing was made of may stay beside a decision.
	switch n := r.unexplained(); {
	case r.long || n > 6:
		in.Confidence = min(in.Confidence, 0.6)
	case n > 3:
		in.Confidence = min(in.Confidence, 0.66)
	case n > 2:
		in.Confidence = min(in.Confidence, 0.8)
	case n > 1 && in.Intent == graph.Book:
		in.Confidence = min(in.Confidence, 0.8)
	}
	for i := top.From - 1; i >= max(0, top.From-3); i-- {
		if r.toks[i].Kind == lex.Break {
			break
		}
		if (negators[r.toks[i].Text] || forbids(r.toks[i].Text)) && (top.intent == graph.Book || top.intent == graph.Cancel || top.intent == graph.Reschedule || top.intent == graph.Complaint) {
			if r.toks[i].Text == "no" || r.toks[i].Text == "hapana" || r.toks[i].Text == "sio" && i == 0 {
				continue
			}
			in.Confidence = min(in.Confidence, 0.55)
		}
	}
	if forbids(r.toks[top.From].Text) || in.Intent == graph.MyBookings && (anyOf(r.toks, turning) || r.negated() || anyForbids(r.toks)) {
		in.Confidence = min(in.Confidence, 0.55)
	}
	if (in.Intent == graph.Cancel || in.Intent == graph.Reschedule) && in.Topic == "" {
		if _, ok := lex.FindAny(asksHow, r.toks); ok || r.asks() && !anyOf(r.toks, settled) && !r.concrete() && in.When.Empty() {
			in.Confidence = min(in.Confidence, 0.68)
		}
	}
	switch {
	case in.Intent == graph.Cancel || in.Intent == graph.Reschedule || in.Intent == graph.MyBookings:
		if r.foreignThing() && !r.concrete() {
			in.Confidence = min(in.Confidence, 0.66)
		}
	case in.Intent == graph.Question && !r.concrete() && slices.Contains([]string{TopicPrice, TopicHours, TopicLocation, TopicServices}, in.Topic):
		if n := r.unexplained(); n > 0 && (!r.addressed() || n > 1 && r.foreignThing()) {
			in.Confidence = min(in.Confidence, 0.66) // "what is the price of bitcoin"
		}
	case in.Intent == graph.Book && in.When.Empty() && !r.concrete():
		if _, ok := lex.FindAny(mine, r.toks); ok {
			in.Confidence = min(in.Confidence, 0.66) // "did you get my booking?"
		}
	}
	if in.Topic == TopicPrice && !r.concrete() && r.unexplained() > 0 && anyOf(r.toks, owning) {
		in.Confidence = min(in.Confidence, 0.66) // "how much is my electricity bill"
	}
	if in.Intent == graph.Book && in.Confidence > Doubt && !r.concrete() {
		// "I want to book" alone is plain; beside words nothing was made of it may
		// be about anything that can be booked.
		if r.unexplained() > 0 {
			in.Confidence = min(in.Confidence, 0.66)
		}
	}
	if in.Intent == graph.Reschedule && in.Confidence <= hint && !in.When.Empty() && in.When.Confidence >= Doubt && r.unexplained() <= 1 && !r.negated() {
		in.Confidence = 0.87
		if len(r.req.Expect.Slots) > 0 {
			in.Intent = r.req.Expect.intent() // "make it 2:30 instead": what is being settled
		}
	}
	if in.Intent == graph.Book && in.Confidence <= hint && r.concrete() && r.unexplained() <= 1 && !r.negated() && !anyOf(r.toks, asking) {
		in.Confidence = 0.88
	}
	if in.Sentiment == Negative && in.Intent != graph.Complaint && in.Intent != graph.Cancel && in.Intent != graph.Reschedule {
		in.Confidence = min(in.Confidence, 0.66)
	}
}

// negated reports whether a word of refusal stands anywhere.
func (r *reading) negated() bool { return anyOf(r.toks, negators) }

// concrete reports whether one of the app's services or people was named.
func (r *reading) concrete() bool {
	for _, e := range r.in.Entities {
		if e.Confidence >= Doubt {
			return true
		}
	}
	return false
}

// onlySlots reads a text that gives what was asked for and nothing else.
func (r *reading) onlySlots(found []finding) bool {
	in, e := &r.in, r.req.Expect
	for _, f := range found {
		if f.intent != graph.Book && f.strength > hint || f.intent == graph.Cancel || f.intent == graph.Complaint {
			return false
		}
	}
	gave, wanted := 0, 0
	give := func(has bool, slots ...string) {
		if !has {
			return
		}
		gave++
		if e.wants(slots...) {
			wanted++
		}
	}
	give(!in.When.Empty() && in.When.Confidence >= 0.6, SlotTime, SlotDate)
	for kind, ent := range in.Entities {
		give(ent.Confidence >= Doubt, kind)
	}
	give(in.Name != "", SlotName)
	give(in.Phone != "", SlotPhone)
	give(in.AnyStaff, KindStaff)
	give(r.soonest(), SlotTime, SlotDate)
	left := r.unexplained()
	if gave == 0 || left > 1 || r.long || r.clash {
		return false
	}
	question := r.asks()
	switch {
	case wanted > 0 && left == 0:
		in.Intent, in.Confidence = e.intent(), 0.94
		if r.refused() {
			in.Confidence = 0.6
		}
		return true
	case wanted > 0:
		in.Intent, in.Confidence = e.intent(), 0.86
		if question || r.negated() {
			in.Confidence = 0.66
		}
		return true
	case len(found) > 0:
		return false
	case len(e.Slots) > 0 && gave > 0 && left == 0 && !question:
		// Not what was asked for, but a detail all the same: a correction.
		in.Intent, in.Confidence = e.intent(), 0.88
		if r.refused() {
			in.Confidence = 0.6
		}
		return true
	case in.Entities[KindService].Confidence >= Doubt && !in.When.Empty() && left == 0 && !r.negated() && !anyOf(r.toks, asking):
		in.Intent, in.Confidence = graph.Book, 0.9
		return true
	}
	return false
}

// asking are words that make a detail part of a question.
var asking = set("what when where which who how why did was were is are does lini nini gani wapi ngapi nani ilikuwa my yangu")

// refused reports whether what was named may be named only to be refused: "I
// can't on Friday". A plain "no" before a new value corrects.
func (r *reading) refused() bool {
	if _, ok := lex.FindAny(noMatter, r.toks); ok {
		return false
	}
	for _, t := range r.toks {
		if negators[t.Text] && !noWords[t.Text] {
			return true
		}
	}
	return false
}

// unruled guesses where no rule fits.
func (r *reading) unruled() {
	in := &r.in
	left := r.unexplained()
	switch {
	case r.clash:
		in.Intent, in.Confidence = r.req.Expect.intent(), 0.6
	case in.Number != 0 && len(r.req.Expect.Choices) > 0:
		in.Intent, in.Confidence = graph.Unknown, 0.6
	case r.concrete() && left <= 1:
		in.Intent, in.Confidence = graph.Book, 0.65
		if !in.When.Empty() {
			in.Confidence = 0.68
		}
	case !in.When.Empty() && left <= 1:
		in.Intent, in.Confidence = r.req.Expect.intent(), 0.62
	case thankful(r.toks) && left <= 2:
		in.Intent, in.Confidence = graph.Thanks, 0.6
	case anyOf(r.toks, yesWords) && left == 0 && !r.asks() && !anyOf(r.toks, noWords):
		in.Intent, in.Confidence = graph.Affirm, 0.6
	case anyOf(r.toks, noWords) && left <= 1 && !r.asks() && !anyOf(r.toks, yesWords):
		in.Intent, in.Confidence = graph.Deny, 0.6
	case greets(r.toks) && left <= 1 && r.in.Phone == "":
		in.Intent, in.Confidence = graph.Greeting, 0.65
	case r.asks(), r.addressed() && left > 0 && anyOf(r.toks, wondering):
		in.Intent, in.Topic, in.Confidence = graph.Question, TopicOther, 0.45
	case in.Sentiment == Negative:
		in.Intent, in.Confidence = graph.Complaint, 0.5
	default:
		in.Confidence = 0.3
	}
}
