package flow_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/wording"
)

const customer = "01CUSTOMER"

// saturday is the tests' now: Saturday 21 November 2026, 10:00 in Nairobi.
var saturday = time.Date(2026, 11, 21, 10, 0, 0, 0, nairobi).UTC()

// travelled collects the edges that any test has taken.
type travelled struct {
	mu    sync.Mutex
	edges map[string]bool
	keys  map[string]bool // texts that were said
}

func (e *travelled) say(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys[key] = true
}

func (e *travelled) take(from, to graph.Name) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.edges[string(from)+" --> "+string(to)] = true
}

// talk plays the engine around the graph: reads, optimistic writes, conflicts,
// confirmations and the words.
type talk struct {
	t       tb
	flow    app.Flow
	texts   *wording.Catalogue
	world   *world
	shared  calendar.Settings // what every step reads
	edges   *travelled
	lang    string
	name    string
	payer   string
	now     time.Time
	turns   byte
	node    graph.Name
	state   json.RawMessage
	pending map[string]bool // digests of the calls the last question would allow
	last    []spoken
	tasks   []graph.Task
	timers  map[string]graph.Timer
	handed  bool
	closed  bool
	out     graph.Out[json.RawMessage]
}

type spoken struct {
	to      graph.Audience
	key     string
	text    string
	choices []graph.Choice
	titles  []string
	list    bool
	confirm *graph.Confirm
}

func newTalk(t tb, lang string, edges *travelled) *talk {
	t.Helper()
	g, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := wording.Load(flow.Texts())
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{
		t: t, flow: app.Erase(g, nil), texts: texts, world: newWorld(t), shared: newWorld(t).settings, edges: edges, lang: lang, name: "Wanjiru",
		payer: "+254700000001", now: saturday, timers: map[string]graph.Timer{},
	}
	k.node, k.state = k.flow.Start()
	return k
}

// said fills what understanding always reports.
func (k *talk) said(in graph.Input) graph.Input {
	if in.Language == "" {
		in.Language = k.lang
	}
	if in.Confidence == 0 {
		in.Confidence = 0.95
	}
	if in.Intent == "" {
		in.Intent = graph.Unknown
		if in.Event == nil && (in.Choice != "" || in.Number > 0 || len(in.Entities) > 0 || !in.When.Empty() || in.Name != "") {
			in.Intent = graph.Book
		}
	}
	return in
}

// send runs one turn and leaves what was said in last.
func (k *talk) send(in graph.Input) {
	k.t.Helper()
	in = k.said(in)
	if k.closed {
		k.node, k.state = k.flow.Start()
		k.closed, k.pending = false, nil
	}
	conflicts, reads := map[string]graph.Result{}, graph.Results{}
	for range 4 {
		if k.attempt(in, conflicts, reads) {
			return
		}
	}
	k.t.Fatal("a turn met conflicts again and again")
}

// attempt walks the graph once and commits. It reports false on a conflict.
func (k *talk) attempt(input graph.Input, conflicts map[string]graph.Result, reads graph.Results) bool {
	k.t.Helper()
	source := ids.NewSource(ids.Seed{k.turns + 1}, k.now)
	in := graph.In[json.RawMessage]{
		Node: k.node, State: k.state, Input: input, Now: k.now, IDs: source, Results: reads,
		Facts: graph.Facts{
			Business: "Serenity Spa", Assistant: "Savannah", Locale: "en", Currency: "KES", Zone: nairobi,
			Contact:  graph.ContactFacts{ID: customer, Name: k.name, Payer: k.payer},
			Settings: k.shared,
		},
	}
	at, err := k.flow.Begin(in)
	if err != nil {
		k.t.Fatalf("begin: %v", err)
	}
	in.Node = at
	var w walked
	for range 40 {
		out, err := k.flow.Step(in)
		if err != nil {
			k.t.Fatalf("step: %v", err)
		}
		if len(out.Reads) > 0 {
			for _, c := range out.Reads {
				reads[c.Digest()] = k.world.read(c, k.now)
			}
			continue
		}
		w.says, w.tasks, w.timers = append(w.says, out.Say...), append(w.tasks, out.Tasks...), append(w.timers, out.Timers...)
		w.handed = w.handed || out.Handover != nil
		from := in.Node
		switch {
		case out.Write != nil:
			in.Node, in.Conflict = out.Write.Success, nil
			if r, refused := conflicts[out.Write.Digest()]; refused {
				in.Node, in.Conflict = out.Write.Conflict, &r
			} else {
				w.writes = append(w.writes, *out.Write)
			}
		case out.Go != "":
			in.Node, in.Conflict = out.Go, nil
		default:
			if !reflect.DeepEqual(k.shared, k.world.settings) {
				k.t.Errorf("on the way to %s a step changed the settings that all turns share", out.Rest)
			}
			k.edges.take(from, out.Rest)
			k.out = out
			return k.commit(input, out, w, conflicts)
		}
		k.edges.take(from, in.Node)
		in.State = out.State
	}
	k.t.Fatalf("the graph does not come to rest, at %s", in.Node)
	return false
}

