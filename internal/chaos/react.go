package chaos

import (
	"context"
	"strings"
	"time"
)

// thinking is how long a customer takes to answer at most.
const thinking = 1500 * time.Millisecond

// react answers a message as this customer would.
func (c *customer) react(ctx context.Context, h heard) error {
	if !pause(ctx, time.Duration(c.draw.Int64N(int64(thinking)))) {
		return ctx.Err()
	}
	text := h.Text
	switch {
	case has(text, "asked someone from", "i've asked chaos", "nimemwomba mtu", "nimewaomba"):
		return c.say(ctx, c.in("are you there? ", "mko hapo? ")+c.tag())
	case strings.HasPrefix(text, humanWords):
		if c.human {
			return nil
		}
		c.human = true
		return c.say(ctx, c.in("thank you ", "asante ")+c.tag())
	case has(text, "here again", "tena hapa"):
		c.finish(endDone)
		return nil
	case c.goal == goalPerson && !c.asked:
		c.asked = true
		return c.say(ctx, c.in("I want to talk to a person ", "nataka kuongea na mtu ")+c.tag())
	case has(text, "is cancelled", "imeghairiwa"):
		c.finish(endDone)
		return nil
	case has(text, "is confirmed", "imethibitishwa"):
		return c.confirmed(ctx)
	case has(text, "return the money", "watakurudishia"):
		c.finish(endDone)
		return nil
	case has(text, "enter your m-pesa pin", "weka pin yako"):
		c.pay(ctx)
		return nil
	case waiting(text) && c.nudged == 0:
		return nil
	case len(h.choices()) > 0:
		return c.choose(ctx, h)
	case has(text, "what name", "jina gani"):
		return c.say(ctx, c.name())
	}
	return c.plain(ctx, text)
}

// waiting reports whether a message only asks to wait for M-Pesa.
func waiting(text string) bool {
	return has(text, "waiting for m-pesa", "nasubiri m-pesa", "hasn't told us", "hawajatuambia", "short pause", "muda kidogo", "still a request", "bado kuna ombi")
}

// plain answers what offers nothing to tap.
func (c *customer) plain(ctx context.Context, text string) error {
	switch {
	case waiting(text):
		return nil
	case has(text, "nothing is booked", "hakuna miadi", "goodbye", "any time", "wakati wowote"):
		c.finish(endDone)
		return nil
	case has(text, "something went wrong", "kuna hitilafu"):
		c.finish(endDone) // a person has a task
		return nil
	}
	return c.say(ctx, c.in("tomorrow afternoon please ", "kesho mchana tafadhali ")+c.tag())
}

func (c *customer) confirmed(ctx context.Context) error {
	c.booked = true
	if c.goal != goalCancel || c.asked {
		c.finish(endDone)
		return nil
	}
	c.asked = true
	return c.say(ctx, c.in("I want to cancel my booking ", "nataka kughairi miadi yangu ")+c.tag())
}

// pay answers the prompt, unless a program does.
func (c *customer) pay(ctx context.Context) {
	answer := map[string]any{"pin": "1234"}
	if c.goal == goalRefuse {
		answer = map[string]any{"cancel": true}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	c.paying.Go(func() {
		defer cancel()
		c.tell("prompt answered: %v", c.phone.answerPrompt(ctx, answer))
	})
}

// choose taps what this customer would.
func (c *customer) choose(ctx context.Context, h heard) error {
	yes := c.find(h, "yes~")
	switch {
	case yes != nil && c.goal == goalLeave:
		if stop := c.find(h, "stop"); stop != nil && c.draw.IntN(2) == 0 {
			return c.tap(ctx, h, *stop)
		}
		c.finish(endDone) // simply writes no more: the hold must run out
		return nil
	case yes != nil && c.goal == goalRefuse && c.failed(h):
		c.finish(endDone)
		return nil
	case yes != nil && c.draw.IntN(5) == 0:
		return c.say(ctx, c.in("yes", "ndiyo"))
	case yes != nil:
		return c.tap(ctx, h, *yes)
	case c.goal == goalLeave && c.find(h, "again") != nil, c.goal == goalRefuse && c.find(h, "again") != nil:
		c.finish(endDone)
		return nil
	case waiting(h.Text):
		if stop := c.find(h, "stop"); stop != nil { // waited long enough
			return c.tap(ctx, h, *stop)
		}
	case c.goal == goalCancel && c.booked:
		if drop := c.find(h, "drop/"); drop != nil {
			return c.tap(ctx, h, *drop)
		}
	}
	if all := h.choices(); strings.HasPrefix(all[0].ID, "slot/") && c.draw.IntN(2) == 0 {
		return c.tap(ctx, h, all[0]) // as many do: so that two want one time
	}
	for _, prefix := range []string{"slot/", "service/", "on/", "at/", "book", "again", "soonest"} {
		if pick := c.find(h, prefix); pick != nil {
			return c.tap(ctx, h, *pick)
		}
	}
	all := h.choices()
	return c.tap(ctx, h, all[c.draw.IntN(len(all))])
}

// failed reports whether a message is about a payment that came to nothing.
func (c *customer) failed(h heard) bool {
	return has(h.Text, "nothing was paid", "hakuna kilicholipwa", "didn't answer", "haikujibu", "ran out", "umekwisha")
}

// find draws among the choices whose id begins so; nil when there is none.
func (c *customer) find(h heard, prefix string) *choice {
	var fit []choice
	for _, ch := range h.choices() {
		if strings.HasPrefix(ch.ID, prefix) {
			fit = append(fit, ch)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return &fit[c.draw.IntN(len(fit))]
}

func has(text string, parts ...string) bool {
	text = strings.ToLower(text)
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
