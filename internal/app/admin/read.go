package admin

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// Verb is what a command does.
type Verb string

// Verbs.
const (
	day       Verb = "day"       // who comes on a date
	week      Verb = "week"      // how a week goes
	revenue   Verb = "revenue"   // who brought in what in a month
	free      Verb = "free"      // free hours of a date
	block     Verb = "block"     // time out of a calendar
	cancel    Verb = "cancel"    // a customer's booking
	move      Verb = "move"      // a customer's booking
	remind    Verb = "remind"    // a customer
	find      Verb = "find"      // a customer
	save      Verb = "save"      // a customer, with their phone
	rename    Verb = "rename"    // a customer
	drop      Verb = "drop"      // a service
	tell      Verb = "tell"      // everyone
	progress  Verb = "progress"  // of announcements
	documents Verb = "documents" // asked
	help      Verb = "help"
	hello     Verb = "hello"
	bye       Verb = "bye"
	thanks    Verb = "thanks"
	nothing   Verb = "nothing" // a yes or a no that answers no question
	many      Verb = "many"    // more commands than one message may have
	unknown   Verb = ""
)

// Command is one thing to do, in the admin's own words: Text is the whole
// fragment, Rest what stands behind the verb, To what stands behind "to".
type Command struct {
	Verb Verb   `json:"verb"`
	Text string `json:"text"`
	Rest string `json:"rest,omitempty"`
	To   string `json:"to,omitempty"`
}

// form is a way to put a command. Group 1 is its Rest, group 2 its To.
type form struct {
	verb    Verb
	pattern *regexp.Regexp
}

func forms(verb Verb, patterns ...string) (out []form) {
	for _, p := range patterns {
		out = append(out, form{verb, regexp.MustCompile(`(?is)` + p)})
	}
	return out
}

