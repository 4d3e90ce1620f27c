package slack

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/wording"
)

//go:embed texts/*.yaml
var texts embed.FS

// Block Kit's limits, in UTF-16 units, which is the strictest way to count.
const (
	maxHeader   = 150
	maxSection  = 3000
	maxContext  = 2000
	maxButton   = 75
	maxElements = 25 // in a block of actions
	maxNotice   = 300
	maxBlocks   = 50
)

// maxAsked bounds what a card quotes: people read cards on phones.
const maxAsked = 1500

// Block is a block of a message.
type Block struct {
	Type     string `json:"type"` // header, section, context or actions
	ID       string `json:"block_id,omitempty"`
	Text     *Text  `json:"text,omitempty"`
	Elements []any  `json:"elements,omitempty"` // Text of a context, Button of actions
}

// Text is a text of a block.
type Text struct {
	Type string `json:"type"` // plain_text or mrkdwn
	Text string `json:"text"`
	// Verbatim keeps Slack from making links and mentions of mere words.
	Verbatim bool `json:"verbatim,omitempty"`
}

func mrkdwn(text string) Text { return Text{Type: "mrkdwn", Text: text, Verbatim: true} }

func plainText(text string) Text { return Text{Type: "plain_text", Text: text} }

// Button is a choice.
type Button struct {
	Type   string `json:"type"` // button
	Action string `json:"action_id"`
	Text   Text   `json:"text"`
	Value  string `json:"value"`
}

// value is what a button carries: far below Slack's 2,000 characters.
type value struct {
	Tenant     ids.TenantID `json:"t"`
	Escalation string       `json:"e"`
	Choice     int          `json:"c"`
}

// Reader is for whom a card is written.
type Reader struct {
	Tenant   ids.TenantID
	Business string
	Slug     string
	Language string
	Zone     *time.Location
}

// Cards writes cards. It is safe for concurrent use.
type Cards struct{ texts *wording.Catalogue }

// NewCards checks the texts.
func NewCards() (*Cards, error) {
	below, err := fs.Sub(texts, "texts")
	if err != nil {
		return nil, err
	}
	c, err := wording.Load(below)
	if err != nil {
		return nil, err
	}
	return &Cards{c}, nil
}

// Card is an escalation as it stands: with buttons while it is open, with the
// decision once it has one.
func (c *Cards) Card(to Reader, k *llm.Case) (Message, error) {
	p := &pen{c: c, to: to}
	title := oneLine(k.Card.Title)
	if title == "" {
		title = p.say("slack_title", map[string]any{"business": to.Business})
	}
	m := Message{Text: cut(title+": "+oneLine(k.Card.Question), maxNotice, escape)}
	add := func(b ...Block) { m.Blocks = append(m.Blocks, b...) }
	header := plainText(cut(title, maxHeader, plain))
	add(Block{Type: "header", Text: &header})
	if k.Card.Question != "" {
		add(section(cut(k.Card.Question, maxSection, escape)))
	}
	if said := lastSaid(k.Messages); said != "" {
		add(section(p.say("slack_said", nil) + "\n" + quote(said, maxAsked)))
	}
	if answer := cmp.Or(string(k.Answer), k.Text); answer != "" {
		add(section(p.say("slack_answer", map[string]any{"confidence": strconv.FormatFloat(k.Confidence, 'f', 2, 64)}) + "\n" +
			quote(compact(answer), maxAsked)))
	}
	add(Block{Type: "context", Elements: []any{mrkdwn(cut(p.say("slack_about", map[string]any{
		"business": to.Business, "role": string(k.Role), "cause": p.cause(k.Cause),
	}), maxContext, escape))}})
	switch k.State {
	case llm.CaseOpen:
		add(p.ask(k)...)
	case llm.CaseDecided:
		if k.Decision != nil {
			add(section(p.decided(k)))
		}
	case llm.CaseExpired:
		add(section(p.say("slack_expired", nil)))
	}
	m.Blocks = m.Blocks[:min(len(m.Blocks), maxBlocks)]
	return m, p.err
}