// walked is what the steps of one walk add up to.
type walked struct {
	writes []graph.Write
	says   []graph.Say
	tasks  []graph.Task
	timers []graph.Timer
	handed bool
}

func (k *talk) commit(input graph.Input, out graph.Out[json.RawMessage], w walked, conflicts map[string]graph.Result) bool {
	k.t.Helper()
	after := k.world.clone()
	for _, call := range w.writes {
		k.allowed(input, call)
		r := after.write(call.Call, k.now)
		if !r.OK {
			conflicts[call.Digest()] = r
			delete(k.world.refuse, call.Tool)
			return false
		}
	}
	k.world = after
	k.last, k.pending = nil, nil
	for _, s := range w.says {
		k.last = append(k.last, k.render(s))
		if s.Confirm != nil {
			k.pending = map[string]bool{}
			for _, c := range s.Confirm.Calls {
				k.pending[c.Digest()] = true
			}
		}
	}
	for _, t := range w.timers {
		k.timers[t.Name] = t
	}
	k.tasks, k.handed = append(k.tasks, w.tasks...), k.handed || w.handed
	k.node, k.state, k.closed = out.Rest, out.State, k.flow.Ends(out.Rest)
	k.turns++
	return true
}

// allowed fails the test when an irreversible call has no yes and no policy.
func (k *talk) allowed(input graph.Input, w graph.Write) {
	k.t.Helper()
	switch w.Tool {
	case calendar.ConfirmBooking, calendar.RescheduleBooking, calendar.CancelBooking, calendar.PushPayment, calendar.RefundPayment:
	default:
		return
	}
	if w.Policy == flow.PolicyDepositPaid && w.Tool == calendar.ConfirmBooking && input.Event != nil && input.Event.Kind == "payment" {
		return
	}
	if w.Policy == flow.PolicyPaymentReturned && w.Tool == calendar.RefundPayment && input.Event != nil && input.Event.Kind == "payment" {
		return
	}
	if !input.Confirmed || !k.pending[w.Digest()] {
		k.t.Errorf("%s without a yes to exactly these arguments", w.Tool)
	}
}

func (k *talk) render(s graph.Say) spoken {
	k.t.Helper()
	k.edges.say(s.Text)
	sp := spoken{to: s.To, key: s.Text, choices: s.Choices, list: s.ListLabel != "", confirm: s.Confirm}
	for _, lang := range []string{wording.English, wording.Swahili} {
		text, err := k.texts.Render(lang, s.Text, nairobi, s.Facts)
		if err != nil {
			k.t.Fatalf("render: %v", err)
		}
		if strings.Contains(text, "%!") || strings.Contains(text, "<no value>") || strings.Contains(text, "map[") {
			k.t.Errorf("%s reads badly in %s: %q", s.Text, lang, text)
		}
		if lang == k.lang {
			sp.text = text
		}
		k.limits(s, lang, text)
	}
	for _, c := range s.Choices {
		sp.titles = append(sp.titles, k.title(c, k.lang))
	}
	return sp
}

func (k *talk) title(c graph.Choice, lang string) string {
	k.t.Helper()
	if c.Literal != "" {
		return c.Literal
	}
	k.edges.say(c.Text)
	title, err := k.texts.Render(lang, c.Text, nairobi, c.Facts)
	if err != nil {
		k.t.Fatalf("title: %v", err)
	}
	return title
}

// limits holds a message against what WhatsApp takes.
func (k *talk) limits(s graph.Say, lang, text string) {
	k.t.Helper()
	size, most := 20, 3
	if s.ListLabel != "" {
		size, most = 24, 10
		if label := k.title(graph.Choice{Text: s.ListLabel}, lang); utf8.RuneCountInString(label) > 20 {
			k.t.Errorf("list label %q is too long", label)
		}
	}
	if len(s.Choices) > most {
		k.t.Errorf("%s has %d choices", s.Text, len(s.Choices))
	}
	if n := utf8.RuneCountInString(text); n > 1024 {
		k.t.Errorf("%s has %d characters", s.Text, n)
	}
	seen := map[string]bool{}
	for _, c := range s.Choices {
		title := k.title(c, lang)
		if n := utf8.RuneCountInString(title); n == 0 || n > size {
			k.t.Errorf("%s: title %q has %d characters", s.Text, title, n)
		}
		if seen[title] {
			k.t.Errorf("%s: title %q stands twice", s.Text, title)
		}
		seen[title] = true
		if s.ListLabel == "" && c.Description != "" || utf8.RuneCountInString(c.Description) > 72 {
			k.t.Errorf("%s: description %q", s.Text, c.Description)
		}
		if c.ID == "" || len(c.ID) > 180 || strings.Contains(c.ID, "~") {
			k.t.Errorf("%s: choice id %q", s.Text, c.ID)
		}
	}
}

