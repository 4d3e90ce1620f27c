package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func TestATurnComesBackAsItWasCommitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	first := b.load()
	if first.Contact.Phone() != amina || first.Contact.Profile != "Amina" || first.Number != "100" || !first.LastInbound.Equal(noon) || first.Thread != nil {
		t.Errorf("first snapshot: %+v", first)
	}
	c := b.turn(func(c *turn.Commit) {
		c.Contact.Name, c.Contact.Language, c.Contact.PayerPhone = "Amina W", "sw", "+254711000000"
		c.Thread.Handoff = &thread.Handoff{Code: "K7", Signal: "explicit_request", Since: noon}
		c.Thread.Pending = &thread.Confirmation{Nonce: "n", Digests: []string{"d"}, OutboxID: "o1"}
		c.Thread.Counters.Turns, c.Thread.Disclosed = 1, true
		for i := range 25 {
			c.Said = append(c.Said, turn.Spoken{Thread: c.Thread.ID, Direction: "in", Origin: "customer", Body: map[string]string{"text": strconv.Itoa(i)}, At: later(i)})
		}
		c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)}
		c.Tools = []turn.ToolCall{{Call: graph.Call{Tool: "hold_slot", Args: map[string]int{"n": 1}}, Result: graph.Result{OK: true}}}
		c.Inputs, c.Digest = json.RawMessage(`{"b":1,"a":2}`), "d1"
	})
	got := b.load()
	if diff := cmp.Diff(c.Contact, got.Contact); diff != "" {
		t.Errorf("contact (-want +got):\n%s", diff)
	}
	want := *c.Thread
	want.Version = 1
	if diff := cmp.Diff(&want, got.Thread, sameJSON); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	if len(got.Items) != 0 || len(got.Recent) != 20 || got.Recent[0].Text != "5" || got.Recent[19].Text != "24" {
		t.Errorf("%d items wait; recent lines %v", len(got.Items), got.Recent)
	}
	if !got.AskedAt.IsZero() {
		t.Errorf("asked at %v before the question was sent", got.AskedAt)
	}
	rows, _ := b.send(noon, noon)
	b.settle(rows[0], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"})
	if at := b.load().AskedAt; !at.Equal(noon) {
		t.Errorf("asked at %v, want when it was accepted", at)
	}
	recorded, err := b.Recorded(t.Context())
	if err != nil || len(recorded) != 1 || string(recorded[0].Inputs) != `{"b":1,"a":2}` || recorded[0].Digest != "d1" {
		t.Errorf("Recorded = %+v, %v; want the inputs byte for byte", recorded, err)
	}
	b.want("hold_slot", "SELECT tool FROM tool_calls")
	lines, err := b.Transcript(t.Context(), c.Thread.ID)
	if err != nil || len(lines) != 25 {
		t.Errorf("Transcript = %d lines, %v", len(lines), err)
	}
	who, last, err := b.Contact(t.Context(), c.Contact.ID)
	if err != nil || who.Name != "Amina W" || !last.Equal(noon) {
		t.Errorf("Contact = %+v, %v, %v", who, last, err)
	}
	if _, _, err := b.Contact(t.Context(), "nobody"); err == nil {
		t.Error("an unknown contact was found")
	}
}

func TestACommitThatFailsInsideUndoesEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.commit(b.claim(noon, noon))
	conflict := errors.New("slot taken")
	err := b.Commit(t.Context(), c, func(ctx context.Context, tx db.Tx) error {
		return errors.Join(db.Exec(ctx, tx, "domain row", "UPDATE contacts SET name = 'Changed'"), conflict)
	})
	if !errors.Is(err, conflict) {
		t.Errorf("got %v, want the conflict", err)
	}
	b.want("", "SELECT name FROM contacts")
	b.want("0", "SELECT COUNT(*) FROM conversation_threads")
	b.do(c) // and may be committed another way
}

func TestAWakeIsNotLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.claim(noon, noon)
	b.write("m2") // while the worker looks at its old snapshot
	if err := b.Release(t.Context(), c, later(3600), false); err != nil {
		t.Fatal(err)
	}
	c = b.claim(noon, noon) // due at once, not in an hour
	if err := b.Release(t.Context(), c, later(3600), true); err != nil {
		t.Fatal(err)
	}
	if claims, next, err := b.ClaimMailboxes(t.Context(), noon, noon, 10); len(claims) != 0 || !next.Equal(later(3600)) || err != nil {
		t.Errorf("claimed %v, next %v, %v; want the hour", claims, next, err)
	}
	if c := b.claim(later(3600), noon); c.Tries != 1 {
		t.Errorf("tries = %d, want 1", c.Tries)
	} else if err := b.Release(t.Context(), c, time.Time{}, false); err != nil {
		t.Error(err)
	}
	if claims, next, err := b.ClaimMailboxes(t.Context(), later(9999), noon, 10); len(claims) != 0 || !next.IsZero() || err != nil {
		t.Errorf("claimed %v, next %v, %v; want never", claims, next, err)
	}
	b.write("m3")
	if c := b.claim(noon, noon); c.Tries != 0 {
		t.Errorf("tries = %d, want 0 after a release that did not fail", c.Tries)
	}
}

func TestTimersAreReplacedRemovedAndMerged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	timer := func(name string, at time.Time) turn.TimerRow {
		return turn.TimerRow{Mailbox: b.key, Name: name, At: at}
	}
	b.turn(func(c *turn.Commit) {
		c.Timers = []turn.TimerRow{timer("a", later(100)), timer("b", later(-5)), timer("a", later(200)), timer("c", later(300)), timer("c", time.Time{})}
	})
	b.write("m2")
	var names []string
	for _, it := range b.load().Items {
		if it.Event != nil {
			names = append(names, it.Event.Name)
		} else {
			names = append(names, it.Message.ProviderID)
		}
	}
	if want := []string{"b", "m2", "a"}; !cmp.Equal(names, want) {
		t.Errorf("items = %v, want %v", names, want)
	}
	b.want("2026-04-25T09:03:20.000000Z", "SELECT due_at FROM timers WHERE name = 'a'")
	// A timer of another mailbox wakes that one.
	b.turn(func(c *turn.Commit) {
		c.Timers = []turn.TimerRow{{Mailbox: "contact:x", Name: "far", At: later(50)}}
		c.Events = []turn.Posted{{Mailbox: "contact:y", Event: mailbox.Event{Kind: mailbox.Resume}, Dedupe: "r1"}}
	})
	b.want("2026-04-25T09:00:50.000000Z", "SELECT due_at FROM mailboxes WHERE key = 'contact:x'")
	b.want("2026-04-25T09:00:00.000000Z", "SELECT due_at FROM mailboxes WHERE key = 'contact:y'")
}

func TestTasksAndEffectsAreOnceByKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, m := range []string{"m1", "m2"} {
		b.write(m)
		b.turn(func(c *turn.Commit) {
			r := row(c, fmt.Sprint("o", i), "a", outbox.Agent)
			r.Key = "one key"
			c.Outbox = []outbox.Row{r}
			c.Tasks = []turn.TaskRow{{ID: strconv.Itoa(i), Kind: "refund", Key: "refund:1", Detail: m}}
		})
	}
	b.want("1", "SELECT COUNT(*) FROM outbox")
	b.want("m1", "SELECT detail FROM tasks")
}