// Late is what somebody is told who tapped after it was decided, or too late.
func (c *Cards) Late(to Reader, k *llm.Case) (string, error) {
	p := &pen{c: c, to: to}
	if k.Decision == nil {
		return p.say("slack_late", nil), p.err
	}
	return p.say("slack_taken", map[string]any{
		"by": cut(k.Decision.By, maxNotice, escape), "label": cut(oneLine(k.Label()), maxNotice, escape),
	}), p.err
}

// pen writes until the first error.
type pen struct {
	c   *Cards
	to  Reader
	err error
}

func (p *pen) say(key string, facts map[string]any) string {
	if p.err != nil {
		return ""
	}
	text, err := p.c.texts.Render(p.to.Language, key, p.to.Zone, facts)
	p.err = err
	return text
}

func (p *pen) cause(c llm.Cause) string {
	if key := "slack_cause_" + string(c); p.c.texts.Has(key) {
		return p.say(key, nil)
	}
	return string(c)
}

// ask is what to tap, or, for a question without choices, how to answer.
func (p *pen) ask(k *llm.Case) (out []Block) {
	if len(k.Card.Choices) == 0 {
		return []Block{{Type: "context", Elements: []any{mrkdwn(p.say("slack_free", map[string]any{"slug": p.to.Slug, "id": k.ID}))}}}
	}
	var buttons []any
	for i, c := range k.Card.Choices {
		raw, err := json.Marshal(value{p.to.Tenant, k.ID, i})
		p.err = cmp.Or(p.err, err)
		buttons = append(buttons, Button{
			Type: "button", Action: actionPrefix + strconv.Itoa(i), Value: string(raw),
			Text: plainText(cut(cmp.Or(oneLine(c.Label), oneLine(c.ID), strconv.Itoa(i+1)), maxButton, plain)),
		})
	}
	for some := range slices.Chunk(buttons, maxElements) {
		out = append(out, Block{Type: "actions", ID: "decide_" + strconv.Itoa(len(out)), Elements: some})
	}
	return out
}

func (p *pen) decided(k *llm.Case) string {
	zone := cmp.Or(p.to.Zone, time.UTC)
	text := p.say("slack_decided", map[string]any{
		"label": cut(oneLine(k.Label()), maxAsked, escape), "by": cut(k.Decision.By, maxNotice, escape),
		"at": k.Decision.At.In(zone).Format("2006-01-02 15:04"),
	})
	if note := k.Decision.Text; note != "" && len(k.Card.Choices) > 0 {
		text += "\n" + quote(note, maxAsked/2)
	}
	return text
}

func section(text string) Block {
	t := mrkdwn(text)
	return Block{Type: "section", Text: &t}
}

// lastSaid is what a customer, or whoever the models answered, said last.
func lastSaid(all []llm.Message) string {
	for _, m := range slices.Backward(all) {
		if m.Role == llm.User {
			return m.Content
		}
	}
	return ""
}

// quote marks every line as another's words, within limit.
func quote(text string, limit int) string {
	return ">" + cut(text, limit, func(r rune) string {
		if r == '\n' {
			return "\n>"
		}
		return escape(r)
	})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func compact(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}

// plain writes a character as it is.
func plain(r rune) string { return string(r) }

// escape writes a character so that Slack reads no markup of its own in it: no
// mention, no link, no command.
func escape(r rune) string {
	switch r {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	}
	return string(r)
}

// cut writes text within limit UTF-16 units, with an ellipsis for what is left
// out, and never half of an escape.
func cut(text string, limit int, write func(r rune) string) string {
	var out strings.Builder
	size, kept := 0, 0 // kept is how many bytes fit with an ellipsis behind them
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		s := write(r)
		for _, x := range s {
			size += utf16.RuneLen(x)
		}
		if size > limit {
			return out.String()[:kept] + "…"
		}
		out.WriteString(s)
		if size < limit {
			kept = out.Len()
		}
	}
	return out.String()
}
