// Package booking assembles the booking app: businesses that sell their
// staff's time by appointment.
//
// It only puts together what lies below it: the conversation (flow), what
// is said unasked (notices), the domain (calendar), its tables (bookingsql) and
// its tools.
package booking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/app/booking/notices"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/understand/when"
	"github.com/ratiba/ratiba/internal/wording"
)

// Name is the app's name in a tenant's definition.
const Name = "booking"

// New assembles the app over what its tools keep. An error is a
// defect of the graph or of the texts.
func New(s tools.Stores) (app.App, error) {
	g, err := flow.New()
	if err != nil {
		return app.App{}, fmt.Errorf("build the booking graph: %w", err)
	}
	n, err := notices.New()
	if err != nil {
		return app.App{}, fmt.Errorf("build the graph of notices: %w", err)
	}
	texts, err := wording.Load(flow.Texts(), notices.Texts())
	if err != nil {
		return app.App{}, fmt.Errorf("load the booking texts: %w", err)
	}
	return app.App{
		Name: Name, Flow: app.Erase(g, nil), Notices: app.Erase(n, nil), Tools: tools.All(s), Texts: texts,
		Section: section, Expect: expect(texts), Owns: owns, Close: release,
		Collected: collected, Fill: fill, AtStake: atStake,
		Jobs: []app.Job{waitlist(), review(), busy()}, Operations: operations(), Feed: feed, Migrations: bookingsql.Migrations(), Merge: bookingsql.Merge, Apply: apply, Check: check,
		Person: bookingsql.Person(), Erase: bookingsql.Erase, Paid: bookingsql.Entries,
	}, nil
}

// section reads a business's settings and the names in them.
func section(t *tenant.Tenant) (app.Section, error) {
	s, err := calendar.ParseSettings(t.Settings)
	if err != nil {
		return app.Section{}, err
	}
	s.Rails = rails(t)
	return app.Section{Nouns: nouns(s), Settings: s.In(t.Currency)}, nil
}

// rails are the ways in which a business takes payments.
func rails(t *tenant.Tenant) []string {
	var out []string
	if t.Mpesa != nil {
		out = append(out, string(payment.Mpesa))
	}
	if t.Pesapal != nil {
		out = append(out, string(payment.Pesapal))
	}
	return out
}

// nouns are the services and people of a business, by every name they go by.
func nouns(s calendar.Settings) map[string][]understand.Noun {
	out := map[string][]understand.Noun{}
	for _, sv := range s.Services {
		if sv.Hidden {
			continue
		}
		names := []string{sv.Name.In(wording.English)}
		if other := sv.Name.In(wording.Swahili); other != names[0] {
			names = append(names, other)
		}
		out[understand.KindService] = append(out[understand.KindService],
			understand.Noun{ID: sv.ID, Names: append(names, sv.Aliases...)})
	}
	for _, st := range s.Staff {
		out[understand.KindStaff] = append(out[understand.KindStaff],
			understand.Noun{ID: st.ID, Names: append([]string{st.Name}, st.Aliases...)})
	}
	return out
}

// expect says what a thread was last asked and what was there to tap, in the
// words the customer saw.
func expect(texts *wording.Catalogue) func(string, json.RawMessage) understand.Expect {
	return func(node string, raw json.RawMessage) understand.Expect {
		var s flow.State
		if err := json.Unmarshal(raw, &s); err != nil {
			return understand.Expect{}
		}
		e := understand.Expect{Intent: flow.Expects(graph.Name(node)), About: s.About(), Other: s.Want.Other}
		if s.Asked != "" {
			e.Slots = []string{s.Asked}
		}
		if s.Asked == understand.SlotConfirm {
			e.Yes = flow.YesChoice
		}
		for _, c := range s.Shown {
			title := c.Title
			if c.Text != "" {
				var err error
				if title, err = texts.Render(s.Lang, c.Text, nil, nil); err != nil {
					continue
				}
			}
			e.Choices = append(e.Choices, message.Choice{ID: c.ID, Title: title})
		}
		return e
	}
}

func owns(raw json.RawMessage, subject string) bool {
	var s flow.State
	return json.Unmarshal(raw, &s) == nil && s.Owns(subject)
}

// release gives a hold back when its thread is closed by its time to live.
func release(raw json.RawMessage) []graph.Call {
	var s flow.State
	if json.Unmarshal(raw, &s) != nil || s.Hold == nil {
		return nil
	}
	return []graph.Call{{Tool: calendar.ReleaseHold, Args: calendar.ReleaseHoldArgs{BookingID: s.Hold.BookingID}}}
}

// entered is a thread's state as the flow's steps see it.
func entered(s app.Said) (graph.In[flow.State], bool) {
	var state flow.State
	if json.Unmarshal(s.State, &state) != nil {
		return graph.In[flow.State]{}, false
	}
	return graph.In[flow.State]{Node: s.Node, State: state, Facts: s.Facts, Now: s.Now, Input: graph.Input{Language: s.Lang}}, true
}

func collected(s app.Said) []handoff.Slot {
	in, ok := entered(s)
	if !ok {
		return nil
	}
	var out []handoff.Slot
	for _, v := range flow.Collected(in) {
		out = append(out, handoff.Slot{Name: v.Name, Value: v.Text})
	}
	return out
}

// fill reads what a person typed for a booking's slots, times as customers'
// times are read.
func fill(s app.Said, slots []handoff.Slot) (app.Filled, *graph.Say) {
	in, ok := entered(s)
	if !ok {
		return app.Filled{}, &graph.Say{Text: "fill.paying"} // never: the caller has read the state
	}
	var values []flow.Value
	for _, slot := range slots {
		values = append(values, flow.Value{Name: slot.Name, Text: slot.Value})
	}
	state, told, wrong := flow.Decide(in, values, func(text string) graph.When {
		return when.Parse(text, s.Now, s.Facts.Zone, when.Expect{Date: true, Time: true, About: in.State.About()})
	})
	if wrong != nil {
		return app.Filled{}, wrong
	}
	raw, err := json.Marshal(state)
	if err != nil {
		panic(fmt.Sprintf("booking: the state cannot be encoded: %v", err)) // plain values
	}
	return app.Filled{Node: state.At, State: raw, Told: told}, nil
}

// atStake is the money a refund would be about: the most the thread knows to be
// paid.
func atStake(raw json.RawMessage) money.Amount {
	var s flow.State
	if json.Unmarshal(raw, &s) != nil {
		return money.Amount{}
	}
	var most money.Amount
	for _, a := range s.Paid() {
		if a.Minor > most.Minor {
			most = a
		}
	}
	return most
}

func apply(ctx context.Context, tx db.Tx, t *tenant.Tenant, now time.Time) error {
	s, err := calendar.ParseSettings(t.Settings)
	if err != nil {
		return err
	}
	return bookingsql.Apply(ctx, tx, t, s.In(t.Currency), now)
}

// check names the faults of the definition's section, and deposits that nobody
// could pay.
func check(t *tenant.Tenant) error {
	s, err := calendar.ParseSettings(t.Settings)
	if err != nil {
		return err
	}
	var errs []error
	for _, sv := range s.Services {
		if !sv.Deposit.IsZero() && len(rails(t)) == 0 {
			errs = append(errs, fmt.Errorf("booking: %s asks for a deposit, but the business has no mpesa or pesapal section to take it with", sv.ID))
		}
	}
	return errors.Join(errs...)
}
