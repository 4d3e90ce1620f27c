package payment_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/payment"
)

func TestLifeOfAnAttempt(t *testing.T) {
	t.Parallel()
	a, ok := payment.Begin(attempt(payment.Created), sentAt)
	if !ok || a.Status != payment.Sending || !a.SentAt.Equal(sentAt) {
		t.Fatalf("Begin = %+v, %v", a, ok)
	}
	if _, ok := payment.Begin(a, sentAt); ok {
		t.Error("an attempt was begun twice")
	}
	if _, ok := payment.Withdraw(a, sentAt); ok {
		t.Error("an attempt being sent was withdrawn")
	}
	if w, ok := payment.Withdraw(attempt(payment.Created), sentAt); !ok || w.Status != payment.Withdrawn {
		t.Errorf("Withdraw = %s, %v", w.Status, ok)
	}
	if got := payment.Accept(a, payment.Accepted{MerchantID: "m", CheckoutID: "c"}); got.Status != payment.Prompted || got.CheckoutID != "c" || got.MerchantID != "m" {
		t.Errorf("Accept = %+v", got)
	}
	if got := payment.Lose(a); got.Status != payment.Unknown {
		t.Errorf("Lose = %s", got.Status)
	}

	early, _, _ := payment.Settle(a, paid("R1"), payment.FromCallback, sentAt)
	if got := payment.Lose(early); got.Status != payment.Succeeded {
		t.Errorf("a lost answer took a success back: %s", got.Status)
	}
	if got := payment.Accept(early, payment.Accepted{CheckoutID: "c"}); got.Status != payment.Succeeded || got.CheckoutID != "c" {
		t.Errorf("an acceptance after the callback: %+v", got)
	}
}

func TestNextQuery(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name    string
		change  func(*payment.Attempt)
		now     time.Duration
		want    time.Duration
		nothing bool
	}{
		{"the first query comes after 25 seconds", func(*payment.Attempt) {}, 0, 25 * time.Second, false},
		{"the second after 50", func(a *payment.Attempt) { a.Queries = 1 }, 30 * time.Second, 50 * time.Second, false},
		{"the last at the end of the prompt", func(a *payment.Attempt) { a.Queries = 2 }, 60 * time.Second, 90 * time.Second, false},
		{"an overdue query is due now", func(*payment.Attempt) {}, 40 * time.Second, 40 * time.Second, false},
		{"three queries are enough", func(a *payment.Attempt) { a.Queries = 3 }, 95 * time.Second, 0, true},
		{"a lost answer left nothing to query", func(a *payment.Attempt) { a.Status, a.CheckoutID = payment.Unknown, "" }, 0, 0, true},
		{"a settled attempt needs no query", func(a *payment.Attempt) { a.Status = payment.Failed }, 0, 0, true},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a := attempt(payment.Prompted)
			r.change(&a)
			got, ok := payment.NextQuery(a, sentAt.Add(r.now))
			if ok == r.nothing || ok && !got.Equal(sentAt.Add(r.want)) {
				t.Errorf("NextQuery = %s, %v; want %s after sending, %v", got, ok, r.want, !r.nothing)
			}
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	due := 90*time.Second + 2*time.Minute
	for _, r := range []struct {
		name   string
		status payment.Status
		after  time.Duration
		want   payment.Status
	}{
		{"a lost prompt is given up two minutes after its life", payment.Unknown, due, payment.UnknownClosed},
		{"and not a moment before", payment.Unknown, due - time.Millisecond, payment.Unknown},
		{"a prompt without word is given up as well", payment.Prompted, due, payment.UnknownClosed},
		{"one whose sending was interrupted too", payment.Sending, due, payment.UnknownClosed},
		{"one never sent is not waiting for word", payment.Created, due, payment.Created},
		{"a settled one stays", payment.Succeeded, due, payment.Succeeded},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a, told, changed := payment.Close(attempt(r.status), sentAt.Add(r.after))
			if a.Status != r.want || changed != (r.status != r.want) {
				t.Errorf("Close = %s, changed %v; want %s", a.Status, changed, r.want)
			}
			if changed && (told.Kind != payment.TimedOut || told.AttemptID != "att-1" || told.Subject != "booking-7") {
				t.Errorf("told %+v, want a timeout", told)
			}
		})
	}
}

