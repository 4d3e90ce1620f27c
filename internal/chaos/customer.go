package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// How customers are: what they do at most, how long they wait before they write
// again, and how often they do that before they give up.
const (
	maxMoves = 20
	patience = 45 * time.Second
	nudges   = 4 // beyond what a send in doubt takes
)

// How a customer's business ended.
type ending string

const (
	endOpen    ending = "open"
	endDone    ending = "done"
	endStalled ending = "stalled" // was left without an answer
)

// customer is one person's script.
type customer struct {
	n      int
	p      *people
	world  *world
	phone  *phone
	draw   *rand.Rand
	lang   string
	goal   goal
	bursty bool

	paying sync.WaitGroup
	asked  bool // to cancel, or for a person
	human  bool // a person has written
	nudged int
	booked bool

	mu    sync.Mutex
	state ending
	tale  []string
}

func (c *customer) who() string {
	return fmt.Sprintf("customer %d (%s, %s, %s)", c.n, c.phone.number, c.phone.to, c.goal)
}

func (c *customer) over() bool { return c.end() != endOpen }

func (c *customer) end() ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "" {
		return endOpen
	}
	return c.state
}

func (c *customer) finish(e ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "" {
		c.state = e
	}
}

// tell notes what happened, for who looks into a stalled conversation.
func (c *customer) tell(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	c.tale = append(c.tale, strings.ToValidUTF8(text[:min(len(text), 120)], ""))
}

func (c *customer) story() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tale)
}

// lines are how many lines of a story a report shows.
const lines = 8

// in picks a text by the customer's language.
func (c *customer) in(en, sw string) string {
	if c.lang == "sw" {
		return sw
	}
	return en
}

func (c *customer) run(ctx context.Context) {
	defer c.paying.Wait()
	if c.prepare(ctx) != nil || c.open(ctx) != nil {
		return
	}
	silent := time.Duration(0)
	const step = 5 * time.Second
	for moves := 0; moves < maxMoves; {
		all, err := c.phone.hear(ctx, step)
		if err != nil {
			return
		}
		c.p.note(func(l *Load) { l.Heard += len(all) })
		for _, h := range all {
			c.tell("< %s", h.Text)
		}
		switch {
		case c.over():
		case len(all) > 0:
			silent, moves = 0, moves+1
			err = c.react(ctx, newest(all))
		default:
			if silent += step; silent >= patience {
				silent, err = 0, c.nudge(ctx)
			}
		}
		if err != nil {
			return
		}
	}
	c.finish(endDone) // talked long enough
}

// nudge writes again because nothing came, or gives up.
func (c *customer) nudge(ctx context.Context) error {
	if c.nudged++; c.nudged > nudges {
		c.finish(endStalled)
		return nil
	}
	return c.say(ctx, c.in("hello? ", "habari? ")+c.tag())
}

// newest is the last message that offers something, else the last.
func newest(all []heard) heard {
	for _, h := range slices.Backward(all) {
		if len(h.choices()) > 0 {
			return h
		}
	}
	return all[len(all)-1]
}

// tag is a number of its own in words a text understander does not mind.
func (c *customer) tag() string {
	id := c.p.id()
	return "(" + strings.TrimPrefix(letters(id), "wamid") + ")"
}

// letters writes an id's digits as letters, so that no date or amount is read
// into it.
func letters(id string) string {
	digits := strings.TrimPrefix(id, "wamid.CHAOS")
	return "ref " + strings.Map(func(r rune) rune { return 'a' + (r - '0') }, digits)
}

// prepare programs what becomes of this customer's statuses and prompt.
func (c *customer) prepare(ctx context.Context) error {
	number := c.phone.number
	switch c.draw.IntN(10) {
	case 0:
		if err := c.world.do(ctx, http.MethodPost, "/sim/whatsapp/statuses", map[string]any{
			"phone": number, "order": []string{"delivered", "sent", "read"}, "deliveries": 2, "delay_ms": 200, "times": 1000,
		}, nil); err != nil {
			return err
		}
	case 1: // Receipts that come after every wait for them is over.
		if err := c.world.do(ctx, http.MethodPost, "/sim/whatsapp/statuses", map[string]any{
			"phone": number, "order": []string{"sent"}, "delay_ms": 75_000, "times": 1000,
		}, nil); err != nil {
			return err
		}
	}
	if c.draw.IntN(10) == 0 {
		faults := []string{"429", "500", "529", "invalid_json", "refusal", "truncated"}
		if err := c.world.do(ctx, http.MethodPost, "/sim/llm/next", map[string]any{"fault": faults[c.draw.IntN(len(faults))], "times": 2}, nil); err != nil {
			return err
		}
	}
	program := c.program()
	if program == nil {
		return nil
	}
	program["phone"] = number
	return c.world.do(ctx, http.MethodPost, "/sim/daraja/next", program, nil)
}