func TestLanesKeepTheirOrderAndDoNotDelayEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) {
		for _, r := range []struct{ id, lane string }{{"w1", "whatsapp"}, {"w2", "whatsapp"}, {"p1", "mpesa"}, {"w3", "whatsapp"}} {
			c.Outbox = append(c.Outbox, row(c, r.id, r.lane, outbox.Agent))
		}
	})
	rows, sent := b.send(noon, noon)
	if !cmp.Equal(sent, []string{"w1", "p1"}) {
		t.Fatalf("sent %v, want the heads of the lanes", sent)
	}
	b.settle(rows[0], outbox.Queued, later(10), outbox.Outcome{Verdict: outbox.Retry, Class: "rate"})
	b.settle(rows[1], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "x"})
	again, next, err := b.ClaimOutbox(t.Context(), noon, later(9), 10)
	if err != nil || len(again) != 0 || !next.Equal(later(10)) {
		t.Errorf("ClaimOutbox = %v, next %v, %v; want w2 to wait behind w1", again, next, err)
	}
	rows, _ = b.send(noon, later(10))
	if rows[0].ID != "w1" || rows[0].Tries != 2 {
		t.Errorf("got %s try %d, want w1 try 2", rows[0].ID, rows[0].Tries)
	}
	b.settle(rows[0], outbox.Queued, later(10), outbox.Outcome{Verdict: outbox.Retry, Class: outbox.ClassLocal})
	if rows, _ = b.send(noon, later(10)); rows[0].Tries != 2 {
		t.Errorf("try %d, want 2: what our own limits held back was not tried", rows[0].Tries)
	}
	b.settle(rows[0], outbox.Failed, later(10), outbox.Outcome{Verdict: outbox.GiveUp, Code: 131026, Detail: "no such user"})
	b.want("1", "SELECT COUNT(*) FROM inbox WHERE kind = 'event' AND dedupe_key = 'failed:w1'")
	if _, sent := b.send(noon, later(10)); !cmp.Equal(sent, []string{"w2"}) {
		t.Errorf("sent %v, want w2 after w1 failed", sent)
	}
}

func TestWhatIsLateIsDroppedWithATask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) {
		stale, fresh := row(c, "o1", "a", outbox.Agent), row(c, "o2", "a", outbox.Agent)
		stale.ExpiresAt, fresh.ExpiresAt = later(10), later(60)
		c.Outbox = []outbox.Row{stale, fresh}
	})
	_, first := b.send(later(11), noon)
	_, second := b.send(later(11), noon)
	if sent := slices.Concat(first, second); !cmp.Equal(sent, []string{"o2"}) {
		t.Errorf("sent %v, want o2 alone", sent)
	}
	b.want("stale", "SELECT state FROM outbox WHERE id = 'o1'")
	b.want("stale:o1", "SELECT task_key FROM tasks")
}

func TestAReceiptMayComeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) { c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)} })
	rows, _ := b.send(noon, noon)
	if _, err := b.Deliver(t.Context(), nil, []message.Receipt{{Opaque: "o1", ProviderID: "p1", Status: message.StatusDelivered, At: noon}}, noon, 0); err != nil {
		t.Fatal(err)
	}
	b.settle(rows[0], outbox.Doubt, later(60), outbox.Outcome{Verdict: outbox.InDoubt})
	b.want("sent", "SELECT state FROM outbox")
	b.want("p1", "SELECT provider_id FROM outbox")
}

func TestIdentitiesOfOneMessageAreOnePerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bsuid := contact.Identity{Kind: contact.BSUID, Value: "KE.1"}
	deliver := func(id string, from, fresh []contact.Identity) {
		t.Helper()
		m := said(id, "")
		m.From, m.NewIDs, m.Profile = from, fresh, ""
		if _, err := b.Deliver(t.Context(), []message.Inbound{m}, nil, noon, 0); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	tel := func(v string) contact.Identity { return contact.Identity{Kind: contact.Phone, Value: v} }
	b.write("m1")
	deliver("m2", []contact.Identity{tel(amina), bsuid}, nil)
	deliver("m3", []contact.Identity{bsuid}, []contact.Identity{tel("+254700000002")})
	deliver("m4", []contact.Identity{tel("+254700000002")}, nil)
	b.want("1", "SELECT COUNT(*) FROM contacts")
	b.want("Amina", "SELECT profile FROM contacts")
	// One identity twice in one message is stored, not refused for ever.
	deliver("m5", []contact.Identity{tel("+254700000003")}, []contact.Identity{tel("+254700000003")})
	b.want("2", "SELECT COUNT(*) FROM contacts")
	// Two people in one message are not merged.
	deliver("m6", []contact.Identity{tel(amina), tel("+254700000003")}, nil)
	b.want("2", "SELECT COUNT(*) FROM contacts")
	if err := b.EnsureContact(t.Context(), tel("+254700000009"), "Wanjiku", db.At(noon)); err != nil {
		t.Fatal(err)
	}
	if err := b.EnsureContact(t.Context(), tel("+254700000009"), "Wanjiku", db.At(noon)); err != nil {
		t.Fatal(err)
	}
	b.want("3", "SELECT COUNT(*) FROM contacts")
	if a := b.load().Admins["+254700000009"]; a.ID == "" || !a.LastInbound.IsZero() {
		t.Errorf("admin = %+v, want a contact who never wrote", a)
	}
}

