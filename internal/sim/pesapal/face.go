package pesapal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

const (
	submitLose  = "lose"
	notifyEarly = "early"
	maxTimes    = 1000
	maxDelayMS  = 10 * 60 * 1000
	// patience is how long the answer to a payment waits for the product's
	// answer to the notification.
	patience = 2 * time.Second
)

// program says what becomes of the next order: POST /sim/pesapal/next. Without
// Outcome the order waits for its payer, and the rest shapes what follows.
type program struct {
	Outcome       state       `json:"outcome"` // COMPLETED, FAILED
	Then          state       `json:"then"`    // what follows on the outcome: COMPLETED after FAILED, REVERSED after COMPLETED
	DelayMS       int         `json:"delay_ms"`
	Notifications *int        `json:"notifications"`   // of each change; 0 sends none
	NotifyDelayMS int         `json:"notify_delay_ms"` // how late they come
	Notify        string      `json:"notify"`          // early: one comes before anybody has paid
	Amount        json.Number `json:"amount"`          // what a query says was paid
	Currency      string      `json:"currency"`
	Upper         bool        `json:"upper"`       // the status text in capitals
	Submit        string      `json:"submit"`      // 401, 500, or lose: the order is taken and the answer lost
	Query         string      `json:"query"`       // 401 or 500: how status queries fail
	QueryTimes    int         `json:"query_times"` // how many; all when below 0
	Refund        string      `json:"refund"`      // approve (at once), reject, hold, 500, lose
	Times         int         `json:"times"`
}

func (p *program) check() error {
	one := func(s string, of ...string) bool { return s == "" || slices.Contains(of, s) }
	if p.Times == 0 {
		p.Times = 1
	}
	if p.Query != "" && p.QueryTimes == 0 {
		p.QueryTimes = 1
	}
	f, err := p.Amount.Float64()
	switch {
	case !one(string(p.Outcome), "COMPLETED", "FAILED") || !one(string(p.Then), "COMPLETED", "REVERSED"):
		return fault.E(fault.Invalid, `"outcome" is COMPLETED or FAILED, "then" COMPLETED or REVERSED.`)
	case p.Then != "" && p.Outcome == "":
		return fault.E(fault.Invalid, `"then" follows an "outcome".`)
	case !one(p.Submit, "401", "500", submitLose) || !one(p.Query, "401", "500") || !one(p.Notify, notifyEarly):
		return fault.E(fault.Invalid, `"submit" is 401, 500 or lose, "query" 401 or 500, "notify" early.`)
	case !one(p.Refund, refundApprove, refundReject, refundHold, "500", submitLose):
		return fault.E(fault.Invalid, `"refund" is approve, reject, hold, 500 or lose.`)
	case p.Amount != "" && (err != nil || !(f > 0)):
		return fault.E(fault.Invalid, `"amount" is a number above zero.`)
	case p.DelayMS < 0 || p.DelayMS > maxDelayMS || p.NotifyDelayMS < 0 || p.NotifyDelayMS > maxDelayMS:
		return fault.E(fault.Invalid, fmt.Sprintf(`delays are from 0 to %d ms.`, maxDelayMS))
	case p.Notifications != nil && (*p.Notifications < 0 || *p.Notifications > maxTimes) || p.Times < 1 || p.Times > maxTimes:
		return fault.E(fault.Invalid, fmt.Sprintf(`"notifications" and "times" are at most %d.`, maxTimes))
	}
	return nil
}

// takeProgram uses up the first program, or returns an empty one. Callers hold mu.
func (s *Simulator) takeProgram(string) program {
	if len(s.programs) == 0 {
		return program{}
	}
	own := *s.programs[0]
	if s.programs[0].Times--; s.programs[0].Times == 0 {
		s.programs = s.programs[1:]
	}
	return own
}

func (s *Simulator) faceNext(w http.ResponseWriter, r *http.Request) (any, error) {
	var p program
	if err := face.Read(w, r, &p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.programs = append(s.programs, &p)
	return map[string]bool{"ok": true}, nil
}

// which names an order, by its id or as the newest of a phone.
type which struct {
	TrackingID string `json:"tracking_id"`
	Phone      string `json:"phone"`
}

func (s *Simulator) find(q which) (*order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.byID[q.TrackingID]; o != nil {
		return o, nil
	}
	for i := len(s.orders) - 1; i >= 0 && q.TrackingID == ""; i-- {
		if s.orders[i].Phone == face.Digits(q.Phone) {
			return s.orders[i], nil
		}
	}
	return nil, fault.E(fault.NotFound, "There is no such order.")
}

// facePay is the payer on the page: {"tracking_id" or "phone", "decline"}.
func (s *Simulator) facePay(w http.ResponseWriter, r *http.Request) (any, error) {
	var req struct {
		which
		Decline bool `json:"decline"`
	}
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	o, err := s.find(req.which)
	if err != nil {
		return nil, err
	}
	status, err := s.pay(r.Context(), o, req.Decline)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"tracking_id": o.ID, "state": o.State, "receipt": o.Receipt, "status": status}, nil
}

// pay ends an order as its payer wants, and waits a moment for the product to
// hear of it. It returns the product's HTTP status, 0 while it has none.
func (s *Simulator) pay(ctx context.Context, o *order, decline bool) (int, error) {
	to := completed
	if decline {
		to = failed
	}
	if !s.end(o, to) {
		return 0, fault.E(fault.Conflict, "This order has ended already.")
	}
	told := make(chan int, 1)
	s.courier.Go(func(ctx context.Context) { told <- s.tell(ctx, o) })
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case status := <-told:
		return status, nil
	case <-ctx.Done():
		return 0, nil
	}
}

// faceNotify sends a notification about an order that has no news, as anybody
// may: {"tracking_id" or "phone", "times"}.
func (s *Simulator) faceNotify(w http.ResponseWriter, r *http.Request) (any, error) {
	var req struct {
		which
		Times int `json:"times"`
	}
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	o, err := s.find(req.which)
	if err != nil {
		return nil, err
	}
	last := 0
	for range min(max(req.Times, 1), maxTimes) {
		last, _ = s.notify(r.Context(), o, 1)
	}
	return map[string]int{"status": last}, nil
}

// faceOrders lists the orders that wait for their payer, with all=true every
// one, oldest first.
func (s *Simulator) faceOrders(_ http.ResponseWriter, r *http.Request) (any, error) {
	phone, all := face.Digits(r.URL.Query().Get("phone")), r.URL.Query().Get("all") == "true"
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []order{}
	for _, o := range s.orders {
		if (phone == "" || o.Phone == phone) && (all || o.State == invalid) {
			shown := *o
			shown.Phone = "+" + o.Phone
			out = append(out, shown)
		}
	}
	return out, nil
}