// program is what becomes of the prompt without the customer's PIN; nil when
// they type it.
func (c *customer) program() map[string]any {
	delay, later := 100+c.draw.IntN(2500), 3000
	long := c.p.o.For >= time.Minute // there is time for what takes minutes
	if long {
		later += c.draw.IntN(90_000)
	}
	switch c.goal {
	case goalLate:
		if long && c.draw.IntN(4) == 0 {
			return map[string]any{"outcome": "none", "query": []string{"", "processing", "failed"}[c.draw.IntN(3)]}
		}
		return map[string]any{"outcome": "timeout", "delay_ms": delay, "then": map[string]any{"outcome": "success", "delay_ms": later}}
	case goalRefuse:
		if c.draw.IntN(2) == 0 {
			return map[string]any{"outcome": []string{"cancelled", "insufficient", "wrong_pin"}[c.draw.IntN(3)], "delay_ms": delay, "deliveries": 2}
		}
	case goalPay, goalCancel:
		switch n := c.draw.IntN(9); {
		case n == 8 && long:
			return map[string]any{"refuse": "500.003.02"}
		case n == 0:
			return map[string]any{"outcome": "success", "when": "before_response"}
		case n == 1:
			return map[string]any{"outcome": "success", "lose_response": true, "delay_ms": delay}
		case n == 2:
			return map[string]any{"outcome": "success", "deliveries": 3, "delay_ms": delay, "shape": "strings"}
		case n == 3:
			return map[string]any{"outcome": "success", "deliveries": 2, "delay_ms": 2 * delay, "shape": "no_balance"}
		}
	case goalFree, goalLeave, goalPerson:
	}
	return nil
}

// open writes first, bursty people in several messages.
func (c *customer) open(ctx context.Context) error {
	service := c.in([]string{"a massage", "a facial"}[c.draw.IntN(2)], []string{"masaji", "facial"}[c.draw.IntN(2)])
	if c.goal == goalFree {
		service = c.in("a manicure", "manicure")
	}
	day := c.in([]string{"tomorrow", "tomorrow afternoon", "on Friday", "on Saturday at 10 am"}[c.draw.IntN(4)],
		[]string{"kesho", "kesho mchana", "Ijumaa", "Jumamosi saa nne asubuhi"}[c.draw.IntN(4)])
	texts := []string{c.in("Hi", "Habari"), c.in("I'd like ", "nataka ") + service, day}
	if !c.bursty {
		texts = []string{strings.Join(texts, ", ")}
	}
	for i, text := range texts {
		if i > 0 && !pause(ctx, time.Duration(c.draw.IntN(250))*time.Millisecond) {
			return ctx.Err()
		}
		if err := c.say(ctx, text+" "+c.tag()); err != nil {
			return err
		}
	}
	return nil
}

func (c *customer) say(ctx context.Context, text string) error {
	c.p.note(func(l *Load) { l.Written++ })
	c.tell("> %s", text)
	return c.phone.say(ctx, text)
}

func (c *customer) tap(ctx context.Context, h heard, choice choice) error {
	c.p.note(func(l *Load) { l.Written++ })
	c.tell("> [%s]", choice.ID)
	return c.phone.tap(ctx, h, choice)
}

// name is unique and made of letters alone, as a name must be.
func (c *customer) name() string {
	first := []string{"Asha", "Mary", "Otieno", "Wambui", "Halima", "Kiptoo"}[c.draw.IntN(6)]
	return first + " " + strings.ToUpper(string('a'+rune(c.n/676%26))) + string('a'+rune(c.n/26%26)) + string('a'+rune(c.n%26)) + "ni"
}
