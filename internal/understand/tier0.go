package understand

import (
	"math"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/langid"
	"github.com/ratiba/ratiba/internal/understand/lex"
	"github.com/ratiba/ratiba/internal/understand/when"
)

// languageSure is the confidence under which a message does not change the
// language of the conversation.
const languageSure = 0.70

// maxTokens bounds how much of a text is searched for phrases and names. A
// longer one is left to a model.
const maxTokens = 600

// reading is a burst while it is read.
type reading struct {
	req    Request
	burst  burst
	text   string
	toks   []lex.Token
	tried  []lex.Token // the name that fit tries; its room is used again
	known  []bool      // tokens that something was made of, or that mean nothing here
	called lex.Span    // the tokens of a name that was given with an introduction
	named  lex.Span    // capitalised words that stand before a phone number
	in     graph.Input
	long   bool // the text was cut
	picked bool // a typed choice
	clash  bool // two readings contradict each other
}

// Tier0 reads a burst by code alone. It is pure and never fails: what it does
// not understand is Unknown with a low confidence.
func Tier0(in Request) graph.Input { return read(in).in }

// Alone is Tier0, and reports whether code alone answers: where it does not, a
// model is asked for the intent or for details.
func Alone(in Request) (graph.Input, bool) {
	r := read(in)
	return r.in, !r.wantsModel()
}

func read(req Request) *reading {
	r := &reading{req: req, burst: gather(req.Messages, req.Region)}
	r.text = r.burst.typed
	r.toks = lex.Tokens(r.text)
	if len(r.toks) > maxTokens {
		r.toks, r.long = r.toks[:maxTokens], true
	}
	r.known = make([]bool, len(r.toks))
	r.in = graph.Input{Text: r.burst.shown, Kind: string(r.burst.kind), Intent: graph.Unknown, Choice: r.burst.choice, Phone: r.burst.card}
	r.language()
	r.spell()
	switch {
	case len(r.toks) == 0:
		r.wordless()
		return r
	case r.burst.choice == "":
		r.in.Answer = answer(r.toks)
		if r.in.Answer == graph.NoAnswer && r.req.Expect.wants(SlotConfirm) {
			r.in.Answer = r.yesWithVerb()
		}
	}
	r.in.Sentiment = sentiment(r.toks)
	r.phone()
	r.when()
	r.introduction()
	r.entities()
	r.staff()
	r.name()
	r.other()
	if r.onlyNamed() {
		r.in.Language, r.in.LanguageConfidence = spoken("", 0, r.req)
	}
	r.choice()
	r.functionWords()
	r.intent()
	return r
}

// spelled are the verbs and nouns on which everything else hangs, and how many
// slips of the thumb each may carry.
var spelled = []struct {
	word  string
	slips int
}{{"cancel", 1}, {"reschedule", 2}, {"appointment", 2}}

// notSpelled are words near one of them that mean something else.
var notSpelled = set("cancer cancels canceled appointments reschedules rescheduled appointed disappointment")

// spell reads a misspelt key word as what it stands for.
func (r *reading) spell() {
	for i := range r.toks {
		t := &r.toks[i]
		if t.Kind != lex.Word || len(t.Text) < 5 || notSpelled[t.Text] || langid.Common(t.Text) {
			continue
		}
		for _, s := range spelled {
			if (t.Text[0] == s.word[0] || t.Text[0] == 'k') && lex.Near(t.Text, s.word, s.slips) {
				t.Text = s.word
			}
		}
	}
}

// wordless is a burst without typed words: a tap, a reaction, a picture, a
// shared card.
func (r *reading) wordless() {
	switch {
	case r.burst.choice != "":
		r.in.Intent, r.in.Confidence = r.req.Expect.intent(), 1
	case r.burst.reaction != "" && yesEmoji[baseEmoji(r.burst.reaction)]:
		// A reaction says to which message it belongs only by its target, so it
		// pleases but answers nothing.
		r.in.Intent, r.in.Confidence = graph.Affirm, 0.8
	case r.in.Phone != "" && r.req.Expect.wants(SlotPhone):
		r.in.Intent, r.in.Confidence = r.req.Expect.intent(), 0.95
	}
	r.in.Sentiment = Neutral
}

// language settles what the answer is in. A message that does not say enough
// keeps the language of the conversation.
func (r *reading) language() {
	lang, conf := langid.Detect(r.toks)
	if lang != langid.Other && langid.Identify(r.toks) == langid.Other {
		lang, conf = langid.Other, min(conf, 0.5)
	}
	r.in.Language, r.in.LanguageConfidence = spoken(lang, math.Round(conf*100)/100, r.req)
}

// spoken is the language to answer in, given what a message seems to be in.
func spoken(lang string, conf float64, req Request) (string, float64) {
	if (lang == English || lang == Swahili) && conf >= languageSure {
		return lang, conf
	}
	if lang != English && lang != Swahili {
		conf = min(conf, 0.5)
	}
	for _, fallback := range [...]string{req.Previous, req.Locale} {
		if fallback == English || fallback == Swahili {
			return fallback, min(conf, languageSure-0.01)
		}
	}
	if lang == Swahili {
		return Swahili, conf
	}
	return English, conf
}