func TestFreeAt(t *testing.T) {
	t.Parallel()
	now := sentAt.Add(time.Minute)
	for _, r := range []struct {
		name   string
		status payment.Status
		change func(*payment.Attempt)
		want   time.Duration // after now
	}{
		{"a prompt without word leaves the phone two minutes after it was sent", payment.Prompted, nil, time.Minute},
		{"so does one whose answer was lost", payment.Unknown, nil, time.Minute},
		{"a payer who declined is left alone as long", payment.Failed, nil, time.Minute},
		{"what was sent late counts from then", payment.Sending, func(a *payment.Attempt) { a.SentAt = now }, 2 * time.Minute},
		{"what is still to be sent counts from now", payment.Created, func(a *payment.Attempt) { a.SentAt = time.Time{} }, 2 * time.Minute},
		{"a prompt that was paid is gone", payment.Succeeded, nil, 0},
		{"money that does not fit does not say that it is", payment.Mismatched, nil, time.Minute},
		{"one never sent is no reason to wait", payment.Withdrawn, nil, 0},
		{"nor is one the provider refused", payment.Failed, func(a *payment.Attempt) { a.Outcome = payment.Rejected }, 0},
		{"an old one is gone", payment.Prompted, func(a *payment.Attempt) {
			a.CreatedAt = now.Add(-payment.BetweenPrompts)
			a.SentAt = a.CreatedAt
		}, 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a := attempt(r.status)
			if r.change != nil {
				r.change(&a)
			}
			old := attempt(payment.Failed)
			old.CreatedAt = old.CreatedAt.Add(-time.Hour)
			old.SentAt = old.CreatedAt
			for _, on := range [][]payment.Attempt{{a}, {a, old}, {old, a}} {
				if got := payment.FreeAt(on, now); !got.Equal(now.Add(r.want)) {
					t.Errorf("FreeAt = %s from now, want %s", got.Sub(now), r.want)
				}
			}
		})
	}
	if got := payment.FreeAt(nil, now); !got.Equal(now) {
		t.Errorf("a phone nobody asked is free at %s", got)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	due := sentAt.Add(90*time.Second + 2*time.Minute)
	for _, r := range []struct {
		name   string
		change func(*payment.Attempt)
		now    time.Time
		next   time.Time
		ask    bool
		giveUp bool
	}{
		{"a prompt is asked about", func(*payment.Attempt) {}, sentAt, sentAt.Add(25 * time.Second), true, false},
		{"even when its time is over, while it was not asked often enough", func(*payment.Attempt) {}, due, due, true, false},
		{"then it waits", func(a *payment.Attempt) { a.Queries = 3 }, due.Add(-time.Second), due, false, false},
		{"and is given up", func(a *payment.Attempt) { a.Queries = 3 }, due, due, false, true},
		{"what nobody can ask about waits", func(a *payment.Attempt) { a.Status = payment.Unknown }, sentAt, due, false, false},
		{"and is given up as well", func(a *payment.Attempt) { a.Status = payment.Sending }, due.Add(time.Hour), due, false, true},
		{"what has ended needs nothing", func(a *payment.Attempt) { a.Status = payment.Failed }, due, time.Time{}, false, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a := attempt(payment.Prompted)
			r.change(&a)
			if got := payment.NextCheck(a, r.now); !got.Equal(r.next) {
				t.Errorf("NextCheck = %s, want %s", got, r.next)
			}
			if ask, giveUp := payment.Asks(a, r.now); ask != r.ask || giveUp != r.giveUp {
				t.Errorf("Asks = %v, %v; want %v, %v", ask, giveUp, r.ask, r.giveUp)
			}
		})
	}
	// Every check of an attempt is another one, also for the same time.
	a, _ := payment.Begin(attempt(payment.Created), sentAt)
	seen := map[string]bool{payment.Check(a): true}
	for a = payment.Accept(a, payment.Accepted{CheckoutID: "ws_1"}); ; a = payment.Asked(a, sentAt) {
		if seen[payment.Check(a)] {
			t.Errorf("%q names two checks", payment.Check(a))
		}
		seen[payment.Check(a)] = true
		if ask, _ := payment.Asks(a, due); !ask {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d checks, want five", len(seen))
	}
}

