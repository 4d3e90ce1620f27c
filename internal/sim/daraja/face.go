package daraja

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

const (
	shapeStrings    = "strings"    // numbers come as strings
	shapeNoBalance  = "no_balance" // the Balance item is missing
	whenBefore      = "before_response"
	queryProcessing = "processing"
	queryFailed     = "failed"

	wrongPIN      = "0000"
	maxDeliveries = 50
	maxDelayMS    = 10 * 60 * 1000
	maxTimes      = 100_000
	// patience is how long the answer to a PIN waits for the product's answer
	// to the callback.
	patience = 2 * time.Second
)

// program says what becomes of the next prompt: POST /sim/daraja/next. Without
// Outcome the prompt waits for a PIN and the rest shapes what follows.
type program struct {
	Phone        string  `json:"phone"` // anybody when empty
	Outcome      outcome `json:"outcome"`
	DelayMS      int     `json:"delay_ms"`
	Deliveries   *int    `json:"deliveries"` // of each callback; 0 loses it
	Amount       int64   `json:"amount"`     // what the callback says was paid
	Shape        string  `json:"shape"`
	When         string  `json:"when"`
	LoseResponse bool    `json:"lose_response"`
	Then         *then   `json:"then"`
	Query        string  `json:"query"`
	Refuse       string  `json:"refuse"` // an error code to answer the push with, such as 500.003.02
	Times        int     `json:"times"`
	Reversal     string  `json:"reversal"` // of the payment: failed, none, timeout, lose or refuse
	// ReversalDelayMS is how late a reversal's result comes.
	ReversalDelayMS int `json:"reversal_delay_ms"`
}

// then is a second, later outcome: a success after a timeout, for instance.
type then struct {
	Outcome outcome `json:"outcome"`
	DelayMS int     `json:"delay_ms"`
}

func (p *program) deliveries() int {
	if p.Deliveries == nil {
		return 1
	}
	return *p.Deliveries
}

func (p *program) paid(asked int64) int64 {
	if p.Amount != 0 {
		return p.Amount
	}
	return asked
}

func (o outcome) known() bool {
	switch o {
	case outcomeSuccess, outcomeCancelled, outcomeTimeout, outcomeInsufficient, outcomeWrongPIN, outcomeExpired,
		outcomeNone:
		return true
	case outcomeSameAmount, outcomeTooLong: // They follow from the push.
	}
	return false
}

func (p *program) check() error {
	if p.Times == 0 {
		p.Times = 1
	}
	outcomes := "success, cancelled, timeout, insufficient, wrong_pin, expired or none"
	switch {
	case p.Outcome != "" && !p.Outcome.known():
		return fault.E(fault.Invalid, `"outcome" must be `+outcomes+".")
	case p.Then != nil && (!p.Then.Outcome.known() || p.Then.Outcome == outcomeNone || p.Outcome == ""):
		return fault.E(fault.Invalid, `"then" follows an "outcome" and has one of its own: `+outcomes+".")
	case p.DelayMS < 0 || p.DelayMS > maxDelayMS || p.Then != nil && (p.Then.DelayMS < 0 || p.Then.DelayMS > maxDelayMS):
		return fault.E(fault.Invalid, fmt.Sprintf(`"delay_ms" must be from 0 to %d.`, maxDelayMS))
	case p.deliveries() < 0 || p.deliveries() > maxDeliveries:
		return fault.E(fault.Invalid, fmt.Sprintf(`"deliveries" must be from 0 to %d.`, maxDeliveries))
	case p.Amount < 0:
		return fault.E(fault.Invalid, `"amount" is in whole shillings.`)
	case p.Shape != "" && p.Shape != shapeStrings && p.Shape != shapeNoBalance:
		return fault.E(fault.Invalid, `"shape" must be strings or no_balance.`)
	case p.When != "" && p.When != whenBefore:
		return fault.E(fault.Invalid, `"when" must be before_response, or be left out.`)
	case p.When == whenBefore && (p.Outcome == "" || p.Outcome == outcomeNone):
		return fault.E(fault.Invalid, `"when" needs an "outcome" that is told.`)
	case p.Query != "" && p.Query != queryProcessing && p.Query != queryFailed:
		return fault.E(fault.Invalid, `"query" must be processing or failed.`)
	case !slices.Contains([]string{"", reversalFailed, reversalNone, reversalTimeout, reversalLose, reversalRefuse}, p.Reversal):
		return fault.E(fault.Invalid, `"reversal" must be failed, none, timeout, lose or refuse.`)
	case p.ReversalDelayMS < 0 || p.ReversalDelayMS > maxDelayMS:
		return fault.E(fault.Invalid, fmt.Sprintf(`"reversal_delay_ms" must be from 0 to %d.`, maxDelayMS))
	case p.Times < 1 || p.Times > maxTimes:
		return fault.E(fault.Invalid, fmt.Sprintf(`"times" must be from 1 to %d.`, maxTimes))
	}
	p.Phone = face.Digits(p.Phone)
	return nil
}

