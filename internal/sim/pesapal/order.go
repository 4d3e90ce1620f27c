package pesapal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// state is how an order stands, in the words of PesaPal.
type state string

const (
	invalid   state = "INVALID" // nobody has paid yet
	completed state = "COMPLETED"
	failed    state = "FAILED"
	reversed  state = "REVERSED"
)

func (s state) code() int {
	switch s {
	case completed:
		return 1
	case failed:
		return 2
	case reversed:
		return 3
	case invalid:
	}
	return 0
}

// order is something to be paid.
type order struct {
	ID          string      `json:"tracking_id"`
	Reference   string      `json:"reference"`
	Merchant    string      `json:"merchant"`
	Phone       string      `json:"phone"`
	Description string      `json:"description"`
	Amount      json.Number `json:"amount"`
	Currency    string      `json:"currency"`
	At          time.Time   `json:"at"`
	State       state       `json:"state"`
	Receipt     string      `json:"receipt,omitempty"` // the confirmation code, once it was paid
	Refund      string      `json:"refund,omitempty"`  // the sum that was asked back

	merchant string
	back     string // the browser's way back
	ipn      ipn
	program  program
	paidAt   time.Time
}

// units is the amount in whole units, for the journal.
func (o *order) units() int64 {
	f, _ := o.Amount.Float64() // checked when it came in.
	return int64(f)
}

// status is the answer to a status query. Callers hold mu.
func (o *order) status() map[string]any {
	text := string(o.State)
	if !o.program.Upper {
		text = text[:1] + strings.ToLower(text[1:])
	}
	out := map[string]any{
		"payment_method": "", "amount": o.Amount, "created_date": o.At.UTC().Format(stamp), "confirmation_code": o.Receipt,
		"payment_status_description": text, "description": "", "message": "Request processed successfully",
		"payment_account": "", "call_back_url": o.returnURL(), "status_code": o.State.code(), "merchant_reference": o.Reference,
		"currency": o.Currency, "error": map[string]any{"error_type": nil, "code": nil, "message": nil}, "status": "200",
	}
	if o.Receipt != "" {
		out["payment_method"], out["payment_account"], out["created_date"] = "Visa", "476173******0010", o.paidAt.UTC().Format(stamp)
	}
	if o.State == completed || o.State == reversed {
		if p := o.program; p.Amount != "" {
			out["amount"] = p.Amount
		}
		if p := o.program; p.Currency != "" {
			out["currency"] = p.Currency
		}
	}
	return out
}

// returnURL is where the payer's browser goes afterwards.
func (o *order) returnURL() string { return withOrder(o.back, o, "CALLBACKURL") }

// withOrder adds an order to an address, as PesaPal names it.
func withOrder(address string, o *order, kind string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set("OrderTrackingId", o.ID)
	q.Set("OrderMerchantReference", o.Reference)
	q.Set("OrderNotificationType", kind)
	u.RawQuery = q.Encode()
	return u.String()
}

// run does what the order's program says, or nothing.
func (o *order) run(s *Simulator) func(ctx context.Context) {
	return func(ctx context.Context) {
		p := o.program
		if p.Notify == notifyEarly {
			s.tell(ctx, o) // before anybody has paid
		}
		if p.Outcome == "" || !courier.Pause(ctx, time.Duration(p.DelayMS)*time.Millisecond) {
			return
		}
		if s.end(o, p.Outcome) {
			s.tell(ctx, o)
		}
		if p.Then != "" && courier.Pause(ctx, time.Duration(p.DelayMS)*time.Millisecond) && s.end(o, p.Then) {
			s.tell(ctx, o)
		}
	}
}

// end brings an order into a state. It reports false where that cannot be.
func (s *Simulator) end(o *order, to state) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case o.State == reversed, o.State == completed && to != reversed, to == reversed && o.State != completed, to == invalid && o.State != invalid:
		return false
	}
	o.State = to
	if to == completed {
		o.Receipt, o.paidAt = newConfirmation(), s.clock.Now()
	}
	s.journal.Add(journal.Entry{
		Kind: journal.OrderEnded, ID: o.ID, Phone: o.Phone, Amount: o.units(), Reference: o.Reference, Status: string(to), Receipt: o.Receipt,
	})
	return true
}

// repeats is how often a notification that is not acknowledged is sent again.
const repeats = 5

// tell notifies the product, as often as the program says, each time until it
// acknowledges in JSON. It returns the product's first HTTP status.
func (s *Simulator) tell(ctx context.Context, o *order) (first int) {
	times := 1
	if n := o.program.Notifications; n != nil {
		times = *n
	}
	if !courier.Pause(ctx, time.Duration(o.program.NotifyDelayMS)*time.Millisecond) {
		return 0
	}
	for range times {
		pause := 50 * time.Millisecond
		for attempt := 1; attempt <= repeats; attempt++ {
			status, acknowledged := s.notify(ctx, o, attempt)
			if first == 0 {
				first = status
			}
			if acknowledged || !courier.Pause(ctx, pause) {
				break
			}
			pause *= 4
		}
	}
	return first
}

// notify sends one notification: an order and no status.
func (s *Simulator) notify(ctx context.Context, o *order, attempt int) (status int, acknowledged bool) {
	var err error
	if o.ipn.method == http.MethodPost {
		body, _ := json.Marshal(map[string]string{ // marshalling strings cannot fail.
			"OrderTrackingId": o.ID, "OrderMerchantReference": o.Reference, "OrderNotificationType": "IPNCHANGE",
		})
		answer := s.courier.Post(ctx, courier.Letter{URL: o.ipn.url, Body: body})
		status, err, acknowledged = answer.Status, answer.Err, answer.Status == http.StatusOK
	} else {
		var body []byte
		status, body, err = s.courier.Get(ctx, withOrder(o.ipn.url, o, "IPNCHANGE"), requestLimit)
		var ack struct {
			Type   string `json:"orderNotificationType"`
			ID     string `json:"orderTrackingId"`
			Status int    `json:"status"`
		}
		acknowledged = err == nil && json.Unmarshal(body, &ack) == nil && ack.ID == o.ID && ack.Status == http.StatusOK && ack.Type == "IPNCHANGE"
	}
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	s.journal.Add(journal.Entry{
		Kind: journal.NotifyPosted, ID: o.ID, Phone: o.Phone, Reference: o.Reference, URL: o.ipn.url, HTTPStatus: status, Attempt: attempt, Error: reason,
	})
	return status, acknowledged
}