// grammar is tried from the top: what is more particular stands first.
var grammar = slices.Concat( //nolint:gochecknoglobals // regular expressions, compiled once.
	forms(progress,
		`^(?:how|what|where)\b.*\b(?:broadcasts?|announcements?)\b.*$`, `^(?:broadcasts?|announcements?|matangazo)(?: progress| status)?\??$`,
		`^(?:tangazo|matangazo)\b.*\b(?:wapi|vipi|je|gani|linaendeleaje|yanaendeleaje|limefika|yamefika)\b.*$`),
	forms(tell,
		`^(?:tell|inform|notify|message|write to|announce to|broadcast to)\s+(?:everyone|everybody|all|all (?:of )?(?:our |my |the )?(?:customers|clients))\b[\s:,]*(?:that\s+)?(.+)$`,
		`^(?:broadcast|announce)\b[\s:,]*(?:that\s+)?(.+)$`,
		`^(?:waambie|wajulishe|watumie|watangazie|tangaza kwa|tuma tangazo kwa)\s+(?:wateja wote|watu wote|wote|kila mtu|kila mteja)\b[\s:,]*(?:kwamba\s+|kuwa\s+)?(.+)$`,
		`^(?:tangaza|tuma tangazo)\b[\s:,]*(?:kwamba\s+|kuwa\s+)?(.+)$`),
	forms(documents,
		`^(?:ask|check)\s+(?:the |our )?(?:documents?|docs|knowledge)\b[\s:,]*(.+)$`,
		`^what do(?:es)? (?:our|the|my) (?:documents?|docs|papers|policy|policies) say (?:about|on)\s+(.+)$`,
		`^(?:uliza nyaraka|nyaraka(?: zetu)? zinasemaje kuhusu|nyaraka(?: zetu)? zinasema nini kuhusu)\b[\s:,]*(.+)$`),
	forms(drop,
		`^(?:delete|remove|drop)\s+(?:the |our )?service\b[\s:,]*(.*)$`, `^(?:delete|remove|drop)\s+(?:the |our )?(.+?)\s+service$`,
		`^(?:futa|ondoa)\s+huduma\b(?:\s+ya\b)?[\s:,]*(.*)$`),
	forms(rename,
		`^(?:rename|change the name of)\s+(.+?)\s+(?:to|as)\s+(.+)$`, `^(?:badilisha|badili)\s+jina la\s+(.+?)\s+(?:kuwa|liwe|kwa)\s+(.+)$`),
	forms(save,
		`^(?:save|add|register)\s+(?:(?:a |the )?(?:new )?(?:customer|client|contact|number)\s+)?(.*\d{4}.*)$`,
		`^(?:hifadhi|ongeza|sajili)\s+(?:(?:mteja(?: mpya)?|namba(?: ya)?)\s+)?(.*\d{4}.*)$`),
	forms(move,
		`^(?:reschedule|move|shift|postpone)\b\s*(.*?)\s*\b(?:to|until)\s+(.+)$`, `^(?:reschedule|move|shift|postpone)\b\s*(.*)$`,
		`^(?:hamisha|sogeza|ahirisha)\b\s*(.*?)\s*\b(?:hadi|mpaka|kwenda|iwe|kuwa)\s+(.+)$`, `^(?:hamisha|sogeza|ahirisha)\b\s*(.*)$`),
	forms(block,
		`^(?:block|close off)\b\s*(.*)$`, `^(?:zuia|funga)\b\s*(.*)$`, `^((?:give\s+)?\S+(?:\s+\S+)?\s+(?:is off|is away|has time off|hayupo|hatakuwepo|ana likizo|ana mapumziko)\b.*)$`,
		`^((?:mpe|mpatie)\s+.+\s+(?:mapumziko|likizo)\b.*)$`),
	forms(cancel, `^cancel\b\s*(.*)$`, `^(?:futa|ghairi|sitisha|katisha)\b\s*(.*)$`),
	forms(remind,
		`^remind\b\s*(.*)$`, `^send (?:a |the )?reminder to\s+(.*)$`, `^(?:mkumbushe|kumbusha|umkumbushe)\b\s*(.*)$`,
		`^(?:tuma kumbusho kwa|mtumie kumbusho)\s+(.*)$`),
	forms(revenue,
		`^.*\b(?:br(?:ing|ings|ought|inging) in|revenues?|earn(?:s|ed|ings)?|income|takings|turnover|sales|mapato|mauzo|(?:ali|ame|wali|wame|tuli|tume)(?:ingiza|leta)|pesa ngapi)\b.*$`),
	forms(free, `^.*\b(?:free|available|openings?|wazi|nafasi)\b.*$`),
	forms(week,
		`^(?:how|report|what|show|give|ripoti|muhtasari)\b.*\b(?:week|wiki)\b.*$`, `^(?:this|last) week(?: report)?\??$`, `^(?:weekly )?report$`,
		`^wiki\b.*$`, `^ripoti$`),
	forms(day,
		`^(?:who|what|whats|what's|who's|how|how's|show|list|give|any|nani|nionyeshe|nipe|onyesha|je)\b.*\b(?:today|tomorrow|yesterday|on|come|comes|coming|day|bookings?|appointments?|leo|kesho|jana|juzi|ratiba|miadi|siku|anakuja|wanakuja|waliopo)\b.*$`,
		`^(?:leo|kesho|jana|juzi|ratiba|miadi|wateja wa)\b.*$`, `^(?:today|tomorrow|yesterday|bookings|appointments|schedule|calendar|agenda)\b.*$`),
	forms(find,
		`^(?:find|look up|lookup|search(?: for)?|who is|show me)\s+(.+)$`, `^(?:number|phone|contact|details)\s+(?:of|for)\s+(.+)$`,
		`^(?:tafuta|nitafutie|ni nani|nani ni|namba ya|simu ya)\s+(.+)$`),
	forms(help, `^(?:help|commands|what can (?:you|i) (?:do|ask|write).*|msaada|nisaidie|unaweza (?:kufanya )?nini.*)\??$`),
	forms(bye, `^(?:bye|goodbye|that'?s all|that is all|kwaheri|ni hayo tu|ndiyo hayo tu)$`),
)

// courtesy stands before a command and means nothing.
var courtesy = regexp.MustCompile(`(?i)^(?:(?:please|pls|kindly|can you|could you|would you|i want you to|and|also|then|hi|hello|hey|habari|sasa|` +
	`tafadhali|naomba|nataka|na|pia|kisha|halafu|alafu)\b[\s,:!]*)+`)

