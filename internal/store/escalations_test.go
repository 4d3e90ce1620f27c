package store_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

// escalate posts a question of Amina's open thread.
func (b *bundle) escalate(id string) llm.Escalation {
	b.t.Helper()
	b.write("m-" + id)
	c := b.turn(nil)
	e := llm.Escalation{
		ID: id, Tenant: b.ID(), Thread: c.Thread.ID, Contact: c.Contact.ID, Turn: c.TurnID, Role: llm.ProcedureStep, Cause: llm.CauseUnsure, At: noon,
		Card: llm.Card{Title: "Refund?", Question: "She wants her money back", Choices: []llm.Choice{{ID: "yes", Label: "Refund"}, {ID: "no", Label: "Refuse"}}},
	}
	if fresh, err := b.PostEscalation(b.t.Context(), e, true, noon); err != nil || !fresh {
		b.t.Fatalf("PostEscalation = %t, %v; want a fresh one", fresh, err)
	}
	return e
}

func (b *bundle) decide(id, choice, by string, at time.Time, tap store.Tap) (llm.Case, bool, error) {
	return b.Decide(b.t.Context(), id, llm.Decision{Choice: choice, By: by, At: at}, tap, noon)
}

func TestTheSameEscalationIsPostedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.escalate("e1")
	e.Card.Question = "asked again, in other words"
	if fresh, err := b.PostEscalation(t.Context(), e, true, noon); err != nil || fresh {
		t.Errorf("again: fresh %t, %v", fresh, err)
	}
	b.want("1/escalation.post/escalation.post", "SELECT COUNT(*) || '/' || MIN(kind) || '/' || MAX(kind) FROM outbox")
	c, err := b.Escalation(t.Context(), "e1", noon)
	if err != nil || c.State != llm.CaseOpen || c.Card.Question != "She wants her money back" || !c.Expires.Equal(noon.Add(llm.EscalationLife)) {
		t.Errorf("the case is %+v, %v", c, err)
	}
	if _, err := b.Escalation(t.Context(), "e2", noon); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestTheFirstDecisionStandsAndResumesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.escalate("e1")
	at := llm.Place{Channel: "C1", Message: "1.1"}
	if err := b.PlaceEscalation(t.Context(), "e1", at, noon); err != nil {
		t.Fatal(err)
	}
	type result struct {
		c     llm.Case
		first bool
		err   error
	}
	results := make([]result, 4)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			r := &results[i]
			r.c, r.first, r.err = b.decide("e1", []string{"yes", "no"}[i%2], fmt.Sprint("person ", i), later(i), store.Tap{Place: at, User: fmt.Sprint("U", i), Key: strconv.Itoa(i)})
		})
	}
	all.Wait()
	firsts := 0
	for _, r := range results {
		if r.first {
			firsts++
		}
		if r.err != nil || r.c.State != llm.CaseDecided || r.c.Decision == nil || *r.c.Decision != *results[0].c.Decision {
			t.Errorf("decided %+v, %v; want all to be told the same", r.c.Decision, r.err)
		}
	}
	if firsts != 1 {
		t.Errorf("%d first decisions, want one", firsts)
	}
	b.want("1", "SELECT COUNT(*) FROM inbox WHERE kind = 'event'")
	b.want("1", "SELECT COUNT(*) FROM outbox WHERE kind = $1", llm.EffectUpdate)
	b.want("3", "SELECT COUNT(*) FROM outbox WHERE kind = $1", llm.EffectNotice)
	b.want("0", "SELECT COUNT(*) FROM timers WHERE name LIKE 'undecided:%'")

	// The same tap again is nothing new.
	d := results[0].c.Decision
	if _, first, err := b.decide("e1", d.Choice, d.By, later(99), store.Tap{Place: at, User: "U", Key: "again"}); err != nil || first {
		t.Errorf("the same again: first %t, %v", first, err)
	}
	b.want("3", "SELECT COUNT(*) FROM outbox WHERE kind = $1", llm.EffectNotice)

	items := b.load().Items
	if len(items) != 1 || items[0].Event == nil {
		t.Fatalf("%d items wait, want the decision", len(items))
	}
	var got llm.Decision
	ev := items[0].Event
	if err := json.Unmarshal(ev.Data, &got); err != nil || got != *d || ev.Kind != mailbox.Decided || ev.Name != "e1" || ev.Scope != e.Thread {
		t.Errorf("what waits is %+v with %+v, %v", ev, got, err)
	}
}

func TestWhatNobodyDecidesExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.escalate("e1")
	end := noon.Add(llm.EscalationLife)
	b.want(turn.Undecided+"e1", "SELECT name FROM timers WHERE scope = $1", string(e.Thread))
	c, first, err := b.decide("e1", "yes", "Kamau", end, store.Tap{Place: llm.Place{Channel: "C1", Message: "1.1"}, User: "U1", Key: "1"})
	if err != nil || first || c.State != llm.CaseExpired || c.Decision != nil {
		t.Errorf("after its life: %+v, first %t, %v", c, first, err)
	}
	b.want("0", "SELECT COUNT(*) FROM inbox WHERE kind = 'event'")
	b.want("expired", "SELECT state FROM escalations")
	b.want("3/escalation.notice/escalation.update", "SELECT COUNT(*) || '/' || MIN(kind) || '/' || MAX(kind) FROM outbox")
	for state, n := range map[llm.CaseState]int{llm.CaseOpen: 0, llm.CaseExpired: 1, llm.CaseDecided: 0, "": 1} {
		if got, err := b.Escalations(t.Context(), state, end); err != nil || len(got) != n {
			t.Errorf("%q: %d escalations, %v; want %d", state, len(got), err, n)
		}
	}
}

func TestADecisionThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.escalate("e1")
	if err := b.PlaceEscalation(t.Context(), "e1", llm.Place{Channel: "C1", Message: "1.1"}, noon); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		id   string
		d    llm.Decision
		tap  store.Tap
		want fault.Code
	}{
		"not among the choices":       {"e1", llm.Decision{Choice: "perhaps", By: "Kamau"}, store.Tap{}, fault.Invalid},
		"nothing":                     {"e1", llm.Decision{By: "Kamau"}, store.Tap{}, fault.Invalid},
		"by nobody":                   {"e1", llm.Decision{Choice: "yes", By: " "}, store.Tap{}, fault.Invalid},
		"a note that is too long":     {"e1", llm.Decision{Choice: "yes", By: "Kamau", Text: strings.Repeat("a", 5000)}, store.Tap{}, fault.Invalid},
		"of an unknown escalation":    {"e9", llm.Decision{Choice: "yes", By: "Kamau"}, store.Tap{}, fault.NotFound},
		"tapped on another's channel": {"e1", llm.Decision{Choice: "yes", By: "Kamau"}, store.Tap{Place: llm.Place{Channel: "C2", Message: "1.1"}}, fault.Forbidden},
	}
	for name, tt := range tests {
		tt.d.At = noon
		if _, first, err := b.Decide(t.Context(), tt.id, tt.d, tt.tap, noon); fault.CodeOf(err) != tt.want || first {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	b.want("open", "SELECT state FROM escalations")
	b.want("1/escalation.post/escalation.post", "SELECT COUNT(*) || '/' || MIN(kind) || '/' || MAX(kind) FROM outbox")
}

// A card that is decided while it is on its way is brought up to date once it
// is known where it stands.
func TestACardThatIsPostedLateIsUpdated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.escalate("e1")
	rows, _ := b.send(noon, noon)
	if len(rows) != 1 || rows[0].Kind != llm.EffectCard {
		t.Fatalf("%d rows, want the card", len(rows))
	}
	if _, _, err := b.decide("e1", "yes", "Kamau", noon, store.Tap{}); err != nil {
		t.Fatal(err)
	}
	b.want("1", "SELECT COUNT(*) FROM outbox")
	if err := b.PlaceEscalation(t.Context(), "e1", llm.Place{Channel: "C1", Message: "1.1"}, noon); err != nil {
		t.Fatal(err)
	}
	b.settle(rows[0], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done})
	if rows, _ = b.send(noon, noon); len(rows) != 1 || rows[0].Kind != llm.EffectUpdate {
		t.Errorf("then %v is sent, want the update", rows)
	}
}

func TestAnErasedPersonsCardSaysNoMore(t *testing.T) {
	t.Parallel()
	b := business(t, place(t, dbtest.Backend(t)))
	hers := b.text("SELECT contact_id FROM bookings")
	b.exec("UPDATE escalations SET channel = 'C1', message = '7.7', state = 'open', decision = NULL")
	if _, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(zawadi), later(60)); err != nil {
		t.Fatal(err)
	}
	b.want("expired/"+hers, "SELECT state || '/' || contact_id FROM escalations")
	b.want("queued", "SELECT state FROM outbox WHERE kind = $1", llm.EffectUpdate)
	c, err := b.Escalation(t.Context(), "esc-1", noon)
	if err != nil || c.Card.Title != store.Erased || c.Card.Question != "" || len(c.Messages) > 0 {
		t.Errorf("the case is %+v, %v", c, err)
	}
}

// A process that dies while a card is on its way posts it again; the escalation
// is asked all the while.
func TestACardIsPostedAgainAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.escalate("e1")
	first, _ := b.send(noon, noon)
	b.reopen(later(10))
	over := later(200)
	again, _ := b.send(over, over)
	if len(first) != 1 || len(again) != 1 || again[0].ID != first[0].ID || again[0].Resends != 1 {
		t.Errorf("sent %v, and after the crash %v; want the same card again", first, again)
	}
	if c, err := b.Escalation(t.Context(), "e1", over); err != nil || c.State != llm.CaseOpen {
		t.Errorf("the case is %+v, %v", c, err)
	}
}
