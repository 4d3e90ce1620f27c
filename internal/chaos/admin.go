package chaos

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// admin takes over whoever asks for a person, writes to them, and hands back.
type admin struct {
	p       *people
	phone   *phone
	draw    *rand.Rand
	words   adminWords
	cards   []heard // that wait
	waiting string  // the code of the chat they tried to take, "" for none
	since   time.Time
}

// adminWords are how the product answers an admin's commands, in both
// languages; the group is a chat's code.
type adminWords struct{ card, taken, back, refused *regexp.Regexp }

func newAdminWords() adminWords {
	return adminWords{
		card:    regexp.MustCompile(`needs a person|anahitaji mtu`), // a briefing and a reminder offer the same again
		taken:   regexp.MustCompile(`(?:you have|sasa unayo) #(\w\w)\b`),
		back:    regexp.MustCompile(`(?:The assistant has|Msaidizi amechukua tena) #(\w\w)\b`),
		refused: regexp.MustCompile(`^#(\w\w) (?:is claimed|imechukuliwa)|/help|/msaada|has the code #|yenye kodi #|goes to #|kinaenda kwa #`),
	}
}

// refusalTime is how long an admin waits for an answer before they take the
// next card.
const refusalTime = 90 * time.Second

func (a *admin) run(ctx context.Context) {
	if a.write(ctx, func() error { return a.phone.say(ctx, "Hello") }) != nil { // who has written gets whole cards
		return
	}
	for ctx.Err() == nil {
		all, err := a.phone.hear(ctx, 5*time.Second)
		if err != nil {
			return
		}
		a.p.note(func(l *Load) { l.Heard += len(all) })
		for _, h := range all {
			if a.hears(ctx, h) != nil {
				return
			}
		}
		stale := a.waiting != "" && a.p.real.Now().Sub(a.since) > refusalTime
		if (a.waiting == "" || stale) && len(a.cards) > 0 && a.take(ctx) != nil {
			return
		}
	}
}

// hears acts on one message.
func (a *admin) hears(ctx context.Context, h heard) error {
	taken, back := a.words.taken.FindStringSubmatch(h.Text), a.words.back.FindStringSubmatch(h.Text)
	switch {
	case takeButton(h) != nil && a.words.card.MatchString(h.Text):
		a.cards = append(a.cards, h)
	case taken != nil:
		a.waiting = ""
		return a.serve(ctx, taken[1])
	case back != nil:
		a.p.note(func(l *Load) { l.Handoffs++ })
	case a.words.refused.MatchString(h.Text):
		a.waiting = "" // somebody else has it, or it is over
	}
	return nil
}

// takeButton is what a card offers to take the chat over; nil for other messages.
func takeButton(h heard) *choice {
	for _, c := range h.choices() {
		if strings.HasPrefix(c.ID, "/take ") {
			return &c
		}
	}
	return nil
}

func (a *admin) take(ctx context.Context) error {
	card := a.cards[0]
	a.cards = a.cards[1:]
	if !pause(ctx, time.Duration(a.draw.IntN(2500))*time.Millisecond) {
		return ctx.Err()
	}
	button := takeButton(card)
	a.waiting, a.since = button.ID, a.p.real.Now()
	return a.write(ctx, func() error { return a.phone.tap(ctx, card, *button) })
}

// serve writes to the customer twice and hands back.
func (a *admin) serve(ctx context.Context, code string) error {
	for _, text := range []string{humanWords + a.p.id(), humanWords + a.p.id(), "/done " + code} {
		if !pause(ctx, time.Duration(300+a.draw.IntN(2000))*time.Millisecond) {
			return ctx.Err()
		}
		if err := a.write(ctx, func() error { return a.phone.say(ctx, text) }); err != nil {
			return err
		}
	}
	return nil
}

func (a *admin) write(ctx context.Context, send func() error) error {
	a.p.note(func(l *Load) { l.Written++ })
	if err := send(); err != nil {
		return err
	}
	return ctx.Err()
}

// humanWords begin what an admin writes to a customer.
const humanWords = "This is a person writing. "