// takeProgram uses up the first program for the phone, or returns an empty one.
// Callers hold mu.
func (s *Simulator) takeProgram(phone string) *program {
	for i, p := range s.programs {
		if p.Phone != "" && p.Phone != phone {
			continue
		}
		if p.Times--; p.Times == 0 {
			s.programs = append(s.programs[:i], s.programs[i+1:]...)
		}
		own := *p
		return &own
	}
	return &program{}
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

// pinAnswer tells what the phone says after a PIN.
type pinAnswer struct {
	ID         string `json:"id"`
	ResultCode int    `json:"result_code"`
	ResultDesc string `json:"result_desc"`
	Receipt    string `json:"receipt,omitempty"`
	Status     int    `json:"status,omitempty"` // the product's HTTP answer to the callback, when it came in time
}

// facePIN is the payer answering the prompt.
func (s *Simulator) facePIN(w http.ResponseWriter, r *http.Request) (any, error) {
	var req struct {
		Phone  string `json:"phone"`
		PIN    string `json:"pin"`
		Cancel bool   `json:"cancel"`
	}
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	o := outcomeSuccess
	switch {
	case req.Cancel:
		o = outcomeCancelled
	case len(req.PIN) != 4 || face.Digits(req.PIN) != req.PIN:
		return nil, fault.E(fault.Invalid, `"pin" is four digits; or send "cancel": true.`)
	case req.PIN == wrongPIN:
		o = outcomeWrongPIN
	}
	s.ExpireDue()
	p, err := s.answer(face.Digits(req.Phone), o)
	if err != nil {
		return nil, err
	}
	first := make(chan int, 1)
	s.courier.Go(func(ctx context.Context) { first <- s.postCallback(ctx, p, o) })
	code, text := o.result()
	out := pinAnswer{ID: p.ID, ResultCode: code, ResultDesc: text, Receipt: p.Receipt}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	select {
	case out.Status = <-first:
	case <-ctx.Done():
	}
	return out, nil
}

// answer ends the prompt the phone shows, or says why there is none.
func (s *Simulator) answer(phone string, o outcome) (*prompt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.liveFor(phone); p != nil {
		if p.State == programmed {
			return nil, fault.E(fault.Conflict, "What becomes of this prompt is programmed; it takes no PIN.")
		}
		s.end(p, o)
		return p, nil
	}
	p := s.latest[phone]
	if p == nil {
		return nil, fault.E(fault.NotFound, "This phone shows no prompt.")
	}
	if p.outcome == outcomeTimeout || p.outcome == outcomeExpired {
		return nil, fault.E(fault.Conflict, "The prompt is gone: its time was over.")
	}
	return nil, fault.E(fault.Conflict, "The prompt was answered already.")
}

// facePrompts lists the prompts that wait for a PIN, with all=true every one,
// oldest first.
func (s *Simulator) facePrompts(_ http.ResponseWriter, r *http.Request) (any, error) {
	s.ExpireDue()
	phone, all := face.Digits(r.URL.Query().Get("phone")), r.URL.Query().Get("all") == "true"
	s.mu.Lock()
	defer s.mu.Unlock()
	candidates := s.prompts
	if !all {
		candidates = slices.SortedFunc(maps.Values(s.live), func(a, b *prompt) int { return a.At.Compare(b.At) })
	}
	out := []prompt{}
	for _, p := range candidates {
		if (phone == "" || p.Phone == phone) && (all || p.State == waiting) {
			shown := *p
			shown.Phone = "+" + p.Phone
			out = append(out, shown)
		}
	}
	return out, nil
}

// faceSettings sets the standing choices; the answer tells all.
func (s *Simulator) faceSettings(w http.ResponseWriter, r *http.Request) (any, error) {
	var set struct {
		SameAmount *bool `json:"same_amount_window"` // answer code 17 to the same amount within two minutes
	}
	if err := face.Read(w, r, &set); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if set.SameAmount != nil {
		s.sameAmount = *set.SameAmount
	}
	return map[string]bool{"same_amount_window": s.sameAmount}, nil
}
