package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
)

// people are the phones of a script, and what came to them since the last move.
type people struct {
	phones  map[string]string // by name
	heard   map[string][]message.Outbound
	shown   map[string][]message.Choice // what may be tapped: of all messages, the newest first
	prompts []payment.Attempt           // payment prompts, oldest first
	sent    int
	// contacts are who these people are to the business, once they have heard from it.
	contacts map[string]ids.ContactID
}

func newPeople(admins []string) *people {
	p := &people{
		phones: map[string]string{"customer": "+254700000001", "customer2": "+254700000002"},
		heard:  map[string][]message.Outbound{}, shown: map[string][]message.Choice{}, contacts: map[string]ids.ContactID{},
	}
	for i, phone := range admins {
		name := "admin"
		if i > 0 {
			name += strconv.Itoa(i + 1)
		}
		p.phones[name] = phone
	}
	return p
}

// hear takes what was sent to whom it was sent to.
func (p *people) hear(to ids.ContactID, s outbox.Send) {
	for name, phone := range p.phones {
		if slices.ContainsFunc(s.To, func(i contact.Identity) bool { return i.Kind == contact.Phone && i.Value == phone }) {
			p.contacts[name] = to
			p.heard[name] = append(p.heard[name], s.Out)
			p.shown[name] = append(choices(s.Out), p.shown[name]...)
		}
	}
}

func choices(m message.Outbound) []message.Choice {
	out := slices.Clone(m.Buttons)
	for _, s := range m.Sections {
		out = append(out, s.Rows...)
	}
	return out
}

// prompted returns the last payment prompt that somebody asked for.
func (p *people) prompted(name string) (payment.Attempt, bool) {
	for _, a := range slices.Backward(p.prompts) {
		if a.ContactID == p.contacts[name] {
			return a, true
		}
	}
	return payment.Attempt{}, false
}

// says is everything that somebody was told since the last move, as text.
func (p *people) says(name string) string {
	var out []string
	for _, m := range p.heard[name] {
		text := m.Text
		if m.Template != nil {
			text = m.Template.Name + " " + strings.Join(m.Template.Parameters, " ")
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// offered are the titles that somebody was shown since the last move.
func (p *people) offered(name string) (out []string) {
	for _, m := range p.heard[name] {
		for _, c := range choices(m) {
			out = append(out, c.Title)
		}
	}
	return out
}

// find returns what was shown with a title that begins so; of several the
// newest, so that an old message may be tapped as well.
func (p *people) find(name, title string) (message.Choice, error) {
	for _, c := range p.shown[name] {
		if strings.HasPrefix(strings.ToLower(c.Title), strings.ToLower(title)) {
			return c, nil
		}
	}
	var titles []string
	for _, c := range p.shown[name] {
		titles = append(titles, c.Title)
	}
	return message.Choice{}, fmt.Errorf("nothing to tap begins with %q; there was %q", title, titles)
}
