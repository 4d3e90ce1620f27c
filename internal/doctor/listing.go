package doctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// week is what costs are summed over.
const week = 7 * 24 * time.Hour

// Listing is which models serve which role, and what that cost.
type Listing struct {
	Roles []RoleListing `json:"roles"`
	Since time.Time     `json:"since"` // of the costs
	Costs []Cost        `json:"costs"` // by business, the dearest role first
	// Unread says why no costs are listed, empty when they are.
	Unread string `json:"unread,omitempty"`
}

// RoleListing is a role with its ladder and the one on trial.
type RoleListing struct {
	Role   llm.Role      `json:"role"`
	Ladder []RungListing `json:"ladder"`
	Trial  []RungListing `json:"trial,omitempty"`
}

// RungListing is one rung. Prices are dollars per million tokens of a short
// prompt, as they are today.
type RungListing struct {
	Tier      int     `json:"tier"`
	Human     bool    `json:"human,omitempty"`
	Provider  string  `json:"provider,omitempty"`
	Model     string  `json:"model,omitempty"`
	Effort    string  `json:"effort,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
	Input     string  `json:"input_usd,omitempty"`
	Cached    string  `json:"cached_usd,omitempty"`
	Output    string  `json:"output_usd,omitempty"`
	Retires   string  `json:"retires,omitempty"` // a date
	Successor string  `json:"successor,omitempty"`
}

// Cost is what a role cost a business in the last seven days.
type Cost struct {
	Business string    `json:"business"`
	Role     llm.Role  `json:"role"`
	Calls    int       `json:"calls"`   // of models
	ByCode   int       `json:"by_code"` // answered without one
	Failed   int       `json:"failed"`
	Tokens   llm.Usage `json:"tokens"`
	USD      string    `json:"cost_usd"`
}

// Models lists an installation's models. Its error is a faulty configuration or
// assignment, or a database that cannot be read.
func Models(ctx context.Context, p Patient) (Listing, error) {
	if p.Clock == nil {
		p.Clock = clock.Real{}
	}
	settings, err := config.Load(p.Config, p.Environ)
	if err != nil {
		return Listing{}, err
	}
	a, err := ReadAssignment(settings.Models)
	if err != nil {
		return Listing{}, err
	}
	now := p.Clock.Now()
	l := Listing{Since: now.Add(-week).UTC(), Roles: []RoleListing{}, Costs: []Cost{}}
	for _, role := range slices.Sorted(maps.Keys(a.Roles)) {
		l.Roles = append(l.Roles, RoleListing{
			Role: role, Ladder: list(a.Catalogue, a.Roles[role], now), Trial: list(a.Catalogue, a.Canaries[role], now),
		})
	}
	e := examination{Patient: p, settings: settings, secret: config.Environment(p.Environ)}
	s := e.open(ctx)
	if s == nil {
		found := e.Findings[len(e.Findings)-1]
		if l.Unread = found.Text; found.Level == Fail {
			return l, errors.New(found.Text)
		}
		return l, nil
	}
	err = l.sum(ctx, s)
	return l, errors.Join(err, s.Stop())
}

// sum adds what every business spent.
func (l *Listing) sum(ctx context.Context, s installed) error {
	costs, err := s.Costs(ctx, l.Since)
	if err != nil {
		return err
	}
	for _, t := range costs {
		for _, c := range t.Roles {
			l.Costs = append(l.Costs, Cost{t.Slug, c.Role, c.Calls, c.ByCode, c.Failed, c.Tokens, c.Cost.Dollars()})
		}
	}
	return nil
}

func list(c *llm.Catalogue, ladder llm.Ladder, now time.Time) []RungListing {
	var out []RungListing
	for i, rung := range ladder {
		row := RungListing{Tier: i + 1, Human: rung.Human, Provider: rung.Provider, Model: rung.Model, Effort: rung.Effort}
		if !rung.Human {
			row.Threshold = cmp.Or(rung.Threshold, llm.DefaultThreshold)
		}
		if m, ok := c.Model(rung.Provider, rung.Model); ok {
			row.describe(m, now)
		}
		out = append(out, row)
	}
	return out
}

func (r *RungListing) describe(m llm.Model, now time.Time) {
	r.Successor = m.Successor
	if !m.Retires.IsZero() {
		r.Retires = m.Retires.Format(time.DateOnly)
	}
	if len(m.Prices) == 0 {
		return
	}
	price := m.Prices[0]
	for _, p := range m.Prices {
		if !p.From.After(now) {
			price = p
		}
	}
	million := func(p money.Pico) string { return (p * 1_000_000).Dollars() }
	r.Input, r.Cached, r.Output = million(price.Rates[0].Input), million(price.Rates[0].Cached), million(price.Rates[0].Output)
}
