package understand

import (
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

var (
	yesPhrases = lex.CompileAll(`
		go ahead|on
		sure|very thing|well
		ndio|ndiyo|eeh|naam hivyo|hivo|hiyo|tu
		ni|iko sahihi
		sawa|ndio|ndiyo weka|niwekee
		sounds|looks good|great|right|fine|perfect
		that|thats|it|its|hiyo is|s? correct|right|fine|ok|okay|good|it|great|perfect|sawa
		that|it|hiyo works for? me?
		works for me
		i do|confirm|agree|accept
		yes|yeah|yep|ndiyo i am|do|will|would
		confirm|thibitisha my|the|yangu? booking|appointment|miadi yangu?
		yes|yeah it is
		book|confirm|do|reserve it|that
		lets do it|that|this
		please do
		of course
		for sure
		bila shaka
		ni|iko|iko sawa|poa|hivyo
		imeenda
		inafaa|itafaa
		twende kazi
		nakubali
		thibitisha booking|miadi
		very well
		no doubt`)
	noPhrases = lex.CompileAll(`
		no thanks|thank you?
		not now|really|yet|today|that|this
		i|we do? dont want?
		i|we dont
		si|sio|siyo sawa|hivyo|hiyo
		not ok|okay|correct|right|fine|good
		never mind
		acha|wacha tu
		no way
		that|thats|it|its is|s? wrong|incorrect
		not at all
		dont|do not? book|confirm|reserve|send it|that|anything?
		usiweke|usitume|usibook|usithibitishe
		leave|keep it as? it? is?
		iache|waiche|iwache|iachwe hivyo|hapo?
		achana|wachana na|nayo hiyo|hayo?
		sitaki
		i am not
		its|thats not
		haifai|haitafaa`)
	easyPhrases = lex.CompileAll(`
		no problem|worries|stress
		hakuna|hamna|haina shida|noma|tatizo|wasiwasi`)
)

// passes marks a word that may stand beside an answer.
const passes graph.Answer = "courtesy"

// answer reads a plain yes or no: every word must belong to it or be courtesy.
// A question mark makes it a question.
func answer(toks []lex.Token) graph.Answer {
	kinds := make([]graph.Answer, len(toks))
	mark := func(ps []lex.Phrase, a graph.Answer) {
		for _, p := range ps {
			for from := 0; from < len(toks); {
				sp, ok := p.Find(toks[from:])
				if !ok {
					break
				}
				for i := from + sp.From; i < from+sp.To; i++ {
					if kinds[i] == graph.NoAnswer {
						kinds[i] = a
					}
				}
				from += sp.To
			}
		}
	}
	if len(toks) > 24 {
		return graph.NoAnswer
	}
	mark(easyPhrases, passes)
	mark(noPhrases, graph.No)
	mark(yesPhrases, graph.Yes)
	yes, no := false, false
	for i, t := range toks {
		a := kinds[i]
		if a == graph.NoAnswer {
			a = single(t)
		}
		switch a {
		case graph.Yes:
			yes = true
		case graph.No:
			no = true
		case graph.NoAnswer:
			return graph.NoAnswer
		}
	}
	switch {
	case yes == no:
		return graph.NoAnswer
	case yes:
		return graph.Yes
	}
	return graph.No
}

// verbs may stand beside the yes to a question of that intent: "yes, cancel it".
var verbs = map[graph.Intent]map[string]bool{
	graph.Cancel: set(`cancel ghairi nighairi ghairisha futa ifute ifutwe kucancel it that booking appointment the my this miadi hiyo yangu hii tu booking`),
	graph.Reschedule: set(`move change reschedule shift it that booking appointment the my this hamisha ihamishe ihamishwe badilisha ibadilishe sogeza
		miadi hiyo yangu hii tu`),
	graph.Book: set(`book it that me send the request prompt tuma itume ombi la ya weka niwekee booking mpesa m-pesa pesa tu now sasa stk`),
}

// sends are whole answers to "shall I send the request?" and "shall I book it?".
var sends = map[string]bool{
	"tuma": true, "itume": true, "tuma tu": true, "nitumie": true, "send": true, "send it": true, "send the request": true, "send mpesa": true,
	"tuma mpesa": true, "weka": true, "niwekee": true, "book": true,
}

// yesWithVerb reads a yes that repeats what was asked. The verb alone is one
// only where it can mean nothing else.
func (r *reading) yesWithVerb() graph.Answer {
	own := verbs[r.req.Expect.intent()]
	left := make([]lex.Token, 0, len(r.toks))
	for _, t := range r.toks {
		if t.Kind == lex.Word && own[t.Text] {
			continue
		}
		left = append(left, t)
	}
	if r.req.Expect.intent() == graph.Book && sends[words(r.toks)] && !r.asks() {
		return graph.Yes
	}
	if len(left) == len(r.toks) || answer(left) != graph.Yes {
		return graph.NoAnswer
	}
	return graph.Yes
}

// single is what one token is for an answer; graph.NoAnswer when it is foreign
// to one.
func single(t lex.Token) graph.Answer {
	switch t.Kind {
	case lex.Emoji:
		base := baseEmoji(t.Raw)
		switch {
		case yesEmoji[base]:
			return graph.Yes
		case noEmoji[base]:
			return graph.No
		}
		return passes
	case lex.Mark:
		if t.Raw == "?" {
			return graph.NoAnswer
		}
		return passes
	case lex.Break:
		return passes
	case lex.Number:
		return graph.NoAnswer
	case lex.Word:
	}
	switch {
	case yesWords[t.Text]:
		return graph.Yes
	case noWords[t.Text]:
		return graph.No
	case courtesy[t.Text]:
		return passes
	}
	return graph.NoAnswer
}

// baseEmoji is an emoji without skin tone and presentation.
func baseEmoji(raw string) string {
	for _, r := range raw {
		return string(r)
	}
	return ""
}