func TestPaymentsLedger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(nil)
	want := attempt("a1", c)
	want.Amount = money.Major(500, "KES")
	b.insert(want)
	b.insert(attempt("a2", c))
	got, err := b.Attempt(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempt (-want +got):\n%s", diff)
	}
	if !b.load().PaymentOpen {
		t.Error("an open attempt keeps its thread open")
	}
	if got, err := b.AttemptByToken(t.Context(), "hash-a2"); err != nil || got.ID != "a2" {
		t.Errorf("AttemptByToken = %s, %v", got.ID, err)
	}
	if _, err := b.AttemptByToken(t.Context(), "none"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("unknown token: %v, want not_found", err)
	}
	check := func(payment.Attempt) time.Time { return later(25) }
	change := func(id string, f func(a *payment.Attempt)) (bool, error) {
		return b.ChangeAttempt(t.Context(), id, func(a payment.Attempt) (payment.Attempt, bool) { f(&a); return a, true }, check)
	}
	settle := func(a *payment.Attempt) {
		a.Status, a.Receipt, a.CheckoutID, a.Surplus, a.SettledAt = payment.Succeeded, "SFF6XYZ123", "ws_1", []string{"SFF6XYZ124"}, noon
	}
	if changed, err := change("a1", settle); !changed || err != nil {
		t.Fatalf("ChangeAttempt = %v, %v", changed, err)
	}
	b.want("2026-04-25T09:00:25.000000Z", "SELECT due_at FROM timers WHERE name = $1", turn.PaymentCheck+"a1")
	for name, f := range map[string]func(a *payment.Attempt){
		"receipt":  func(a *payment.Attempt) { a.Receipt = "SFF6XYZ123" },
		"checkout": func(a *payment.Attempt) { a.CheckoutID = "ws_1" },
	} {
		if _, err := change("a2", f); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("the same %s for two attempts: %v, want conflict", name, err)
		}
	}
	unchanged, err := b.ChangeAttempt(t.Context(), "a1", func(a payment.Attempt) (payment.Attempt, bool) { return a, false }, check)
	if unchanged || err != nil {
		t.Errorf("a decision that changes nothing: %v, %v", unchanged, err)
	}
	if _, err := change("none", settle); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("unknown attempt: %v, want not_found", err)
	}
	// A report is stored once and brings its attempt along.
	report := payment.Report{Source: payment.FromCallback, Outcome: payment.Outcome{Kind: payment.Success, Code: "0", Receipt: "SFF6XYZ123"}}
	for i, want := range []bool{true, false} {
		if fresh, err := b.Report(t.Context(), got, report, noon); fresh != want || err != nil {
			t.Errorf("report %d: %v, %v; want %v", i, fresh, err, want)
		}
	}
	report.Outcome.Receipt = "SFF6XYZ125"
	if fresh, err := b.Report(t.Context(), got, report, noon); !fresh || err != nil {
		t.Errorf("other money for the same attempt: %v, %v; want it stored", fresh, err)
	}
	if s := b.load(); s.Attempt == nil || s.Attempt.ID != "a1" || len(s.Attempt.Surplus) != 1 {
		t.Errorf("snapshot's attempt = %+v, want a1", s.Attempt)
	}
	err = b.Read(t.Context(), func(q db.Q) error {
		list, err := store.Payments{}.BySubject(t.Context(), q, "b1")
		if len(list) != 2 || list[0].ID != "a2" {
			t.Errorf("BySubject = %v, want the newest first", list)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestModelCallsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	calls := store.Calls{Open: func(ctx context.Context, id ids.TenantID) (*store.Tenant, error) {
		return b.store.Tenant(id, "booking")
	}}
	sure := 0.93
	want := llm.Record{
		ID: "c1", Role: "intent_classifier", Tenant: "01TENANT", Thread: "t", Turn: "u", Tier: 1, Provider: "openai", Model: "m", PromptVersion: "1",
		Usage: llm.Usage{Input: 100, Cached: 50, Output: 10}, Cost: 60_000_000, Latency: 1500 * time.Microsecond, Outcome: llm.OK, Confidence: &sure,
		Account: "thread", TaskID: "task", Step: "step", Answer: `{"intent":"book"}`, RequestHash: "h", At: noon,
	}
	failed := want
	failed.ID, failed.Outcome, failed.Confidence, failed.At = "c2", "timeout", nil, later(5)
	for _, r := range []llm.Record{want, failed} {
		if err := calls.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := calls.Lookup(t.Context(), "01TENANT", "h")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got, err := calls.Lookup(t.Context(), "01TENANT", "other"); got != nil || err != nil {
		t.Errorf("Lookup = %v, %v; want none", got, err)
	}
	if got, err := calls.Lookup(t.Context(), "01OTHER", "h"); got != nil || err != nil {
		t.Errorf("Lookup of another tenant = %v, %v; want none", got, err)
	}
	if err := calls.Record(t.Context(), want); !db.IsUnique(err) {
		t.Errorf("the same record again: %v, want refused", err)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	glow := tenant.Tenant{
		Slug: "glow", Name: "Glow", App: "booking", TimeZone: "Africa/Nairobi", Numbers: []tenant.Number{{Provider: "meta", ID: "100"}},
		Thresholds: tenant.BaseThresholds("spa"), Settings: json.RawMessage(`{"services":[]}`), QuietTime: time.Second,
	}
	first, err := b.store.Register(t.Context(), glow, noon)
	if err != nil {
		t.Fatal(err)
	}
	if first.Tenant.ID == "" || len(first.Route) < 8 || first.Tenant.Version != 1 {
		t.Errorf("registered: %+v", first)
	}
	glow.Name = "Glow Spa"
	second, err := b.store.Register(t.Context(), glow, noon)
	if err != nil || second.Tenant.ID != first.Tenant.ID || second.Route != first.Route || second.Tenant.Version != 2 {
		t.Errorf("again: %+v, %v; want version 2 of the same", second, err)
	}
	rival := glow
	rival.Slug = "rival"
	if _, err := b.store.Register(t.Context(), rival, noon); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a number of another tenant: %v, want conflict", err)
	}
	rival.Numbers = []tenant.Number{{Provider: "360dialog", ID: "100"}}
	if _, err := b.store.Register(t.Context(), rival, noon); err != nil {
		t.Errorf("the same id at another provider: %v", err)
	}
	b.reopen(noon)
	list, err := b.store.Tenants(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("Tenants = %v, %v; want two", list, err)
	}
	if diff := cmp.Diff(second, list[0], sameJSON); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestQuarantineIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 1010 {
		if err := b.store.Quarantine(t.Context(), "whatsapp", "unreadable", fmt.Append(nil, i), noon); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := b.store.Quarantined(t.Context()); n != 1000 || err != nil {
		t.Errorf("Quarantined = %d, %v; want 1000", n, err)
	}
}

func TestNextWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if mail, out, err := b.NextWork(t.Context()); !mail.IsZero() || !out.IsZero() || err != nil {
		t.Errorf("NextWork = %v, %v, %v; want never", mail, out, err)
	}
	b.write("m1")
	b.turn(func(c *turn.Commit) {
		c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)}
		c.Timers = []turn.TimerRow{{Mailbox: b.key, Name: "ttl", At: later(60)}}
	})
	if mail, out, err := b.NextWork(t.Context()); !mail.Equal(later(60)) || !out.Equal(noon) || err != nil {
		t.Errorf("NextWork = %v, %v, %v", mail, out, err)
	}
}
