package understand

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// burst is what a run of messages comes to.
type burst struct {
	kind     message.Kind
	shown    string // every text, the titles of taps included
	typed    string // what the person wrote themselves, cleaned
	choice   string // id of the last tap
	card     string // the only phone of the last contact card, E.164
	reaction string // emoji of the last reaction, when nothing else came
}

// gather joins a burst. An edit takes the place of the message it is about, and
// a message that was taken back says nothing.
func gather(in []message.Inbound, region string) burst {
	var b burst
	texts := make([]string, 0, len(in))
	shown := make([]string, 0, len(in))
	for i, m := range in {
		b.kind = m.Kind
		if m.Choice != "" {
			b.choice = m.Choice
		}
		switch m.Kind {
		case message.Revoke, message.System:
			continue
		case message.Reaction:
			b.reaction = m.Emoji
			continue
		case message.ContactCard:
			b.card = cardPhone(m.Cards, region)
		case message.Text, message.Button, message.List, message.Media, message.Location, message.Edit, message.Order,
			message.Unsupported, message.Template, message.RequestContact:
		}
		if m.Text == "" || replaced(in[i+1:], m.ProviderID) {
			continue
		}
		shown = append(shown, m.Text)
		if m.Choice == "" {
			texts = append(texts, m.Text)
		}
	}
	if len(shown) > 0 || b.choice != "" {
		b.reaction = ""
	}
	b.shown = lex.Clean(strings.Join(shown, "\n"))
	b.typed = b.shown
	if len(texts) < len(shown) {
		b.typed = lex.Clean(strings.Join(texts, "\n"))
	}
	return b
}

// replaced reports whether a later message of the burst edits or takes back the
// one with this id.
func replaced(later []message.Inbound, id string) bool {
	if id == "" {
		return false
	}
	for _, m := range later {
		if m.Target == id && m.Kind != message.Reaction {
			return true
		}
	}
	return false
}

// cardPhone is the phone of a shared card, when there is exactly one.
func cardPhone(cards []message.Card, region string) string {
	found := ""
	for _, c := range cards {
		for _, p := range c.Phones {
			n := e164(p, region)
			if n == "" || n == found {
				continue
			}
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

// e164 reads a phone number as people of a region write it; "" when it is none.
func e164(s, region string) string {
	if region == "" {
		region = "KE"
	}
	n, err := phonenumbers.Parse(s, region)
	if err != nil || !phonenumbers.IsValidNumber(n) {
		return ""
	}
	return phonenumbers.Format(n, phonenumbers.E164)
}
