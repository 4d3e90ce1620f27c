package demo_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/demo"
)

// aloud is what no customer is ever told: that there are models, or what went
// wrong with them.
var aloud = regexp.MustCompile(`(?i)\b(models?|modeli|llm|gpt\S*|claude\S*|openai|anthropic|json|html|schema|null|nan|timed? ?out|timeout|errors?|exception|` +
	`server|seva|hitilafu|fault|failed|quota|refus\w+|http\S*|429|503|529|confidence|reasoning|colour)\b|[{}<>\x{fffd}]`)

// decently fails when a customer was told of models or their failures.
func (p *phone) decently() {
	p.t.Helper()
	if told := aloud.FindString(p.last.Text); told != "" {
		p.t.Errorf("the customer is told of %q: %q", told, p.last.Text)
	}
}

// ending is how a customer was served.
type ending string

const (
	confirmed ending = "a confirmed booking"
	person    ending = "a person"
)

// talk is a customer who wants a booking and answers what they are asked.
type talk struct {
	first          []string // what they write, in their own words
	name           string
	booked, handed string // what tells how it ended
}

var (
	inEnglish = talk{
		first: []string{"well, whatever suits the others then", "a 90 minute massage tomorrow afternoon, please"}, name: "Mary Wambui",
		booked: "is confirmed", handed: "to join us",
	}
	inSwahili = talk{
		first: []string{"mambo vipi, kama wengine wanavyopenda basi", "nataka massage ya dakika 90 kesho saa tisa"}, name: "Mary Wambui",
		booked: "imethibitishwa", handed: "kwenye chat hii",
	}
)

// served takes a customer through a conversation until it ends well: a booking
// that is paid and confirmed, or a person.
func (p *phone) served(c talk) ending {
	p.t.Helper()
	done := func() (ending, bool) {
		p.decently()
		text := strings.ToLower(p.last.Text)
		switch {
		case strings.Contains(text, c.booked):
			return confirmed, true
		case strings.Contains(text, c.handed):
			return person, true
		}
		return "", false
	}
	for _, text := range c.first {
		p.send(map[string]any{"text": text})
		p.patient()
		if end, ok := done(); ok {
			return end
		}
	}
	for range 12 {
		switch choices := p.last.choices(); {
		case len(choices) > 0:
			yes := strings.HasPrefix(choices[0][0], "yes~")
			kind := "button"
			if len(p.last.Buttons) == 0 {
				kind = "list"
			}
			p.send(map[string]any{kind: map[string]string{"id": choices[0][0], "title": choices[0][1]}, "reply_to": p.last.ID})
			p.patient()
			if yes {
				p.pin("1234")
				p.patient()
			}
		default:
			p.send(map[string]any{"text": c.name})
			p.patient()
		}
		if end, ok := done(); ok {
			return end
		}
	}
	p.t.Fatalf("the customer is not served: %q", p.last.Text)
	return ""
}

// patient waits for the next message as long as a turn may take.
func (p *phone) patient() {
	p.t.Helper()
	for range 3 {
		if all := p.poll(20); len(all) > 0 {
			p.last, p.after = all[0], all[0].Seq
			p.t.Logf("%s hears: %s %v", p.number, p.last.Text, p.last.choices())
			return
		}
	}
	p.t.Fatalf("%s hears nothing after %q", p.number, p.last.Text)
}

// hasty gives models of the spa a third of a second, so that tests of slow ones
// end.
func (w world) hasty() {
	w.t.Helper()
	for _, t := range w.Server.Tenants() {
		if t.Numbers[0].Display != spa {
			continue
		}
		ladders := map[string]any{}
		for _, role := range []string{"intent_classifier", "slot_extractor", "clarification_rephraser", "answer_shaper"} {
			ladders[role] = map[string]any{"ladder": []any{map[string]any{"provider": "openai", "model": "gpt-6-luna", "timeout": "300ms"}}}
		}
		var err error
		if t.Models, err = json.Marshal(ladders); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.Server.Apply(w.t.Context(), t); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Whatever models do, the customer ends with a booking or with a person, and
// hears nothing of it.
func TestEveryFaultOfAModelEndsInAServedCustomer(t *testing.T) {
	t.Parallel()
	for _, fault := range faults(t) {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.hasty()
			// A rate limit is waited out, at most three times a call.
			times := map[string]int{"429": 4}[fault]
			if times == 0 {
				times = 1000
			}
			if status, raw := w.post("/sim/llm/next", map[string]any{"fault": fault, "times": times}); status != http.StatusOK {
				t.Fatalf("program: %d %s", status, raw)
			}
			p := w.phone(mary)
			end := p.served(inEnglish)
			var calls []struct {
				Fault string `json:"fault"`
			}
			get(t, w.URL+"/sim/llm/calls", &calls)
			met := 0
			for _, c := range calls {
				if c.Fault == fault {
					met++
				}
			}
			if met == 0 {
				t.Errorf("no call met the fault among %d, so that nothing is shown", len(calls))
			}
			if end == person {
				w.handed(p)
			}
			t.Logf("%s: %s", fault, end)
		})
	}
}

// handed wants the admins to know that a customer waits.
func (w world) handed(p *phone) {
	w.t.Helper()
	mustSay(w.t, w.phone(wanjiku).hear(), "waiting for a person")
	p.quiet()
}

// faults are all that can be programmed, asked of the simulator itself.
func faults(t *testing.T) []string {
	t.Helper()
	w := newWorld(t)
	status, raw := w.post("/sim/llm/next", map[string]any{"fault": "none"})
	_, list, ok := strings.Cut(string(raw), "must be one of ")
	list, _, whole := strings.Cut(list, `."`)
	if status/100 == 2 || !ok || !whole {
		t.Fatalf("the simulator does not list its faults: %d %s", status, raw)
	}
	known := strings.Split(list, ", ")
	if len(known) < 18 {
		t.Fatalf("only %d faults are known: %v", len(known), known)
	}
	return known
}

// With every vendor down code alone takes a booking from the first word to the
// confirmation, in both languages, and where code cannot go on a person does.
func TestWithoutAnyModelCustomersAreServed(t *testing.T) {
	t.Parallel()
	down := map[string]func(t *testing.T) string{
		"connections are refused": func(t *testing.T) string {
			t.Helper()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			return "http://" + l.Addr().String()
		},
		"503 for ever": func(t *testing.T) string {
			t.Helper()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "upstream model error", http.StatusServiceUnavailable)
			}))
			t.Cleanup(srv.Close)
			return srv.URL
		},
	}
	for name, where := range down {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *demo.Options) { o.Models = where(t) })
			for number, c := range map[string]talk{mary: inEnglish, "+254700000002": inSwahili} {
				if end := w.phone(number).served(c); end != confirmed {
					t.Errorf("%s ends with %s", c.first[1], end)
				}
			}
			for number, c := range map[string]talk{"+254700000003": inEnglish, "+254700000004": inSwahili} {
				w.lost(w.phone(number), c)
			}
		})
	}
}

// lost is a customer whom code does not understand, again and again: a person
// does.
func (w world) lost(p *phone, c talk) {
	w.t.Helper()
	for range 6 {
		p.send(map[string]any{"text": c.first[0]})
		p.patient()
		p.decently()
		if strings.Contains(strings.ToLower(p.last.Text), c.handed) {
			ctxIdle(w.t, w)
			return
		}
		w.advance(time.Second)
	}
	w.t.Errorf("nobody takes over: %q", p.last.Text)
}
