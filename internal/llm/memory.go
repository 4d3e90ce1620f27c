package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Memory is a Ledger in memory, for measuring, replaying and tests. What it
// keeps ends with the process.
type Memory struct {
	clock clock.Clock // real time

	mu       sync.Mutex
	settled  map[string]*Record // by id
	order    []*Record
	answers  map[answerKey]*Record
	held     map[string]Reservation
	purses   map[purse]money.Pico // settled and reserved
	spent    map[purse]money.Pico // settled, of threads
	told     map[purse]bool       // soft breaches
	earliest time.Time            // of the held reservations' expiries; zero for none
}

type answerKey struct {
	tenant ids.TenantID
	hash   string
}

// purse is what one ceiling bounds: a thread, or somebody's day.
type purse struct {
	ceiling Ceiling
	tenant  ids.TenantID
	of      string // the thread or the contact
	day     int64  // days since 1970, 0 for threads
}

// NewMemory returns an empty ledger. Its clock is real time and ends
// reservations; clock.Real when nil.
func NewMemory(c clock.Clock) *Memory {
	if c == nil {
		c = clock.Real{}
	}
	return &Memory{
		clock: c, settled: map[string]*Record{}, answers: map[answerKey]*Record{}, held: map[string]Reservation{},
		purses: map[purse]money.Pico{}, spent: map[purse]money.Pico{}, told: map[purse]bool{},
	}
}

// Lookup implements Records.
func (m *Memory) Lookup(_ context.Context, tenant ids.TenantID, requestHash string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec, ok := m.answers[answerKey{tenant, requestHash}]
	if !ok {
		return nil, nil //nolint:nilnil // the contract.
	}
	found := *rec
	return &found, nil
}

// Record implements Records.
func (m *Memory) Record(_ context.Context, rec Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.settled[rec.ID]; ok {
		return fmt.Errorf("store model call %s: it is stored already", rec.ID)
	}
	m.keep(&rec)
	return nil
}

// Reserve implements Ledger.
func (m *Memory) Reserve(_ context.Context, r Reservation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	var held [3]bounded
	list := r.purses(held[:0])
	for _, p := range list {
		if left := p.limit - m.purses[p.purse]; r.Worst > left {
			return &BudgetError{Ceiling: p.ceiling, Limit: p.limit, Left: left, Worst: r.Worst}
		}
	}
	for _, p := range list {
		m.purses[p.purse] += r.Worst
	}
	m.held[r.ID] = r
	if m.earliest.IsZero() || r.ExpiresAt.Before(m.earliest) {
		m.earliest = r.ExpiresAt
	}
	return nil
}

// Settle implements Ledger.
func (m *Memory) Settle(_ context.Context, r Reservation, rec Record) (Standing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	return m.settle(r, rec), nil
}

func (m *Memory) settle(r Reservation, rec Record) Standing {
	held, spent := r.Worst, money.Pico(0) // what the purses have of it so far
	if before := m.settled[r.ID]; before != nil {
		if before.Outcome != Lost {
			return Standing{}
		}
		held, spent = before.Cost, before.Cost
	}
	delete(m.held, r.ID)
	m.keep(&rec)
	var standing Standing
	var list [3]bounded
	for _, p := range r.purses(list[:0]) {
		m.purses[p.purse] += rec.Cost - held
		if p.ceiling != CeilingThread {
			continue
		}
		m.spent[p.purse] += rec.Cost - spent
		standing.Spent = m.spent[p.purse]
		if standing.Spent > r.Ceilings.Soft && !m.told[p.purse] && rec.Outcome != Lost {
			m.told[p.purse], standing.SoftBreach = true, true
		}
	}
	return standing
}

// expire settles what ran out.
func (m *Memory) expire() {
	if m.earliest.IsZero() {
		return
	}
	now := m.clock.Now()
	if now.Before(m.earliest) {
		return
	}
	m.earliest = time.Time{}
	for _, r := range m.held {
		switch {
		case !now.Before(r.ExpiresAt):
			m.settle(r, r.Lost)
		case m.earliest.IsZero() || r.ExpiresAt.Before(m.earliest):
			m.earliest = r.ExpiresAt
		}
	}
}

func (m *Memory) keep(rec *Record) {
	if before := m.settled[rec.ID]; before != nil {
		*before, rec = *rec, before
	} else {
		m.settled[rec.ID], m.order = rec, append(m.order, rec)
	}
	if rec.Outcome != OK && rec.Outcome != Unsure {
		return
	}
	key := answerKey{rec.Tenant, rec.RequestHash}
	if before, ok := m.answers[key]; !ok || rec.Tier >= before.Tier {
		m.answers[key] = rec
	}
}

// All returns what is stored, in the order it was.
func (m *Memory) All() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	out := make([]Record, 0, len(m.order))
	for _, r := range m.order {
		out = append(out, *r)
	}
	return out
}

// Held returns how many reservations nobody has settled yet.
func (m *Memory) Held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	return len(m.held)
}

// bounded is a purse and its ceiling.
type bounded struct {
	purse

	limit money.Pico
}

// purses adds the purses a reservation is held against to out.
func (r *Reservation) purses(out []bounded) []bounded {
	const seconds = 24 * 60 * 60
	day := r.At.Unix() / seconds
	switch r.Account {
	case AccountOperations:
		return append(out, bounded{purse{CeilingOperations, r.Tenant, "", day}, r.Ceilings.OperationsDay})
	case AccountEval:
		return append(out, bounded{purse{CeilingEval, r.Tenant, "", day}, r.Ceilings.EvalDay})
	case AccountThread:
	}
	if r.Thread != "" {
		out = append(out, bounded{purse{CeilingThread, r.Tenant, string(r.Thread), 0}, r.Ceilings.Hard})
	}
	if r.Contact != "" {
		out = append(out, bounded{purse{CeilingContactDay, r.Tenant, string(r.Contact), day}, r.Ceilings.ContactDay})
	}
	return append(out, bounded{purse{CeilingTenantDay, r.Tenant, "", day}, r.Ceilings.TenantDay})
}