// The moves of a script.

func (k *talk) tap(id string) { k.t.Helper(); k.send(graph.Input{Choice: k.find(id), Kind: "button"}) }

// find returns the id of a choice that was shown, by its beginning.
func (k *talk) find(prefix string) string {
	k.t.Helper()
	for _, s := range k.last {
		for _, c := range s.choices {
			if strings.HasPrefix(c.ID, prefix) {
				return c.ID
			}
		}
	}
	k.t.Fatalf("nothing to tap begins with %q; said %v", prefix, k.keys())
	return ""
}

// yes answers the pending question, as the engine would judge it.
func (k *talk) yes() {
	k.t.Helper()
	k.send(graph.Input{Choice: "yes", Confirmed: k.pending != nil, Intent: graph.Affirm})
}

func (k *talk) pays(change func(*payment.Settled)) {
	k.t.Helper()
	told := payment.Settled{Kind: payment.Success, Amount: money.Major(1000, "KES"), Receipt: "SKL7X8Y9Z0"}
	var s flow.State
	if err := json.Unmarshal(k.state, &s); err != nil {
		k.t.Fatal(err)
	}
	if s.Pay != nil && s.Hold != nil {
		told.AttemptID, told.Subject, told.Amount = s.Pay.AttemptID, s.Hold.BookingID, s.Pay.Amount
	}
	if change != nil {
		change(&told)
	}
	raw, err := json.Marshal(told)
	if err != nil {
		k.t.Fatal(err)
	}
	in := graph.Input{Language: k.lang, Confidence: 1, Event: &graph.Event{Kind: "payment", Name: string(told.Kind), Data: raw, At: k.now}}
	if k.closed || !s.Owns(told.Subject) {
		k.apart(in)
		return
	}
	k.send(in)
}

// apart runs a payment no open thread owns: on a fresh state that is not kept.
func (k *talk) apart(in graph.Input) {
	k.t.Helper()
	node, state, closed, pending := k.node, k.state, k.closed, maps.Clone(k.pending)
	k.node, k.state = k.flow.Start()
	k.closed = false
	k.send(in)
	if !k.closed {
		k.t.Errorf("a payment without a thread rests at %s", k.node)
	}
	k.node, k.state, k.closed, k.pending = node, state, closed, pending
}

func (k *talk) fails(kind payment.Kind) {
	k.t.Helper()
	k.pays(func(p *payment.Settled) { p.Kind, p.Receipt, p.Amount = kind, "", money.Amount{} })
}

func (k *talk) rings(name string) {
	k.t.Helper()
	timer, ok := k.timers[name]
	if !ok || timer.At.IsZero() {
		k.t.Fatalf("no timer %q is set", name)
	}
	k.now = timer.At
	raw, err := json.Marshal(timer.Data)
	if err != nil {
		k.t.Fatal(err)
	}
	k.send(graph.Input{Event: &graph.Event{Kind: "timer", Name: name, Data: raw, At: k.now}})
}

func (k *talk) event(kind string) {
	k.t.Helper()
	k.send(graph.Input{Event: &graph.Event{Kind: kind, At: k.now}})
}

func (k *talk) keys() []string {
	var keys []string
	for _, s := range k.last {
		key := s.key
		if s.to != graph.ToContact {
			key = "@" + key
		}
		keys = append(keys, key)
	}
	return keys
}

// hears checks what was said, by key, "@" marking the business.
func (k *talk) hears(want ...string) {
	k.t.Helper()
	if got := strings.Join(k.keys(), " "); got != strings.Join(want, " ") {
		k.t.Fatalf("said %q, want %q", got, strings.Join(want, " "))
	}
}

func (k *talk) at(want graph.Name) {
	k.t.Helper()
	if k.node != want {
		k.t.Fatalf("rests at %s, want %s (said %v)", k.node, want, k.keys())
	}
}

// contains checks the words themselves.
func (k *talk) contains(words ...string) {
	k.t.Helper()
	var all []string
	for _, s := range k.last {
		all = append(all, s.text)
	}
	for _, w := range words {
		if text := strings.Join(all, "\n"); !strings.Contains(text, w) {
			k.t.Errorf("%q does not contain %q", text, w)
		}
	}
}

func (k *talk) statuses(want ...calendar.Status) {
	k.t.Helper()
	count := map[calendar.Status]int{}
	for _, b := range k.world.bookings {
		count[b.Status]++
	}
	for _, s := range want {
		if count[s]--; count[s] < 0 {
			k.t.Fatalf("no booking is %s", s)
		}
	}
	for s, n := range count {
		if n != 0 {
			k.t.Fatalf("%d more bookings are %s", n, s)
		}
	}
}
