package handoff

import (
	"regexp"
	"strings"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// Verb is what a command does.
type Verb string

// Verbs of admins' commands.
const (
	Take       Verb = "take"
	Done       Verb = "done"
	End        Verb = "end"
	Dismiss    Verb = "dismiss"
	Send       Verb = "send" // the agent's draft
	Help       Verb = "help"
	More       Verb = "more"       // what else can be done with a chat, as a list
	Transcript Verb = "transcript" // the whole chat
	Translate  Verb = "translate"  // the whole chat in the admin's language
	Unknown    Verb = "unknown"    // begins with a slash and is no command: never relayed
)

// Slot is a value an admin gives with /done, as typed.
type Slot struct {
	Name  string `json:"name"` // lower case
	Value string `json:"value"`
}

// Command is what an admin typed or tapped.
type Command struct {
	Verb Verb
	Code string // of the handoff, upper case, "" when none was named
	// Whom is the customer as an admin describes one to /take: digits of their
	// phone, or a name.
	Whom string
	// Thread is the chat that was tapped in a list of those without a handoff.
	Thread ids.ThreadID
	Slots  []Slot // of /done, in the order they were written
}

var verbs = map[string]Verb{ //nolint:gochecknoglobals // a constant table.
	"take": Take, "chukua": Take, "done": Done, "maliza": Done, "end": End, "funga": End,
	"dismiss": Dismiss, "puuza": Dismiss, "send": Send, "tuma": Send, "help": Help, "msaada": Help,
	"more": More, "zaidi": More, "transcript": Transcript, "mazungumzo": Transcript, "translate": Translate, "tafsiri": Translate,
}

// CodeLength is the length of a handoff's code: short, because people type it
// with their thumbs.
const CodeLength = 2

// ThreadMark stands before a thread's id in the row of a list that takes a chat
// over.
const ThreadMark = "@"

var (
	verbForm = regexp.MustCompile(`^/(\pL+)(?:\s+|$)`)
	// codeForm reads a code only where it can be one (the alphabet of
	// ids.Source.Code), so that "/done asante" is no wrong code.
	codeForm   = regexp.MustCompile(`^#?((?i:[A-HJKMNP-Z2-9]{2}))(?:\s+|$)`)
	threadForm = regexp.MustCompile(`^@([0-9A-Z]{26})$`)
	slotForm   = regexp.MustCompile(`(?:^|\s)(\pL[\pL\pN_]{0,30})\s*=\s*`)
)

// maxWhom bounds how a customer is described, in runes.
const maxWhom = 60

// ParseCommand reads an admin's text. It reports false for what is no command
// and may be relayed. What only looks like the beginning of a command, with a
// wide slash or an invisible character before it, is one.
func ParseCommand(text string) (Command, bool) {
	text = strings.Join(strings.Fields(lex.Clean(text)), " ")
	if !strings.HasPrefix(text, "/") {
		return Command{}, false
	}
	m := verbForm.FindStringSubmatch(text)
	if m == nil {
		return Command{Verb: Unknown}, true
	}
	verb, ok := verbs[strings.ToLower(m[1])]
	if !ok {
		return Command{Verb: Unknown}, true
	}
	c, rest := Command{Verb: verb}, text[len(m[0]):]
	if code := codeForm.FindStringSubmatch(rest); code != nil {
		c.Code = strings.ToUpper(code[1])
		if verb != Take { // "/take Jo" may be a name as well
			rest = rest[len(code[0]):]
		}
	}
	switch verb {
	case Take:
		if id := threadForm.FindStringSubmatch(rest); id != nil {
			c.Thread = ids.ThreadID(id[1])
			break
		}
		if whom := []rune(strings.TrimPrefix(rest, "#")); len(whom) <= maxWhom {
			c.Whom = string(whom)
		}
	case Done:
		c.Slots = slots(rest)
	case End, Dismiss, Send, Help, More, Transcript, Translate, Unknown:
	}
	return c, true
}

// slots reads name=value pairs. A value reaches to the next name.
func slots(text string) []Slot {
	var out []Slot
	found := slotForm.FindAllStringSubmatchIndex(text, -1)
	for i, m := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		out = append(out, Slot{
			Name:  strings.ToLower(text[m[2]:m[3]]),
			Value: strings.TrimSpace(strings.Trim(strings.TrimSpace(text[m[1]:end]), `"'“”`)),
		})
	}
	return out
}
