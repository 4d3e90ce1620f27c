package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/tool"
)

// maxButtons is how many choices fit under a message; more become a list.
const maxButtons = 3

// line is one message on its way into the commit.
type line struct {
	to      who
	origin  outbox.Origin
	thread  ids.ThreadID
	epoch   int64
	out     message.Outbound
	confirm *graph.Confirm
	nonce   string
	after   ids.ContactID     // sends to this contact must be over first
	key     string            // of the text in the catalogue, "" for words that are relayed
	full    *message.Outbound // what a page's template stands for until the admin writes
}

// sayTo turns a Say into words for one addressee.
func (r *run) sayTo(ctx context.Context, to who, origin outbox.Origin, say graph.Say) error {
	text, err := r.render(to.Lang, say.Text, say.Facts)
	if err != nil {
		return err
	}
	ours := to.ID == r.snap.Contact.ID
	if ours {
		r.spoken++
	}
	if ours && say.Phrase {
		text = r.phrase(ctx, say, text, to.Lang)
	}
	l := line{to: to, origin: origin, thread: r.th.ID, epoch: r.th.Epoch, confirm: say.Confirm, after: r.settleFirst, key: say.Text}
	if ours && r.admin == nil && r.opens && !r.th.Disclosed {
		disclosure, err := r.render(to.Lang, "platform_disclosure", nil)
		if err != nil {
			return err
		}
		text, r.th.Disclosed = disclosure+"\n\n"+text, true
	}
	l.out = message.Outbound{Kind: message.Text, Text: text}
	if say.Confirm != nil {
		l.nonce = r.ids.Token(9)
	}
	if err := r.choices(&l, say, to.Lang); err != nil {
		return err
	}
	if say.AskPhone && ours {
		l.out.Kind = message.RequestContact
	}
	r.join(&l)
	r.lines = append(r.lines, r.inWindow(l, to))
	return nil
}

// joinLimit keeps a joined text within WhatsApp's bound for a message with
// something to tap.
const joinLimit = 1000

// join makes one message of a plain sentence and what follows it to the same
// person: one answer, not two.
func (r *run) join(l *line) {
	if len(r.lines) == 0 {
		return
	}
	last := r.lines[len(r.lines)-1]
	if last.to.ID != l.to.ID || last.origin != l.origin || last.thread != l.thread || last.out.Kind != message.Text ||
		last.confirm != nil || l.out.Kind == message.RequestContact {
		return
	}
	text := last.out.Text + "\n\n" + l.out.Text
	if utf8.RuneCountInString(text) > joinLimit {
		return
	}
	l.out.Text = text
	r.lines = r.lines[:len(r.lines)-1]
}

// choices adds what can be tapped: up to three buttons, else a list.
func (r *run) choices(l *line, say graph.Say, lang string) error {
	if len(say.Choices) == 0 {
		return nil
	}
	var rows []message.Choice
	for _, c := range say.Choices {
		title := c.Literal
		if title == "" {
			var err error
			if title, err = r.render(lang, c.Text, c.Facts); err != nil {
				return err
			}
		}
		id := c.ID
		if say.Confirm != nil && c.ID == say.Confirm.Yes {
			id += nonceMark + l.nonce
		}
		rows = append(rows, message.Choice{ID: id, Title: title, Description: c.Description})
	}
	if say.ListLabel == "" && len(rows) <= maxButtons {
		l.out.Kind, l.out.Buttons = message.Button, rows
		return nil
	}
	label := say.ListLabel
	if label == "" {
		label = "platform_choose"
	}
	var err error
	l.out.Kind, l.out.Sections = message.List, []message.Section{{Rows: rows}}
	l.out.ListLabel, err = r.render(lang, label, nil)
	return err
}

// render fills a text of the platform's or the app's catalogue.
func (r *run) render(lang, key string, facts map[string]any) (string, error) {
	texts := r.app.Texts
	switch {
	case r.e.cfg.Texts.Has(key):
		texts = r.e.cfg.Texts
	case !texts.Has(key):
		texts = r.b.App.Texts // an admin's turn about a customer's thread
	}
	all := map[string]any{
		"now": r.now, "business": r.b.Tenant.Name, "assistant": r.b.Tenant.Assistant,
	}
	maps.Copy(all, facts)
	text, err := texts.Render(lang, key, r.b.zone, all)
	if err != nil {
		return "", fmt.Errorf("shape %s: %w", key, err)
	}
	return strings.TrimSpace(text), nil
}

// phrase lets a model say it in its own words. What it writes must keep every
// fact; otherwise the template's words stand.
func (r *run) phrase(ctx context.Context, say graph.Say, draft, lang string) string {
	role := llm.ClarificationRephraser
	if r.in.Intent == graph.Question {
		role = llm.AnswerShaper
	}
	var facts []string
	for _, f := range say.Facts {
		if s, ok := f.(string); ok && s != "" && strings.Contains(draft, s) {
			facts = append(facts, s)
		}
	}
	if r.replay != nil {
		return r.rephrase(draft)
	}
	text, call, err := r.e.cfg.Understander.Shape(ctx, role, facts, draft, lang, r.origin(r.expect()))
	if call != "" {
		r.calls = append(r.calls, call)
	}
	if errors.Is(err, llm.ErrBudget) {
		r.unpaid++
	}
	r.phrases = append(r.phrases, text)
	return cmp.Or(text, draft)
}

