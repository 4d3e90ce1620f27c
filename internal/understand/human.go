package understand

import (
	"strings"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

// Words of the phrases in which people ask for a person.
const (
	somebody = "person|people|human|humans|someone|somebody|agent|agents|representative|rep|operator|staff|team|manager|owner|boss|supervisor|receptionist|reception|attendant|admin|management|being|customer"
	mtu      = "mtu|binadamu|meneja|manager|mhudumu|wahudumu|msimamizi|mwenye|mwenyewe|bosi|boss|mfanyakazi|wafanyakazi|mkubwa|mkuu|mwakilishi|staff|agent|human|person|someone|mmoja"
	qualify  = "a|an|the|your|any|actual|real|live|human|one|of|another|some"
)

var humanPhrases = lex.CompileAll(strings.NewReplacer("SOMEBODY", somebody, "MTU", mtu, "Q", qualify).Replace(`
	talk|speak|chat|talking|speaking to|with|wit Q? Q? Q? SOMEBODY
	connect|transfer|forward|redirect|pass|link|hook|refer|escalate me|us|this|it to|with Q? Q? Q? SOMEBODY
	put me|us through
	put me|us on to Q? Q? SOMEBODY
	put Q? Q? SOMEBODY on
	get|give|find|bring|send me|us Q? Q? Q? person|human|agent|representative|rep|operator|manager|owner|supervisor|receptionist|staff|attendant|admin
	get|give|find|bring me|us someone|somebody $
	get|give|find me|us someone|somebody to|i to|can? talk|speak|help
	want|need|require|prefer Q? Q? human|agent|representative|operator|manager|supervisor
	want|need|prefer Q? real|actual|live person|someone|somebody|people
	want|need Q? person $
	want|need|looking for? someone|somebody to talk|speak|call|contact|help
	someone|person|somebody|human|anyone|anybody|agent i|we can|could talk|speak|chat to|with
	talk|speak|chat to|with a? real|actual|live
	customer|client care|service|services|support|desk agent|number|line|please|plz|pls|tafadhali|$
	^ customer|client care|service|support please|i|can|nataka|naomba|$
	call|phone|ring me back|please|now|asap|urgently|immediately|today|tomorrow|later|when|on|at|in|if|instead
	call|phone|ring me $
	give|gimme me? a? call|ring $
	give me a call|ring
	have|let|ask|tell|get Q? Q? SOMEBODY to? call|contact|phone|ring|reach|text|reply|respond|write|talk
	someone|somebody|person|human|staff|manager|agent|team|anyone to? can|could|should|please|to? call|contact|phone|reach|ring me|us
	can|could|may i|we see|get|have Q? Q? human|manager|supervisor|agent|operator|representative
	^ Q? Q? human|agent|operator|representative|person|manager|supervisor please|plz|pls|now? $
	^ Q? human|agent|operator|representative|manager|supervisor|receptionist $
	real|actual person|human please|$
	nataka|naomba|ningependa|niweze kuongelesha|niongeleshe|kumuongelesha mtu|meneja|binadamu|mhudumu|msimamizi|manager
	not a? bot|robot|machine|ai|computer
	%ongea|%ongee|%ongeeni|%zungumza|%zungumze|%chati|%chat|%speak|%talk na|to|with huyo|yule|mwenye? MTU|kiongozi
	%ongea|%ongee|%zungumza|%zungumze na mwenye duka|biashara|salon|spa
	%ongea|%zungumza|%ongee|%zungumze moja kwa moja na mtu
	%unganishe|%unganisheni|%unganisha|%peleke|%pelekeni na|kwa|to MTU
	nataka|naomba|nahitaji|ninataka|ningependa|nipe|nipeni|nipatie|nitafutie|niitie|niitieni|mniitie meneja|manager|binadamu|mhudumu|msimamizi|human|agent|operator
	nataka|naomba|nahitaji|ninataka|ningependa|nipe|nipeni|nipatie|nitafutie|niitie mtu halisi|mwenyewe|$
	nataka|naomba|nahitaji|nipe|nitafutie mtu wa kuongea|kuzungumza|kuongelesha|kunisaidia|kunijibu
	mtu|meneja|mhudumu|mmoja anipigie|anitafute|aniongeleshe|anijibu|anisaidie
	nipigie|nipigieni|mnipigie|unipigie|mtanipigia|nipigiwe simu|sasa|tafadhali|baadaye|kesho|leo
	nipigie|nipigieni|mnipigie|unipigie $
	naomba|nataka simu|kupigiwa
	naomba kupigiwa|mnipigie
	%itie|%itieni|%ita|%iteni meneja|manager|mhudumu|msimamizi
	managers|owners|bosss|meneja's number|contact|phone|line
	can|may|could i|we call|phone|ring|reach you|u|them|someone|somebody $
	naweza|naeza|nawezaje|tunaweza kuwapigia|kukupigia|wapigia|kupigia|kupiga simu?
	nipe|nipeni|naomba|nataka|nitumie namba|nambari|number|contact ya|za? meneja|manager|mwenye|msimamizi|simu|boss
	can|could a|any person|human|someone help|assist|attend me|us
	mtu anaweza|aweze kunisaidia|nisaidia|kunijibu|nijibu
	nipe|niunganishe receptionist|mhudumu|meneja|muhudumu|mtu|boss niongee|nizungumze|tuongee
	nipigie|nipigieni|mnipigie kwa|kwenye hii|namba
	nipatie|nipeni|nitafutie mtu wa|anayeweza|ambaye kuongea|kunisaidia|kunijibu
	someone|somebody in charge
	rather|prefer to? speak|talk|niongee to|na a|an|mtu
	msaada wa|kutoka binadamu|mtu|kwa?
	mwenye|mwenyewe|boss|meneja|mtu biashara|duka|salon|spa? anipigie|apige|aniongeleshe|anitafute
	mnanipigia|mtanipigia|mnipigie|utanipigia|unanipigia simu
	huduma kwa wateja
	huduma ya|za wateja
	^ mtu|binadamu|meneja|mhudumu tafadhali|halisi
	^ meneja|mhudumu|msimamizi|binadamu $
	sitaki|stop|hate|tired|don't|dont want? to? of? %ongea|talk|talking|speak|speaking|chat|chatting|kuongea|kuzungumza to|with|na a|the|this? bot|robot|roboti|machine|mashine|ai|computer|kompyuta`))

// notHuman are rows of words before a match that take the request away.
var notHuman = lex.CompileAll(`
	dont|doesnt|not|never|no|cant|cannot want|need|wish|have|like? to? talk|speak|call|connect|transfer|chat|a|any|the|put|human|agent|manager|customer
	dont|not|never call|phone|ring|connect|transfer|put
	sitaki|sihitaji|usi|msi %ongea|%zungumza|mtu|meneja|simu|kupigiwa|binadamu
	already|just|was|were talked|spoke|spoken|talking|speaking|chatting
	am|are|was i|you talk|talking|speak|speaking|chat|chatting
	if|when|after i|you talk|speak|spoke|talked`)

var botTalk = lex.CompileAll(`
	sitaki|stop|hate|tired|dont want? to? of? %ongea|talk|talking|speak|speaking|chat|chatting|kuongea|kuzungumza to|with|na a|the|this? bot|robot|roboti|machine|mashine|ai|computer|kompyuta`)

// HumanRequest reports whether a text asks for a person of the business to take
// over, to call or to write. Asking whether the assistant is a person is no
// such request.
func HumanRequest(text string) bool { return humanRequest(lex.Tokens(lex.Clean(text))) }

func humanRequest(toks []lex.Token) bool {
	if _, ok := lex.FindAny(botTalk, toks); ok {
		return true
	}
	for _, p := range humanPhrases {
		for from := 0; from < len(toks); {
			sp, ok := p.Find(toks[from:])
			if !ok {
				break
			}
			at := from + sp.From
			if !revoked(toks, at, from+sp.To) {
				return true
			}
			from += sp.To
		}
	}
	return false
}

// revoked reports whether the words just before a request, or a question about
// the assistant around it, take it away.
func revoked(toks []lex.Token, from, to int) bool {
	start := max(0, from-4)
	for i := from - 1; i >= start; i-- {
		if toks[i].Kind == lex.Break || toks[i].Kind == lex.Mark && (toks[i].Raw == "." || toks[i].Raw == "!" || toks[i].Raw == "?") {
			start = i + 1
			break
		}
	}
	window := toks[start:min(len(toks), max(to, from+1))]
	for _, p := range notHuman {
		if sp, ok := p.Find(window); ok && start+sp.From <= from {
			return true
		}
	}
	for start > 0 && toks[start-1].Kind != lex.Break && (toks[start-1].Kind != lex.Mark || toks[start-1].Raw == ",") {
		start--
	}
	for _, p := range aboutBot {
		if sp, ok := p.Find(toks[start:min(len(toks), max(to, from+1))]); ok && start+sp.To >= from {
			return true
		}
	}
	return false
}

const machine = "bot|robot|roboti|human|person|ai|machine|computer|mtu|binadamu|mashine|kompyuta|chatbot|real|automated|people|virtual|assistant|program|siri|software|alive"

var aboutBot = lex.CompileAll(strings.NewReplacer("MACHINE", machine).Replace(`
	are|r|is you|u|this|that|it|your|these actually|really|even|just|or|some|kind|a|an|the? actually|really|kind|sort|of|a|an|the? a|an|the? real|actual|live? MACHINE
	are|r you|u a|an|the? real? MACHINE
	you|u|youre|ur a|an real|actual|live? bot|robot|human|person|ai|machine|computer|chatbot
	am i|we talking|speaking|chatting|texting|dealing|conversing|interacting to|with a|an|the? real|actual|live? MACHINE|someone|somebody|agent|staff
	is|are there a|an|any? real? human|person|people behind|here|there|on
	wewe|we|uko|nyinyi ni|kama? MACHINE
	wewe ni mtu|roboti|robot|bot|binadamu|mashine|nani
	ni|hii|hiyo ni? mtu|bot|robot|roboti|binadamu|mashine au|ama|or|halisi|kweli|$
	naongea|ninaongea|nazungumza|ninazungumza|nachat na mtu|binadamu|roboti|robot|bot|mashine|ai|nani|mhudumu|computer|kompyuta
	je? mtu|binadamu au|ama|or roboti|robot|bot|mashine|ai
	human|person|man|robot|bot|machine or a? robot|bot|machine|ai|human|person|computer
	are|r|is you|u|this|it * or a|an|the? real|actual|live? MACHINE
	who|what am i talking|speaking|chatting to|with
	what|who are you $`))

// asksWhetherBot reports whether a text asks if the assistant is human.
func asksWhetherBot(toks []lex.Token) bool {
	_, ok := lex.FindAny(aboutBot, toks)
	return ok
}