// namesToo are names that are words of time as well.
var namesToo = set("Eve Leo")

// onlyNamed reports whether a text is a name and nothing else: it says nothing
// about the language of the person.
func (r *reading) onlyNamed() bool {
	return r.req.Expect.wants(SlotName) && r.in.Name != "" && words(r.toks) == words(lex.Tokens(r.in.Name))
}

func (r *reading) mark(sp lex.Span) {
	for i := sp.From; i < sp.To && i < len(r.known); i++ {
		r.known[i] = true
	}
}

// when reads what was said about time.
func (r *reading) when() {
	e := r.req.Expect
	expect := when.Expect{Date: e.wants(SlotDate), Time: e.wants(SlotTime), About: e.About}
	w, spans := when.Scan(r.text, r.toks, r.req.Now, r.req.Zone, expect)
	if e.wants(SlotName) && len(r.toks) == 1 && namesToo[w.Span] {
		return // Eve is her name, and Leo is his
	}
	r.in.When = w
	for _, sp := range spans {
		r.mark(sp)
	}
}

// functionWords marks the words that mean nothing by themselves.
func (r *reading) functionWords() {
	for i, t := range r.toks {
		if t.Kind != lex.Word || function[t.Text] || courtesy[t.Text] {
			r.known[i] = true
		}
	}
	for _, a := range lex.Amounts(r.toks) {
		r.mark(a)
	}
}

// unexplained counts the words nothing was made of.
func (r *reading) unexplained() int {
	n := 0
	for i, t := range r.toks {
		if !r.known[i] && (t.Kind == lex.Word || t.Kind == lex.Number) {
			n++
		}
	}
	return n
}

// only reports whether every word is in one of the sets, and how many words
// there are.
func only(toks []lex.Token, sets ...map[string]bool) (words int, ok bool) {
	for _, t := range toks {
		switch t.Kind {
		case lex.Number:
			return words, false
		case lex.Word:
			found := false
			for _, s := range sets {
				found = found || s[t.Text]
			}
			if !found {
				return words, false
			}
			words++
		case lex.Mark, lex.Emoji, lex.Break:
		}
	}
	return words, words > 0
}

// asks reports whether there is a question mark.
func (r *reading) asks() bool {
	return slices.ContainsFunc(r.toks, func(t lex.Token) bool { return t.Raw == "?" })
}

var (
	positiveWords = set(`great love loved lovely amazing excellent awesome wonderful perfect happy best good nice thanks thank appreciate fantastic
		asante nzuri vizuri safi poa nimefurahi nimependa bora fiti beautiful impressed relaxed`)
	negativeWords = set(`bad terrible awful worst horrible angry annoyed annoying frustrated frustrating disappointed disappointing unacceptable rude ridiculous
		useless pathetic rubbish nonsense scam fraud thieves stole cheated ripped waste wasted upset hate poor unprofessional disgusting slow
		incompetent unhappy furious stupid idiot idiots overcharged dirty hurt pain
		mbaya vibaya hovyo ovyo upuuzi ujinga wajinga mjinga nimekasirika hasira nimechoka mmenichosha wezi mwizi wizi utapeli tapeli matapeli
		mmenikosea mnakera kero inakera aibu uongo waongo mnachelewesha sijaridhika hamna_adabu bure nimeudhika mnaboa kinyaa fala`)
	angryPhrases = lex.CompileAll(`
		not happy|satisfied|impressed|good|ok|acceptable
		never again
		still waiting
		waste of time|money
		how many times
		this is taking too? long|ages|forever
		fed up
		no one|body is? replying|answering|responding|answers|responds
		mbona hamjibu|hujibu|mnachelewa
		sio haki
		sijafurahi|sifurahii
		hampokei|hamjibu|hamnijibu
		nimesubiri sana
		what is wrong with you
		you people
		wtf`)
)

// sentiment is the feeling of a text, by its words.
func sentiment(toks []lex.Token) string {
	score := 0
	for i, t := range toks {
		if t.Kind == lex.Emoji {
			switch baseEmoji(t.Raw) {
			case "😡", "😠", "🤬", "😤", "👎", "😞", "🙄", "😒":
				score -= 2
			case "😊", "😍", "❤", "🥰", "👍", "🎉", "😀", "😁", "🤗":
				score++
			}
			continue
		}
		bad, good := negativeWords[t.Text], positiveWords[t.Text]
		if (bad || good) && i > 0 && negators[toks[i-1].Text] && !courtesy[t.Text] {
			bad, good = good, false
		}
		switch {
		case bad:
			score -= 2
		case good:
			score++
		}
	}
	if _, ok := lex.FindAny(angryPhrases, toks); ok {
		score -= 2
	}
	switch {
	case score <= -1:
		return Negative
	case score >= 1:
		return Positive
	}
	return Neutral
}

// words joins the folded words of a text, without courtesy, for comparing
// titles.
func words(toks []lex.Token) string {
	var b strings.Builder
	for _, t := range toks {
		if t.Kind != lex.Word && t.Kind != lex.Number || courtesy[t.Text] {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}
