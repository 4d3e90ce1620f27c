package demo_test

import (
	"testing"
)

func TestFirstLight(t *testing.T) {
	t.Parallel()
	for _, story := range []struct {
		name, first, greeting, who     string
		price, deposit, prompt, booked string
	}{
		{
			"English", "Hi, I'd like a 90 minute massage tomorrow afternoon", "I'm Savannah, the AI assistant of Serenity Spa", "Mary Wambui",
			"KES 4,500", "KES 1,000", "M-Pesa", "confirmed",
		},
		{
			"Swahili", "Habari, nataka massage ya dakika 90 kesho saa tisa", "Mimi ni Savannah, msaidizi wa AI wa Serenity Spa", "Mary Wambui",
			"KES 4,500", "KES 1,000", "M-Pesa", "imethibitishwa",
		},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			customer, admin := w.phone("+254700000001"), w.phone(wanjiku)
			h := customer.say(story.first)
			mustSay(t, h, story.greeting)
			h = book(t, customer, story.who)
			mustSay(t, h, story.price, story.deposit)
			h = customer.tap("yes")
			mustSay(t, h, story.prompt)
			customer.pin("1234")
			h = customer.hear()
			mustSay(t, h, story.booked)
			admin.hear()
			customer.quiet()
		})
	}
}

// book goes on until the summary is shown: it picks the first time offered and
// says its name when asked.
func book(t *testing.T, p *phone, name string) heard {
	t.Helper()
	for range 6 {
		for _, c := range p.last.choices() {
			if c[0] == "yes" || len(c[0]) > 3 && c[0][:4] == "yes~" {
				return p.last
			}
		}
		if len(p.last.choices()) > 0 {
			p.tap(p.last.choices()[0][0])
			continue
		}
		p.say(name)
	}
	t.Fatalf("no summary came; last: %q", p.last.Text)
	return heard{}
}
