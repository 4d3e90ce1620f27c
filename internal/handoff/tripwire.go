package handoff

import (
	"math"
	"strings"

	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// emergencies are words of somebody in danger.
//
//nolint:gochecknoglobals // constant phrases.
var emergencies = lex.CompileAll(`
	cant|cannot|couldnt|not|difficulty|trouble breathe|breathing
	bleeding heavily|badly|lot|nonstop
	bleeding a lot
	wont|not|doesnt stop bleeding
	unconscious|fainted|collapsed|convulsing|convulsions
	passed out
	heart attack
	chest pain|pains
	call|need|get|send a|an? ambulance
	theres|there is? a? fire $
	caught|catching|on fire
	its|is|this a|an? real|medical? emergency $
	medical|real|serious emergency
	want|going|gonna to? die|suicide
	kill|killing|hurt|hurting myself
	amezimia|amezirai|nimezimia|ameanguka|anakufa|ninakufa|nakufa
	hawezi|siwezi|nashindwa|anashindwa kupumua|pumua
	anashindwa|nashindwa|siwezi|hawezi na? kupumua
	anatokwa|natoka|anatoka|natokwa na? damu nyingi|sana
	damu nyingi|haiachi|haikomi
	kuna|umewaka|unawaka moto
	ni|hii|kuna dharura
	moto unawaka|umewaka|mkubwa
	ita|itieni|tuma|leteni ambulensi|ambulance
	nataka|natamani kufa|kujiua
	maumivu ya kifua`)

// legal are words of somebody who goes, or threatens to go, to the law.
//
//nolint:gochecknoglobals // constant phrases.
var legal = lex.CompileAll(`
	my|our lawyer|lawyers|advocate|advocates|attorney will|is|are|shall|wants|to|contact|write|call
	hear|hearing from my|our lawyer|lawyers|advocate|advocates|attorney
	take|taking you|u|this|them to court
	see you in court
	sue|suing you|u|your|them
	ill|gonna|going|shall to? sue $
	legal action|actions|proceedings|notice
	lawsuit
	consumer protection
	report|reporting|reported you|this|it|u to the? police|authorities|dci|kebs|odpc
	call|calling|go|going|involve to? the? police $
	wakili wangu|wetu atawapigia|atakupigia|atawaandikia|atawasiliana|atawatafuta
	%shtaki|%washtaki|%shitaki|%washitaki
	%enda|%peleka|%pelekana|%onana|tuonane mahakamani|kortini|mahakama|korti|polisi
	hatua za|ya kisheria|sheria
	%ripoti|%waripoti kwa? polisi`)

// medical are words of somebody whom a visit has hurt. A pain that somebody
// comes with is what many visits are for.
//
//nolint:gochecknoglobals // constant phrases.
var medical = lex.CompileAll(strings.NewReplacer(
	"HARM", "rash|rashes|reaction|infection|burn|burns|blister|blisters|wound|wounds|swelling|bruise|bruises|injury",
	"HOW", "bad|terrible|serious|allergic|skin|red|some|severe",
	"MADHARA", "vipele|upele|mzio|aleji|allergy|maambukizi|uvimbe|kidonda|vidonda|malengelenge",
).Replace(`
	you|u|she|he|they|staff burned|burnt|scalded|injured|hurt me|my
	you|she|he|they|who cut my ear|ears|neck|skin|finger|fingers|face|scalp|toe|toes
	gave|given|giving|caused|causing|left me? with? a|an? HOW? HARM
	got|developed|have|had|getting a|an? HOW? HARM * after|since|from|because
	allergic reaction
	swollen|infected|bleeding|burning|burnt|peeling|numb|blistered|vomiting|dizzy * after|since|from|because
	pain|pains|hurts|hurting * since|after your|the|my|that|this? treatment|massage|facial|visit|appointment|session|procedure|extraction|filling|waxing|manicure|pedicure|injection
	wrong medicine|medication|dose|tooth|injection
	medical negligence|malpractice
	%niunguza|%nichoma|nimeungua|niliungua
	%niumiza|%nikata
	imeniletea|umeniletea|ilinipa|imenipa|mmenipa|mlinipa MADHARA
	nimepata|nilipata|nina|nimeota MADHARA * baada|tangu|kwa
	umevimba|imevimba|limevimba|zimevimba|inawasha|inatoka|imeungua * baada|tangu
	maumivu|uchungu tangu|baada ya|ile? massage|masaji|matibabu|huduma|ziara`))

// refunds are words of somebody who wants money back.
//
//nolint:gochecknoglobals // constant phrases.
var refunds = lex.CompileAll(`
	want|need|demand|expect|require|give|get|getting|request|requesting|asking|ask|claim|like|for|my|our|a|me|full|process|when|where refund|refunds|reimbursement
	refund|reimburse me|my|us|the|our
	refund of|$
	refunded
	money|deposit|cash|payment|fee|pesa back
	return|send my|our|the money|deposit|cash|payment
	%rudishie|%rudishieni|%rudishiwe|%rudishiwa pesa|hela|fedha|deposit|amana|malipo|zangu|yangu
	%rejeshee|%rejesheeni|%rejeshewe pesa|hela|fedha|deposit|amana|malipo|zangu|yangu
	rudisha|rudisheni|rejesha|rejesheni|nirudishieni pesa|hela|fedha|deposit|amana
	nataka|naomba|nadai pesa|hela|fedha|deposit|amana yangu|zangu|yetu
	refund yangu
	nataka|naomba|nadai refund`)

// asksAbout are words that make talk of refunds a question about the rules.
//
//nolint:gochecknoglobals // constant phrases.
var asksAbout = lex.CompileAll(`
	refund|refunds policy|policies|rules|terms
	policy|rules on|about|for refund|refunds
	is|are the|my|deposit|it refundable
	sera ya refund|marejesho`)

// Kinds of tripwire, as details of the signal.
const (
	tripEmergency = "an emergency"
	tripLegal     = "a legal complaint"
	tripMedical   = "a medical complaint"
	tripRefund    = "a refund over the threshold"
)

// tripped says which policy keeps the assistant from going on alone, "" for
// none. A refund is one when the sum named, or where none is the sum at stake,
// is over the threshold.
func tripped(said string, atStake int64, t tenant.Thresholds) string {
	if said == "" {
		return ""
	}
	toks := lex.Tokens(lex.Clean(said))
	found := func(phrases []lex.Phrase) bool { _, ok := lex.FindAny(phrases, toks); return ok }
	switch {
	case found(emergencies):
		return tripEmergency
	case found(legal):
		return tripLegal
	case found(medical):
		return tripMedical
	case found(refunds) && wanted(toks, atStake, !found(asksAbout)) > t.RefundKES:
		return tripRefund
	}
	return ""
}

// wanted is the largest sum a text names, and without one what is at stake
// where it is money that is wanted and not a rule.
func wanted(toks []lex.Token, atStake int64, claims bool) int64 {
	best, named := int64(0), false
	for i := range toks {
		if n, ok := sum(toks, i); ok {
			best, named = max(best, n), true
		}
	}
	if named || !claims {
		return best
	}
	return atStake
}

// leastSum is the smallest bare number that is taken for money: less is an
// hour, a day or a count.
const leastSum = 500

// sum reads the amount that begins at a token: 6,000, KES 6000, 6k, elfu sita.
func sum(toks []lex.Token, i int) (int64, bool) {
	t := toks[i]
	switch {
	case t.Kind == lex.Word && (t.Text == "elfu" || t.Text == "thao"):
		if n, _, ok := lex.ReadNumber(toks, i+1); ok && n > 0 && n < 1000 {
			return int64(n) * 1000, true
		}
		return 0, false
	case t.Kind != lex.Number || t.Value < 0 || i > 0 && toks[i-1].Raw == "+":
		return 0, false
	}
	value, next := int64(t.Value), i+1
	for next+1 < len(toks) && toks[next].Raw == "," && toks[next+1].Kind == lex.Number && toks[next+1].Glued && len(toks[next+1].Raw) == 3 {
		if value > math.MaxInt32 {
			return 0, false
		}
		value, next = value*1000+int64(toks[next+1].Value), next+2
	}
	if next < len(toks) && (strings.EqualFold(toks[next].Raw, "k") && toks[next].Glued || toks[next].Text == "thousand") {
		return value * 1000, value < math.MaxInt32
	}
	// A phone number is no sum, nor is a piece of one.
	return value, value >= leastSum && len(t.Raw) < 8
}