// parting stands behind one.
var parting = regexp.MustCompile(`(?i)(?:[\s.,!]+(?:please|thanks|thank you|asante|asante sana|tafadhali))+[\s.!]*$`)

// breaks are where one command may end and another begin.
var breaks = regexp.MustCompile(`(?i)\s*(?:[\n;,?.!]+\s+|[\n;]+|\s+(?:and then|and|then|na|kisha|halafu|pia)\s+)`)

// maxBreaks is in how many places one is looked for.
const maxBreaks = 40

// said is what an admin wrote, or tapped in its place.
func said(i graph.Input) string {
	switch {
	case i.Choice == yes || i.Choice == no:
		return ""
	case strings.HasPrefix(i.Choice, prefix):
		return strings.TrimPrefix(i.Choice, prefix)
	}
	return i.Text
}

// read cuts a text into commands, at least one. A piece that is no command of
// its own belongs to the one before it; an announcement reaches to the end.
func read(i in, text string) []Command {
	text = strings.TrimSpace(lex.Clean(text))
	var all []Command
	for text != "" && len(all) <= maxQueue {
		piece, rest := cut(text)
		all, text = append(all, parse(piece)), rest
	}
	switch {
	case len(all) > maxQueue:
		return []Command{{Verb: many}}
	case len(all) > 1: // "hi, what's today like, thanks"
		all = slices.DeleteFunc(all, func(c Command) bool { return c.Verb == unknown && polite(c.Text) })
	}
	if len(all) == 0 || len(all) == 1 && all[0].Verb == unknown {
		return []Command{alone(i)}
	}
	return all
}

// cut returns the first command's words and what follows them.
func cut(text string) (piece, rest string) {
	if parse(text).Verb == tell {
		return text, ""
	}
	for _, at := range breaks.FindAllStringIndex(text, maxBreaks) {
		if first := parse(text[:at[0]]); first.Verb == unknown && !polite(first.Text) {
			continue
		}
		if tail := text[at[1]:]; begins(tail) {
			return text[:at[0]], tail
		}
	}
	return text, ""
}

// begins reports whether a command begins with the text: one of its pieces from
// the front is one.
func begins(text string) bool {
	end := len(text)
	if at := breaks.FindStringIndex(text); at != nil {
		end = at[0]
	}
	return parse(text[:end]).Verb != unknown || parse(text).Verb == tell
}

// parse reads one command. An announcement keeps its words to the last mark.
func parse(text string) Command {
	whole := strings.TrimSpace(text)
	if bare := courtesy.ReplaceAllString(whole, ""); bare != "" {
		whole = bare
	}
	text = strings.TrimRight(parting.ReplaceAllString(whole, ""), " ?!.,;")
	c := Command{Text: text}
	for _, f := range grammar {
		words := text
		if f.verb == tell {
			words = whole
		}
		m := f.pattern.FindStringSubmatch(words)
		if m == nil {
			continue
		}
		c.Verb = f.verb
		if len(m) > 1 {
			c.Rest = strings.TrimSpace(m[1])
		}
		if len(m) > 2 {
			c.To = strings.TrimSpace(m[2])
		}
		return c
	}
	return c
}

func polite(text string) bool {
	return courtesy.ReplaceAllString(text+" ", "") == "" || slices.Contains([]string{"thanks", "thank you", "asante", "asante sana"}, strings.ToLower(text))
}

// alone is a message that is no command.
func alone(i in) Command {
	c := Command{Text: i.Input.Text}
	switch {
	case i.Input.Choice == yes || i.Input.Answer != graph.NoAnswer || i.Input.Choice == no:
		c.Verb = nothing
	case i.Input.Confidence < understand.Sure:
	case i.Input.Intent == graph.Greeting:
		c.Verb = hello
	case i.Input.Intent == graph.Thanks:
		c.Verb = thanks
	}
	return c
}

// known keeps what is a command.
func known(all []Command) []Command {
	return slices.DeleteFunc(all, func(c Command) bool {
		return slices.Contains([]Verb{unknown, nothing, hello, thanks}, c.Verb)
	})
}
