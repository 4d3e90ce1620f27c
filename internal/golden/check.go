package golden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
)

// check holds one line against what happened.
func (p *play) check(ctx context.Context, c Check) error {
	node, driver, language := p.node()
	switch c.Verb {
	case "says":
		return contains(p.people.says(p.last), c.Text)
	case "admin hears":
		return contains(p.people.says("admin"), c.Text)
	case "admin2 hears":
		return contains(p.people.says("admin2"), c.Text)
	case "lacks":
		if contains(p.people.says(p.last), c.Text) == nil {
			return fmt.Errorf("%q was said", c.Text)
		}
	case "silent":
		return silent(p.people.says(p.last))
	case "admin silent":
		return silent(p.people.says("admin"))
	case "offers":
		return p.offers(c.Text)
	case "understood":
		return p.understood(c.Text)
	case "asked":
		return equal(strings.Join(p.world.model.asked, " "), c.Text)
	case "at":
		return equal(node, c.Text)
	case "driver":
		return equal(driver, c.Text)
	case "language":
		return equal(language, c.Text)
	case "tools":
		return p.called(c.Text)
	case "prompt":
		return p.prompted(c.Text)
	case "booking", "bookings", "task":
		return p.world.audit(ctx, c)
	}
	return nil
}

func contains(said, want string) error {
	if want == "" {
		return errors.New("says what?")
	}
	if !strings.Contains(strings.ToLower(said), strings.ToLower(want)) {
		return fmt.Errorf("want %q in %q", want, said)
	}
	return nil
}

func silent(said string) error {
	if said != "" {
		return fmt.Errorf("want nothing, heard %q", said)
	}
	return nil
}

func equal(got, want string) error {
	if got != want {
		return fmt.Errorf("got %q, want %q", got, want)
	}
	return nil
}

func (p *play) offers(want string) error {
	got := p.people.offered(p.last)
	if !slices.ContainsFunc(got, func(t string) bool { return strings.HasPrefix(strings.ToLower(t), strings.ToLower(want)) }) {
		return fmt.Errorf("want %q among %q", want, got)
	}
	return nil
}

func (p *play) called(want string) error {
	got := strings.Fields(p.tools())
	for w := range strings.FieldsSeq(want) {
		no, negated := strings.CutPrefix(w, "!")
		if negated == slices.Contains(got, no) {
			return fmt.Errorf("called %q, want %q", got, want)
		}
	}
	return nil
}

func (p *play) prompted(want string) error {
	if len(p.people.prompts) == 0 {
		return errors.New("no prompt went out")
	}
	a := p.people.prompts[len(p.people.prompts)-1]
	return equal(fmt.Sprintf("%d %s", a.Amount.Minor/100, a.Phone), want)
}

// understood compares the intent and the slots of the move's first turn. The
// words are an intent and key=value, every slot that was understood among them.
func (p *play) understood(want string) error {
	p.result.Slots++
	if len(p.turns) == 0 {
		return errors.New("there was no turn")
	}
	in := p.turns[0].Input
	words := strings.Fields(want)
	wanted := map[string]string{"intent": words[0]}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		wanted[k] = v
	}
	got := slots(in)
	for k, v := range wanted {
		if got[k] != v {
			return fmt.Errorf("%s is %q, want %q (understood %s)", k, got[k], v, jsonOf(got))
		}
	}
	for k, v := range got {
		if _, ok := wanted[k]; !ok {
			return fmt.Errorf("%s is %q, which the script does not expect", k, v)
		}
	}
	p.result.Right++
	return nil
}

// slots are what an input holds, by the names scripts use.
func slots(in graph.Input) map[string]string {
	out := map[string]string{
		"intent": string(in.Intent), "date": in.When.Date, "date_to": in.When.DateTo, "time": in.When.Time, "from": in.When.From, "to": in.When.To,
		"options": strings.Join(in.When.Options, ","), "name": strings.ReplaceAll(in.Name, " ", "_"), "phone": in.Phone, "answer": string(in.Answer),
	}
	for kind, e := range in.Entities {
		out[kind] = e.ID
		if e.ID == "" {
			out[kind] = strings.Join(e.Candidates, ",")
		}
	}
	if in.AnyStaff {
		out["staff"] = "any"
	}
	for k, v := range out {
		if v == "" {
			delete(out, k)
		}
	}
	return out
}