// rephrase takes the next phrase of a recorded turn.
func (r *run) rephrase(draft string) string {
	text := ""
	if i := len(r.phrases); i < len(r.replay.Phrases) {
		text = r.replay.Phrases[i]
	}
	r.phrases = append(r.phrases, text)
	return cmp.Or(text, draft)
}

// raw sends words as they are: relayed ones.
func (r *run) raw(to who, origin outbox.Origin, out message.Outbound) {
	r.rawOn(r.th.ID, r.th.Epoch, to, origin, out)
}

func (r *run) rawOn(th ids.ThreadID, epoch int64, to who, origin outbox.Origin, out message.Outbound) {
	r.lines = append(r.lines, r.inWindow(line{to: to, origin: origin, thread: th, epoch: epoch, out: out}, to))
}

// say speaks a step's lines to the contact and to the admins.
func (r *run) say(ctx context.Context, says []graph.Say, origin outbox.Origin) error {
	for _, s := range says {
		to := []who{r.listener()}
		from := origin
		if s.To == graph.ToAdmins {
			to, from = r.admins(), outbox.System
		}
		for _, w := range to {
			if err := r.sayTo(ctx, w, from, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts are the lines as the channel takes them: a text that is too long for
// one message becomes several, so that no word of a relay is lost.
func (r *run) parts() []line {
	if r.e.cfg.Split == nil {
		return r.lines
	}
	var out []line
	for _, l := range r.lines {
		if l.out.Kind != message.Text {
			out = append(out, l)
			continue
		}
		for _, text := range r.e.cfg.Split(l.out.Text) {
			part := l
			part.out.Text = text
			out = append(out, part)
		}
	}
	return out
}

// excerpt is the beginning of a text, at most limit runes of it.
func excerpt(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

// queue turns the lines into outbox rows and transcript lines.
func (r *run) queue() {
	for i, l := range r.parts() {
		if r.held(l) {
			continue
		}
		row := r.row(outbox.Row{
			ID: r.ids.New(), Lane: string(l.to.ID) + ":whatsapp", Kind: outbox.SendMessage, Origin: l.origin,
			Key: fmt.Sprintf("%s:%d", r.turnID, i), ContactID: l.to.ID, ThreadID: l.thread, Epoch: l.epoch,
			Payload:   encode(outbox.Send{Number: r.leaves(l.to), To: l.to.To, Out: l.out, After: l.after, Handoff: r.codeFor(l)}),
			ExpiresAt: r.now.Add(answerLife),
		})
		if l.to.Admin && r.aboutThread != "" {
			row.ThreadID = r.aboutThread
		}
		if l.origin != outbox.Agent {
			row.ExpiresAt = r.now.Add(window)
		}
		r.speak(l, &row)
		r.commit.Outbox = append(r.commit.Outbox, row)
		if l.to.ID == r.snap.Contact.ID || l.origin == outbox.Relay && !l.to.Admin {
			r.said(l, row)
		}
		if l.confirm != nil {
			r.ask(l, row)
		}
	}
}

// codeFor is the handoff a line to an admin is about, "" for none.
func (r *run) codeFor(l line) string {
	switch {
	case !l.to.Admin:
		return ""
	case r.aboutThread != "":
		return r.aboutCode
	case r.admin == nil && r.th.Handoff != nil:
		return r.th.Handoff.Code
	}
	return ""
}

func (r *run) said(l line, row outbox.Row) {
	if r.commit.Thread == nil && l.thread == r.th.ID {
		return // a thread that is not written has no transcript
	}
	r.commit.Said = append(r.commit.Said, Spoken{
		Thread: l.thread, Direction: "out", Origin: string(l.origin), At: r.now,
		Body: spokenBody{Text: l.out.Text, Kind: string(l.out.Kind), OutboxID: row.ID, Attachment: l.out.Attachment},
	})
}

// ask records the confirmation a line asks for.
func (r *run) ask(l line, row outbox.Row) {
	c := &thread.Confirmation{Nonce: l.nonce, OutboxID: row.ID, Shown: encode(l.confirm.Shown), Actor: r.actor().ID}
	if r.admin != nil {
		c.Until = r.now.Add(tool.ConfirmTime)
	}
	for _, call := range l.confirm.Calls {
		c.Digests = append(c.Digests, call.Digest())
	}
	r.th.Pending = c
}

// spokenBody is what a transcript keeps of a message.
type spokenBody struct {
	Text     string `json:"text"`
	Kind     string `json:"kind"`
	Choice   string `json:"choice,omitempty"`
	OutboxID string `json:"outbox_id,omitempty"`

	Attachment *message.Attachment `json:"attachment,omitempty"`
}
