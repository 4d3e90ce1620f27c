package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// goal is what a customer is after.
type goal string

// The goals of customers.
const (
	goalPay    goal = "pays"
	goalFree   goal = "books without a deposit"
	goalRefuse goal = "declines the payment"
	goalLate   goal = "pays after the prompt timed out"
	goalLeave  goal = "leaves at the summary"
	goalCancel goal = "pays, then cancels"
	goalPerson goal = "asks for a person"
)

// goals are drawn by their shares.
func goals() []goal {
	return slices.Concat(
		slices.Repeat([]goal{goalPay}, 9), slices.Repeat([]goal{goalFree}, 2), slices.Repeat([]goal{goalRefuse}, 2), []goal{goalLate},
		slices.Repeat([]goal{goalLeave}, 2), slices.Repeat([]goal{goalCancel}, 2), slices.Repeat([]goal{goalPerson}, 2),
	)
}

// Load is what people did.
type Load struct {
	Customers int
	Completed int          // reached what they were after, or left on purpose
	Open      int          // neither, when the run was over
	Goals     map[goal]int // customers by goal
	Stalled   []string     // those who were left without an answer
	Written   int          // messages written by customers and admins
	Heard     int          // messages on phones
	Handoffs  int          // taken by an admin and handed back
}

// people are the customers and admins of a run.
type people struct {
	o      Options
	town   []business
	world  *world
	goals  []goal
	real   clock.Clock
	admins sync.WaitGroup
	crowd  sync.WaitGroup

	mu        sync.Mutex
	ids       int
	customers []*customer
	load      Load
}

func newPeople(o Options, town []business, w *world) *people {
	return &people{o: o, town: town, world: w, goals: goals(), real: clock.Real{}, load: Load{Goals: map[goal]int{}}}
}

// id names a message; it is unique over the run.
func (p *people) id() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	return fmt.Sprintf("wamid.CHAOS%07d", p.ids)
}

func (p *people) phone(number, to string) *phone {
	return &phone{w: p.world, number: number, to: to, wamid: p.id}
}

// arrive starts customers steadily until load ends; each goes on under life.
func (p *people) arrive(load, life context.Context) {
	for n := 0; ; n++ {
		c := p.customer(n)
		p.mu.Lock()
		p.customers = append(p.customers, c)
		p.mu.Unlock()
		p.crowd.Go(func() { c.run(life) })
		if !pause(load, time.Duration(float64(time.Second)/p.o.Rate)) {
			return
		}
	}
}

// customer draws one.
func (p *people) customer(n int) *customer {
	b := p.town[n%len(p.town)]
	own := rand.New(rand.NewPCG(p.o.Seed, uint64(n)<<8|streamPeople)) //nolint:gosec // a schedule, not a secret.
	lang := b.lang
	if own.IntN(4) == 0 {
		lang = map[string]string{"en": "sw", "sw": "en"}[lang]
	}
	return &customer{
		n: n, p: p, phone: p.phone(fmt.Sprintf("+2547%08d", 10_000_000+n), b.number), draw: own, lang: lang,
		goal: p.goals[own.IntN(len(p.goals))], bursty: own.IntN(3) == 0, world: p.world,
	}
}

// wakeAdmins starts the admins, each with a greeting: somebody who has never
// written can be sent templates only.
func (p *people) wakeAdmins(life context.Context) error {
	words := newAdminWords()
	for i, b := range p.town {
		for j, number := range b.admins {
			a := &admin{p: p, phone: p.phone(number, b.number), words: words, draw: stream(p.o.Seed, uint64(i)<<16|uint64(j)<<8|streamPeople)}
			if err := a.phone.say(life, "hello"); err != nil {
				return fmt.Errorf("wake admin: %w", err)
			}
			p.admins.Go(func() { a.run(life) })
		}
	}
	return nil
}

// busy counts customers whose business is not over.
func (p *people) busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.customers {
		if !c.over() {
			n++
		}
	}
	return n
}

// wait returns when everybody has gone: when their life has ended.
func (p *people) wait() {
	p.crowd.Wait()
	p.admins.Wait()
}

// note adds to what people did.
func (p *people) note(add func(l *Load)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	add(&p.load)
}

func (p *people) tally() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.load
	out.Customers = len(p.customers)
	for _, c := range p.customers {
		out.Goals[c.goal]++
		switch c.end() {
		case endDone:
			out.Completed++
		case endOpen:
			out.Open++
		case endStalled:
			story := c.story()
			out.Stalled = append(out.Stalled, c.who()+": "+strings.Join(story[max(0, len(story)-lines):], " | "))
		}
	}
	return out
}

// keep writes every customer's story down, for who looks into a finding.
func (p *people) keep(file string) error {
	var out strings.Builder
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.customers {
		fmt.Fprintf(&out, "%s: %s\n  %s\n", c.who(), c.end(), strings.Join(c.story(), "\n  "))
	}
	return os.WriteFile(file, []byte(out.String()), 0o600)
}
