package model

import (
	"regexp"
	"strings"
)

// language says what the answer is to be written in.
func (q question) language() string {
	if l := strings.ToLower(q.label(`language`)); strings.HasPrefix(l, "sw") || strings.Contains(l, "kiswahili") || strings.Contains(l, "swahili") {
		return "sw"
	} else if l != "" {
		return "en"
	}
	l, _ := languageOf(q.customer(), "en")
	return l
}

// facts lists what the model is given to say.
func (q question) facts() []string {
	if inside := q.tag("facts"); inside != "" {
		var out []string
		for line := range strings.Lines(inside) {
			if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	return q.list(`(?:facts|ukweli)`)
}

// clarify answers the rephrasing seam: the draft with an opening, and every
// fact the draft does not hold.
func clarify(q question) fields {
	draft := q.tag("draft")
	if draft == "" {
		return fields{"reasoning": "There is no draft.", "text": "", "confidence": 0.2}
	}
	sw := q.language() == "sw"
	text := draft
	if !apology.MatchString(draft) {
		text = inTongue(sw, "Hakuna shida. ", "No problem. ") + draft
	}
	var missing []string
	for _, f := range q.facts() {
		if !strings.Contains(draft, f) {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		text = inTongue(sw, "Nimeandika: ", "I have noted: ") + strings.Join(missing, ", ") + ". " + draft
	}
	return fields{"reasoning": "The draft is kept, only its opening is new.", "text": text, "confidence": 0.92}
}

var apology = regexp.MustCompile(`(?i)^\W*(?:sorry|i am sorry|i'm sorry|i'm not sure|i am not sure|samahani|pole)`)

// topics tie the words customers ask with to the words facts are written in.
var topics = []struct{ asked, told *regexp.Regexp }{
	{asking(`how much|price\pL*|cost\pL*|charges?|bei|gharama|pesa ngapi|shilingi ngapi|inagharimu`), asking(`kes|ksh|price\pL*|costs?|bei|gharama|shilingi`)},
	{asking(`where|located|location|address|wapi|direction\pL*|mahali|mtaa`), asking(`located|address|street|road|avenue|floor|building|mall|tuko|tunapatikana|barabara|jengo|mtaa|location|mahali`)},
	{asking(`open|close|hours|what time|mnafungua|mnafunga|saa ngapi|sunday|jumapili|weekend`), asking(`open|close|closed|hours|tunafungua|tunafunga|tumefungwa|tuko wazi|monday|sunday|jumatatu|jumapili|saa`)},
	{asking(`parking|park|kuegesha|maegesho`), asking(`parking|park|maegesho|kuegesha`)},
	{asking(`deposit|pay|payment|mpesa|m-pesa|kulipa|lipa|malipo|amana|card|cash`), asking(`deposit|pay\pL*|m-?pesa|malipo|kulipa|amana|card|cash`)},
	{asking(`cancel\pL*|refund|polic\pL*|late|ghairi|kughairi|sera|nikichelewa`), asking(`cancel\pL*|refund|polic\pL*|late|ghairi|kughairi|sera|hours before|saa \d+ kabla`)},
	{asking(`how long|take|dakika ngapi|muda gani|inachukua`), asking(`minutes?|mins?|hours?|dakika|saa`)},
	{asking(`services?|offer|huduma|mnafanya|mnatoa|what do you do`), asking(`services?|offer|huduma|massage|facial`)},
}

func asking(words string) *regexp.Regexp { return signOf("", words).re }

// relevant scores how well a fact answers a question.
func relevant(asked, fact string) int {
	score := 0
	for _, t := range topics {
		if t.asked.MatchString(asked) && t.told.MatchString(fact) {
			score += 3
		}
	}
	told := make(map[string]bool)
	for _, t := range tokenize(fact) {
		told[t] = true
		for _, s := range synonyms[t] {
			told[s] = true
		}
	}
	counted := make(map[string]bool)
	for _, t := range tokenize(asked) {
		if len(t) > 3 && told[t] && !counted[t] && !enWords[t] && !swWords[t] {
			score += 2
			counted[t] = true
		}
	}
	return score
}

// shape answers the shaping seam with the facts that fit best, word for word.
// Without a question every fact fits; facts that are no sentences make no
// answer, and it says so by its confidence.
func shape(q question) fields {
	asked, sw := q.customer(), q.language() == "sw"
	best, chosen := 0, []string(nil)
	for _, f := range q.facts() {
		score := relevant(asked, f)
		if asked == "" {
			score = 1
		}
		switch {
		case score == 0 || len(tokenize(f)) < 3:
		case score > best:
			best, chosen = score, []string{f}
		case score == best && len(chosen) < 3:
			chosen = append(chosen, f)
		}
	}
	if aboutBot := signs[0].re.MatchString(asked); aboutBot {
		chosen = append([]string{inTongue(sw, "Mimi ni msaidizi wa AI, si mtu", "I am an AI assistant, not a person")}, chosen...)
	}
	if len(chosen) == 0 {
		return fields{
			"reasoning":  "None of the facts answers the question.",
			"text":       inTongue(sw, "Samahani, sina taarifa hiyo kwa sasa. Timu yetu inaweza kukusaidia.", "I am sorry, I do not have that information. Our team can help you with it."),
			"confidence": 0.4,
		}
	}
	return fields{
		"reasoning": "The facts chosen speak of what is asked.", "text": strings.Join(sentences(chosen), " "), "confidence": 0.93,
	}
}

func sentences(facts []string) []string {
	var out []string
	for _, f := range facts {
		if !strings.ContainsAny(f[len(f)-1:], ".!?") {
			f += "."
		}
		out = append(out, f)
	}
	return out
}

// inTongue picks the Swahili or the English words.
func inTongue(swahili bool, sw, en string) string {
	if swahili {
		return sw
	}
	return en
}

// returning answers the seam that says the assistant is back: the draft, with
// every fact the draft does not hold.
func returning(q question) fields {
	text := q.tag("draft")
	for _, f := range q.facts() {
		if !strings.Contains(text, f) {
			text += " " + f + "."
		}
	}
	return fields{"reasoning": "The draft holds what was decided.", "message": text, "confidence": 0.92}
}

var chatLine = regexp.MustCompile(`(?s)<transcript>\s*(.*?)\s*</transcript>`)

// brief answers the summarising seam: the card that was asked for, or the chat
// translated, which this model only says it has done.
func brief(q question) fields {
	chat := ""
	for _, m := range q.messages {
		if found := chatLine.FindStringSubmatch(m.text); m.role == "user" && found != nil {
			chat = found[1]
		}
	}
	sw := strings.HasPrefix(strings.ToLower(q.label(`staff language`)), "sw")
	last := ""
	for line := range strings.Lines(chat) {
		if words, ok := strings.CutPrefix(strings.TrimSpace(line), "▸ "); ok {
			last = words
		}
	}
	if r := []rune(last); len(r) > 200 {
		last = string(r[:200]) + "…"
	}
	summary := inTongue(sw, "Mteja aliandika: ", "The customer wrote: ") + last
	f := fields{
		"trigger": q.label(`trigger`), "language": inTongue(sw, "sw", "en"), "customer_phone_masked": q.label(`customer phone`),
		"summary_one_line": summary, "why_paged": q.label(`detail`),
		"suggested_next_action": inTongue(sw, "Soma chat na umjibu.", "Read the chat and answer them."),
		"agent_draft_to_send": inTongue(strings.HasPrefix(strings.ToLower(q.label(`customer language`)), "sw"),
			"Samahani kwa usumbufu. Naangalia sasa hivi.", "I am sorry for the trouble. I am looking into it now."),
		"translation": inTongue(sw, "(kwa Kiswahili)\n", "(in English)\n") + chat,
	}
	if q.tag("transcript") == "" && chat == "" { // a summary in free form
		return prose(q)
	}
	return f
}

// prose answers the seams of free text, and any other, with plain words.
func prose(q question) fields {
	sw := q.language() == "sw"
	said := q.customer()
	if r := []rune(said); len(r) > 400 {
		said = string(r[:400]) + "…"
	}
	text := inTongue(sw, "Asante kwa kusubiri. Niko tayari kuendelea kukusaidia.", "Thank you for waiting. I am ready to go on helping you.")
	if q.seam() == seamBrief {
		text = inTongue(sw, "Mteja aliandika: ", "The customer wrote: ") + said
	}
	return fields{
		"reasoning": "Written from the conversation shown.", "text": text, "summary": text, "brief": text,
		"message": text, "confidence": 0.9,
	}
}
