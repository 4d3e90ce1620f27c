package model

import (
	"regexp"
	"strings"
	"unicode"
)

// sign is a pattern that speaks for an intent.
type sign struct {
	intent string
	re     *regexp.Regexp
}

func signOf(intent, words string) sign {
	return sign{intent: intent, re: regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(?:` + words + `)(?:$|[^\pL\pN])`)}
}

// signs in the order in which they outrank one another.
var signs = []sign{
	signOf("question", `are you (?:a )?(?:human|robot|bot|real)[^.]*|(?:wewe ni|je,? wewe ni) (?:mtu|roboti|robot|bot)[^.]*`),
	signOf("human", `(?:speak|talk|chat)(?:ing)? (?:to|with) [^.?!]{0,20}(?:human|person|agent|manager|owner|someone|somebody|staff|team)|(?:a |real )?(?:human|live agent)(?: being)? please|customer (?:care|service|support)|call me|nipigie(?:ni)?(?: simu)?|(?:kuongea|niongee|ongea|kuzungumza|nizungumze) na (?:mtu|meneja|mhudumu|mwenye|binadamu|wakala)\pL*|nipe mtu|niunganishe\pL*|nataka (?:mtu|meneja|mhudumu)`),
	signOf("complaint", `complain(?:t|ing)?|malalamiko|nalalamika|nimelalamika|terrible|worst|unacceptable|rude|disappointed|very angry|sijafurahi\pL*|haikunifurahisha|mbaya sana|mmenichelewesha|nimekasirika|nimechoka na nyinyi|useless|pathetic|you people|hovyo|upuzi|scam|wizi|wezi|matapeli|charged (?:me )?twice|(?:want|need|demand|give me)[^.?!]{0,12} refund|rudish(?:a|eni|ieni) pesa|nirudishie(?:ni)? pesa|pesa yangu`),
	signOf("cancel", `cancel(?:l?ed|ling|lation)?(?: my)?|call (?:it )?off|futa|nifutie(?:ni)?|kufuta|ghairi|kughairi|katisha|kukatisha|sitaweza kuja|sitakuja|can'?t make it|cannot make it|won'?t make it|not coming`),
	signOf("reschedule", `resch?edule|postpone|move (?:my|the|it)[^.?!]*|shift (?:my|the|it)|change (?:my|the) (?:appointment|booking|time|date|day|slot)|(?:another|different) (?:day|time|date|slot)|(?:badili|kubadili|badilisha|kubadilisha|nibadilishie\pL*) (?:miadi|muda|saa|siku|tarehe|booking|time)|sogeza|kusogeza|ahirisha|kuahirisha|panga upya|hamisha|kuhamisha|make it [^.?!]* instead`),
	signOf("my_bookings", `my (?:bookings?|appointments?|reservations?)|what (?:have|did) i book(?:ed)?|when (?:is|am) (?:my|i) (?:appointment|booking|coming|booked)|miadi yangu|nafasi yangu|bookings? (?:yangu|zangu)|appointments? (?:yangu|zangu)|nime ?book\pL* (?:lini|saa ngapi|nini)`),
	signOf("feedback", `(?:i )?(?:really )?(?:loved|enjoyed) (?:it|the|my)[^.?!]*|(?:great|excellent|amazing|wonderful) (?:service|massage|experience|job)|it was (?:good|great|nice|lovely|ok(?:ay)?)|nilipenda[^.?!]*|nimependa[^.?!]*|huduma (?:yenu )?(?:ni )?(?:nzuri|bora|safi)[^.?!]*|ilikuwa (?:nzuri|poa|safi)[^.?!]*`),
}

var (
	askCue = signOf("question", `how (?:much|long|do|far|many)|what(?:'s| is| are| do| does| time do)?|where(?:'s| are| is)?|which|who|why|when do|do you (?:have|offer|do|accept|take|open|close)|are you (?:open|closed)|is there|can i (?:pay|park|bring)|price\pL*|cost\pL*|charges?|open(?:ing)?|clos(?:e|ing)|hours|location|located|parking|polic(?:y|ies)|deposit|bei|gharama|pesa ngapi|shilingi ngapi|ngapi|wapi|mnafungua|mnafunga|mko wapi|mpo wapi|mnapatikana|mna|mnatoa|mnafanya|huduma (?:gani|zipi)|gani|lini|nini|vipi kuhusu|inachukua|inagharimu|je`)

	bookCue = signOf("book", `book(?:ing)?|kubook|ku-book|nibook\pL*|appointment|reserve|reservation|(?:any|a|free|available|open) (?:slots?|space|time|opening)|slot|availab\pL*|schedule|i(?:'d| would) (?:like|love)|i (?:want|need)|can i (?:get|have|come)|nataka|nilitaka|ningependa|ningetaka|naomba|nahitaji|natafuta|niwekee\pL*|weka(?:ni)?|nipangie|miadi|nafasi|naweza (?:kupata|kuja|pata)|naeza (?:kupata|kuja|pata)`)

	greetWords  = words(`hi hello hey hallo helo hiya habari hujambo jambo mambo niaje sasa salama shikamoo marahaba vipi good morning afternoon evening day za asubuhi mchana jioni yenu yako zenu there hi! xaxa poa karibu dear sir madam everyone how are you doing today u r leo`)
	greetCore   = words(`hi hello hey hallo helo hiya habari hujambo jambo mambo niaje sasa salama shikamoo vipi good morning afternoon evening xaxa`)
	thankWords  = words(`thanks thank you asante asanteni sana ahsante shukrani shukran thx tnx ty much so very nashukuru bye goodbye kwaheri ok okay sawa great cool see appreciate appreciated it nice day have a too pia na then tutaonana baadaye mungu akubariki`)
	thankCore   = words(`thanks thank asante asanteni ahsante shukrani shukran thx tnx ty nashukuru bye goodbye kwaheri appreciate appreciated tutaonana`)
	affirmWords = words(`yes yeah yep yup ya yea sure ok okay okey k alright fine correct right exactly confirm confirmed go ahead please do that's it perfect great good sounds ndio ndiyo naam sawa sawasawa haya poa barabara kabisa hakika endelea thibitisha nakubali nimekubali iko basi eeh ehe sasa hivyo`)
	denyWords   = words(`no nope nah not that one don't dont do never hapana la siyo sio si hiyo hiyo hapo sitaki usi usifanye acha wacha bado none`)
)

func words(list string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// tokenize splits a text into lower-case words.
func tokenize(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	})
}

func only(tokens []string, allowed map[string]bool) bool {
	for _, t := range tokens {
		if !allowed[t] {
			return false
		}
	}
	return len(tokens) > 0
}

func anyIn(tokens []string, set map[string]bool) bool {
	for _, t := range tokens {
		if set[t] {
			return true
		}
	}
	return false
}

// classify answers the intent seam.
func classify(q question) fields {
	text := q.customer()
	intent, confidence, reason := intentOf(text, q)
	language, sure := languageOf(text, businessLanguage(q))
	return fields{
		"reasoning":           reason,
		"intent":              intent,
		"confidence":          confidence,
		"language":            language,
		"language_confidence": sure,
		"sentiment":           sentimentOf(text, intent),
	}
}

func intentOf(text string, q question) (intent string, confidence float64, reason string) {
	toks := tokenize(text)
	if len(toks) == 0 {
		return "unknown", 0.6, "There are no words to go by."
	}
	if intent, ok := short(toks); ok {
		return intent, 0.97, "The whole message is one of the usual short phrases."
	}
	expecting := q.label(`the customer was last asked`)
	found := matching(text)
	slots := mentions(text, q)
	asks := askCue.re.MatchString(text) || strings.Contains(text, "?")
	books := bookCue.re.MatchString(text)
	switch {
	case len(found) > 0:
		return settle(found, text, expecting)
	case books && !(asks && priceCue.re.MatchString(text)):
		if slots {
			return "book", 0.96, "The words ask for an appointment and give details of it."
		}
		return "book", 0.9, "The words ask for an appointment."
	case asks && !slots, priceCue.re.MatchString(text):
		return "question", 0.93, "The words ask about the business."
	case slots:
		return "book", 0.88, "Details of an appointment are given without a request."
	case asks:
		return "question", 0.75, "It is put as a question."
	case nameGiven(text, expecting) != "":
		return "book", 0.87, "It gives the name that was asked for."
	case anyIn(toks, thankCore):
		return "thanks", 0.8, "A word of thanks is in it."
	case greetCore[toks[0]]:
		return "greeting", 0.72, "It opens with a greeting and the rest is not clear."
	}
	return "unknown", 0.4, "None of the intents fits the words."
}

var priceCue = signOf("question", `how much|price\pL*|cost\pL*|bei|gharama|pesa ngapi|shilingi ngapi|how long|inachukua|inagharimu|mnafungua|mnafunga|what time do you|where are you|mko wapi|mpo wapi`)

// short recognises messages that are nothing but a yes, a no, a greeting or
// thanks.
func short(toks []string) (string, bool) {
	switch {
	case len(toks) <= 10 && anyIn(toks, thankCore) && only(toks, thankWords):
		return "thanks", true
	case len(toks) <= 6 && only(toks, affirmWords):
		return "affirm", true
	case len(toks) <= 5 && only(toks, denyWords):
		return "deny", true
	case len(toks) <= 8 && only(toks, greetWords):
		return "greeting", true
	}
	return "", false
}

func matching(text string) []string {
	var out []string
	for _, s := range signs {
		if s.re.MatchString(text) {
			out = append(out, s.intent)
		}
	}
	return out
}

// settle takes the first of several intents and is less sure the more there
// are. A change while a booking is being put together is still that booking.
func settle(found []string, text, expecting string) (string, float64, string) {
	intent := found[0]
	confidence := 0.95
	if len(found) > 1 && !(found[len(found)-1] == "my_bookings" && (intent == "cancel" || intent == "reschedule")) {
		confidence = 0.82
	}
	if intent == "reschedule" && expecting != "" && !signs[5].re.MatchString(text) {
		return "book", 0.9, "It changes the booking that is being put together."
	}
	return intent, confidence, "The words are typical of " + intent + "."
}

// mentions reports whether the text holds a detail of an appointment.
func mentions(text string, q question) bool {
	if name, _ := pick(text, q.list(servicesHead)); name != "" {
		return true
	}
	if name, _ := pickStaff(text, q.list(staffHead)); name != "" {
		return true
	}
	w := readWhen(text, q.today(nowhen))
	return w.date != "" || w.time != "" || w.from != "" || w.to != ""
}

var (
	swWords = words(`habari hujambo jambo mambo niaje sasa nataka ningependa naomba nahitaji natafuta kesho leo kutwa keshokutwa saa asubuhi mchana jioni usiku alfajiri alasiri na ya wa kwa ni la za cha vya kwenye katika asante sana tafadhali ndio ndiyo hapana siyo sio sawa karibu bei gani ngapi wapi lini nini nani miadi nafasi huduma mko mpo mna mimi wewe yeye sisi nyinyi wao jina langu yangu yako yenu naitwa jumatatu jumanne jumatano alhamisi ijumaa jumamosi jumapili ijayo wiki mwezi siku tarehe nusu robo kasoro futa ghairi sogeza badilisha lakini pia kama kuna hakuna bado tena baada kabla kati moja mbili tatu nne tano sita saba nane tisa kumi poa pesa lipa kulipa mtu meneja nywele kucha uso kukandwa masaji kusuka kunyoa au hapo hii hiyo ile mzuri nzuri mbaya yeyote`)
	enWords = words(`the a an i you he she we they is are was were be to of in on at for with and or but my your our hello hi hey good morning afternoon evening want like would need can could please thanks thank yes no not tomorrow today tonight monday tuesday wednesday thursday friday saturday sunday next week after before between how much what where when which who do does have has book booking appointment change cancel time day any free available it this that me it's i'm i'd name price open close`)
	swShape = regexp.MustCompile(`^(?:nata|nina|ninge|nime|niko|naweza|naeza|sita|sija|siku|una|ume|mna|mnata|mme|tuna|tuta|ana|wana|kuna|haku|haja|ita|ina|ime|nipe|nisa|niwe|kufany|kupat|kulip)\pL{1,}$`)
)

func businessLanguage(q question) string {
	if m := regexp.MustCompile(`business's language, (en|sw)\b`).FindStringSubmatch(q.background()); m != nil {
		return m[1]
	}
	return "en"
}

// languageOf counts the words of either language.
func languageOf(text, locale string) (string, float64) {
	sw, en, latin, other := 0.0, 0.0, 0, 0
	for _, t := range tokenize(text) {
		switch {
		case swWords[t]:
			sw++
		case swShape.MatchString(t):
			sw += 1.5
		case enWords[t]:
			en++
		}
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin++
		default:
			other++
		}
	}
	switch {
	case other > latin:
		return "other", 0.9
	case sw == en:
		return locale, 0.55
	case sw > en:
		return "sw", min(0.99, 0.7+0.3*(sw-en)/(sw+en))
	}
	return "en", min(0.99, 0.7+0.3*(en-sw)/(sw+en))
}

var (
	badMood  = signOf("negative", `terrible|worst|awful|useless|rude|angry|annoyed|frustrat\pL*|disappointed|unacceptable|scam|late again|ridiculous|stupid|hate|bad service|wtf|mbaya\pL*|vibaya|nimekasirika|nimechoka|sijafurahi\pL*|upuzi|ujinga|wezi|wizi|matapeli|mnachelewa|mmenichelewesha|mnanisumbua|aibu`)
	goodMood = signOf("positive", `great|love|loved|lovely|amazing|excellent|wonderful|perfect|awesome|thank you so much|asante sana|nzuri sana|nimefurahi|nimependa|nilipenda|poa sana|safi sana|bora sana`)
)

func sentimentOf(text, intent string) string {
	switch {
	case badMood.re.MatchString(text), intent == "complaint":
		return "negative"
	case goodMood.re.MatchString(text):
		return "positive"
	}
	return "neutral"
}