// link is an attempt whose payer has a link to pay by for ten minutes.
func link(status payment.Status) payment.Attempt {
	a := attempt(status)
	a.Provider, a.Until = payment.Pesapal, sentAt.Add(10*time.Minute)
	return a
}

func TestALinkIsAskedAboutUntilItsEnd(t *testing.T) {
	t.Parallel()
	a, now := link(payment.Prompted), sentAt
	for _, want := range []time.Duration{1, 2, 4, 8, 10} {
		due, ask := payment.NextQuery(a, now)
		if !ask || !due.Equal(sentAt.Add(want*time.Minute)) {
			t.Fatalf("NextQuery = %s, %v; want %d minutes after sending", due, ask, want)
		}
		now = due
		a = payment.Asked(a, now)
	}
	if _, ask := payment.NextQuery(a, now); ask {
		t.Error("a link is asked about after its end")
	}
	if at, waiting := payment.CloseAt(a); !waiting || !at.Equal(a.Until.Add(time.Minute)) {
		t.Errorf("CloseAt = %s, %v; want a minute after the end", at, waiting)
	}
	closed, told, ok := payment.Close(a, a.Until.Add(time.Minute))
	if !ok || told.Kind != payment.PromptExpired || closed.Status != payment.UnknownClosed {
		t.Errorf("Close = %s, told %s", closed.Status, told.Kind)
	}
	if free := payment.FreeAt([]payment.Attempt{link(payment.Prompted)}, sentAt); !free.Equal(sentAt) {
		t.Error("a link keeps the phone from a prompt")
	}
}

func TestClaimsAreAskedAboutAtABoundedRate(t *testing.T) {
	t.Parallel()
	a := link(payment.Prompted)
	now := sentAt.Add(5 * time.Second)
	a, ok := payment.Nudge(a, now)
	if due, ask := payment.NextQuery(a, now); !ok || !ask || !due.Equal(now) {
		t.Fatalf("the first claim is asked about at %s, %v", due, ask)
	}
	first := payment.Check(a)
	if _, again := payment.Nudge(a, now.Add(time.Second)); again {
		t.Error("a second claim before the query has another made")
	}
	a = payment.Asked(a, now)
	if a.Queries != 0 {
		t.Error("a query for a claim counts among those of the schedule")
	}
	a, ok = payment.Nudge(a, now.Add(time.Second))
	if due, _ := payment.NextQuery(a, now.Add(time.Second)); !ok || !due.Equal(now.Add(payment.NudgeEvery)) {
		t.Errorf("the next claim is asked about at %s, want %s later", due, payment.NudgeEvery)
	}
	if payment.Check(a) == first {
		t.Error("two looks for two claims cannot be told apart")
	}
	late, ok := payment.Nudge(link(payment.UnknownClosed), now)
	if _, ask := payment.NextQuery(late, now); !ok || !ask {
		t.Error("news of an attempt that was given up is not asked for")
	}
	none := link(payment.Withdrawn)
	none.CheckoutID = ""
	if _, ok := payment.Nudge(none, now); ok {
		t.Error("the provider is asked about an order it has not named")
	}
}
