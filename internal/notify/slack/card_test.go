package slack_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/notify/slack"
)

func cards(t *testing.T) *slack.Cards {
	t.Helper()
	c, err := slack.NewCards()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var spa = slack.Reader{Tenant: "01T", Business: "The Spa", Slug: "spa", Language: "en", Zone: time.FixedZone("EAT", 3*60*60)}

func refund() llm.Case {
	return llm.Case{
		Escalation: llm.Escalation{
			ID: "e1", Role: llm.ProcedureStep, Cause: llm.CauseUnsure, Confidence: 0.55, Answer: json.RawMessage(`{"refund": true}`),
			Card:     llm.Card{Title: "Refund?", Question: "A&B <!channel> wants money", Choices: []llm.Choice{{ID: "yes", Label: "Refund"}, {ID: "no"}}},
			Messages: []llm.Message{{Role: llm.User, Content: "first"}, {Role: llm.Assistant, Content: "hm"}, {Role: llm.User, Content: "<@U1>\nsecond"}},
		},
		State: llm.CaseOpen,
	}
}

// shown is a card as JSON.
func shown(t *testing.T, c *slack.Cards, to slack.Reader, k llm.Case) string {
	t.Helper()
	m, err := c.Card(to, &k)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestACardSaysWhatIsAskedAndThenWhatWasDecided(t *testing.T) {
	t.Parallel()
	c, k := cards(t), refund()
	open := shown(t, c, spa, k)
	for _, want := range []string{
		`"header","text":{"type":"plain_text","text":"Refund?"}`, `A&amp;B &lt;!channel&gt; wants money`, `>&lt;@U1&gt;\n>second`, `0.55`,
		`{\"refund\":true}`, `The Spa · procedure_step · no model was sure enough`, `"action_id":"decide:0"`, `"text":"Refund"`, `"text":"no"`,
		`{\"t\":\"01T\",\"e\":\"e1\",\"c\":1}`, `"verbatim":true`,
	} {
		if !strings.Contains(open, want) {
			t.Errorf("%s is not in %s", want, open)
		}
	}
	k.State, k.Decision = llm.CaseDecided, &llm.Decision{Choice: "yes", By: "kamau <x> (U1)", Text: "once", At: noon}
	decided := shown(t, c, spa, k)
	if strings.Contains(decided, "actions") || !strings.Contains(decided, "*Refund* – kamau &lt;x&gt; (U1), 2026-04-25 12:00\\n>once") {
		t.Errorf("decided, it reads %s", decided)
	}
	if text, err := c.Late(spa, &k); err != nil || text != "kamau &lt;x&gt; (U1) has decided already: Refund" {
		t.Errorf("who comes later reads %q, %v", text, err)
	}
	k.State, k.Decision = llm.CaseExpired, nil
	if expired := shown(t, c, spa, k); strings.Contains(expired, "actions") || !strings.Contains(expired, "Nobody decided in time.") {
		t.Errorf("expired, it reads %s", expired)
	}
	if text, err := c.Late(spa, &k); err != nil || !strings.Contains(text, "too late") {
		t.Errorf("who comes too late reads %q, %v", text, err)
	}
}

func TestAQuestionWithoutChoicesSaysHowToAnswer(t *testing.T) {
	t.Parallel()
	k := refund()
	k.Card.Choices, k.Card.Title = nil, ""
	to := spa
	to.Language = "sw"
	got := shown(t, cards(t), to, k)
	if strings.Contains(got, `"actions"`) || !strings.Contains(got, "ratiba escalations decide spa e1") || !strings.Contains(got, "Uamuzi unahitajika: The Spa") {
		t.Errorf("it reads %s", got)
	}
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// Whatever is asked, Slack takes the card.
func TestACardKeepsSlacksLimits(t *testing.T) {
	t.Parallel()
	c := cards(t)
	text := rapid.OneOf(
		rapid.String(), rapid.StringN(1000, 4000, -1),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"<", "&", "\n", "😀", "a", "\xff", "\x00"}).Draw(t, "r"), rapid.IntRange(0, 5000).Draw(t, "n"))
		}),
	)
	rapid.Check(t, func(r *rapid.T) {
		k := refund()
		k.Card.Title, k.Card.Question, k.Messages[2].Content, k.Text = text.Draw(r, "title"), text.Draw(r, "question"), text.Draw(r, "said"), text.Draw(r, "answer")
		k.Answer, k.Card.Choices = nil, nil
		for i := range rapid.IntRange(0, 60).Draw(r, "choices") {
			k.Card.Choices = append(k.Card.Choices, llm.Choice{ID: strconv.Itoa(i), Label: text.Draw(r, "label")})
		}
		k.State = rapid.SampledFrom([]llm.CaseState{llm.CaseOpen, llm.CaseDecided, llm.CaseExpired}).Draw(r, "state")
		k.Decision = &llm.Decision{Choice: "1", By: text.Draw(r, "by"), Text: text.Draw(r, "note"), At: noon}
		m, err := c.Card(spa, &k)
		if err != nil {
			r.Fatal(err)
		}
		limits(r, m)
	})
}

func limits(r *rapid.T, m slack.Message) {
	within := func(what, s string, limit int) {
		if n := units(s); n == 0 || n > limit || !utf8.ValidString(s) {
			r.Errorf("%s has %d characters, want 1 to %d", what, n, limit)
		}
		if i := strings.LastIndexByte(s, '&'); strings.HasSuffix(s, "…") && what != "header" && what != "button" && i >= 0 && !strings.Contains(s[i:], ";") {
			r.Errorf("%s ends within an escape: %q", what, s[i:])
		}
	}
	within("text", m.Text, 3000)
	if len(m.Blocks) > 50 {
		r.Errorf("%d blocks", len(m.Blocks))
	}
	for _, b := range m.Blocks {
		switch b.Type {
		case "header":
			within("header", b.Text.Text, 150)
		case "section":
			within("section", b.Text.Text, 3000)
		case "actions":
			if n := len(b.Elements); n == 0 || n > 25 {
				r.Errorf("%d buttons", n)
			}
		}
		for _, e := range b.Elements {
			switch e := e.(type) {
			case slack.Text:
				within("context", e.Text, 3000)
			case slack.Button:
				within("button", e.Text.Text, 75)
				within("value", e.Value, 2000)
			}
		}
	}
}
