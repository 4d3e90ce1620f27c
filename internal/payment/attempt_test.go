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
