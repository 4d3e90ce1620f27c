package ledgertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// spender is a provider that bills all it may, fails now and then, and keeps
// count itself.
type spender struct {
	model  llm.Model
	billed atomic.Int64
	calls  atomic.Int64
}

func (s *spender) Complete(_ context.Context, call llm.Call) (llm.Answer, error) {
	prompt := 0
	for _, m := range call.Messages {
		prompt += len(m.Content)
	}
	usage := llm.Usage{Input: prompt, Output: call.MaxTokens}
	s.calls.Add(1)
	s.billed.Add(int64(s.model.Cost(usage, start)))
	if rand.IntN(4) == 0 {
		return llm.Answer{}, &llm.Error{Class: llm.Malformed, Usage: usage, Metered: true, MayBeBilled: true}
	}
	return llm.Answer{Text: "Karibu.", Usage: usage, Metered: true}, nil
}

type fixedPolicy llm.Policy

func (p fixedPolicy) Policy(context.Context, ids.TenantID) (llm.Policy, error) {
	return llm.Policy(p), nil
}

// Overshoot makes 64 concurrent calls on one thread until its hard ceiling lets
// none through any more. What the provider billed never exceeds the ceiling,
// is what the ledger has, and leaves no room for one more call.
func Overshoot(t *testing.T, open Open) {
	t.Helper()
	catalogue, err := llm.DefaultCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := catalogue.Model("anthropic", "claude-opus-5-5")
	vendor := &spender{model: model}
	limits := ceilings
	limits.Hard, limits.ContactDay, limits.TenantDay = 50*cent, money.USD, money.USD
	ledger := open(t, clock.NewFixed(start))
	router, err := llm.New(llm.Config{
		Roles:     llm.Roles{llm.HandoffSummarizer: {{Provider: "anthropic", Model: model.ID, MaxTokens: 400, Timeout: time.Minute}}},
		Catalogue: catalogue, Providers: map[string]llm.Provider{"anthropic": vendor}, Ledger: ledger,
		Policies: fixedPolicy{Ceilings: limits}, Clock: clock.NewFixed(start), Stopwatch: clock.NewFixed(start),
	})
	if err != nil {
		t.Fatal(err)
	}
	const workers = 64
	var refused atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for seq := 0; ; seq++ {
				_, err := router.Call(t.Context(), llm.Request{
					Role: llm.HandoffSummarizer, Tenant: Tenant, Thread: "thread-1", Contact: "contact-1", Seq: w*1_000_000 + seq,
					Messages: []llm.Message{{Role: llm.User, Content: "Say welcome, number " + strconv.Itoa(seq) + "."}},
				})
				if errors.Is(err, llm.ErrBudget) {
					refused.Add(1)
					return
				}
				if err != nil && llm.ClassOf(err) != llm.Malformed {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	billed := money.Pico(vendor.billed.Load())
	if billed > limits.Hard {
		t.Errorf("$%s were billed under a ceiling of $%s", billed.Dollars(), limits.Hard.Dollars())
	}
	if refused.Load() != workers || vendor.calls.Load() == 0 {
		t.Errorf("%d of %d workers were refused after %d calls", refused.Load(), workers, vendor.calls.Load())
	}
	b := &bench{T: t, ledger: ledger, clock: clock.NewFixed(start)}
	b.n = 1_000_000
	left := b.room(func(r *llm.Reservation) { r.Ceilings, r.Contact = limits, "" })
	if left != limits.Hard-billed {
		t.Errorf("the ledger has $%s left, the bill leaves $%s", left.Dollars(), (limits.Hard - billed).Dollars())
	}
}
