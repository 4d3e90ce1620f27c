package daraja

import (
	"context"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/sim/journal"
)

// outcome is how a prompt can end.
type outcome string

const (
	outcomeSuccess      outcome = "success"
	outcomeCancelled    outcome = "cancelled"
	outcomeTimeout      outcome = "timeout"
	outcomeInsufficient outcome = "insufficient"
	outcomeWrongPIN     outcome = "wrong_pin"
	outcomeExpired      outcome = "expired"
	outcomeSameAmount   outcome = "same_amount" // code 17, when the setting is on
	outcomeTooLong      outcome = "too_long"    // the text of the prompt is over 182 characters
	outcomeNone         outcome = "none"        // nothing is ever heard
)

// result returns the result code and text Daraja tells for an outcome.
func (o outcome) result() (code int, text string) {
	switch o {
	case outcomeSuccess:
		return 0, "The service request is processed successfully."
	case outcomeCancelled:
		return 1032, "Request cancelled by user"
	case outcomeTimeout:
		return 1037, "DS timeout user cannot be reached"
	case outcomeInsufficient:
		return 1, "The balance is insufficient for the transaction."
	case outcomeWrongPIN:
		return 2001, "The initiator information is invalid."
	case outcomeExpired:
		return 1019, "Transaction has expired"
	case outcomeSameAmount:
		return 17, "System internal error."
	case outcomeTooLong:
		return 1025, "An error occurred while sending a push request"
	case outcomeNone:
	}
	return 1037, "DS timeout user cannot be reached"
}

// Where a prompt stands.
type promptState string

const (
	waiting    promptState = "waiting"    // the phone shows it and waits for a PIN
	programmed promptState = "programmed" // a program decides
	ended      promptState = "ended"
)

// prompt is a request for money on somebody's phone.
type prompt struct {
	ID          string      `json:"id"` // CheckoutRequestID
	MerchantID  string      `json:"merchant_request_id"`
	Phone       string      `json:"phone"`
	Amount      int64       `json:"amount"` // shillings
	Shortcode   string      `json:"shortcode"`
	Business    string      `json:"business"`
	Reference   string      `json:"reference"`
	Description string      `json:"description"`
	Text        string      `json:"text"` // what the phone shows
	At          time.Time   `json:"at"`
	ExpiresAt   time.Time   `json:"expires_at"`
	State       promptState `json:"state"`
	ResultCode  *int        `json:"result_code,omitempty"`
	Receipt     string      `json:"receipt,omitempty"`

	callback string
	program  *program // never nil
	outcome  outcome  // once ended
	endedAt  time.Time
	silent   bool  // outcome none: ends with its life and without a callback
	Reversed int64 `json:"reversed,omitempty"` // shillings that went back
}

// end closes the prompt with an outcome, unless it has ended before. Callers
// hold mu.
func (s *Simulator) end(p *prompt, o outcome) {
	if p.State != ended {
		s.settle(p, o)
	}
}

// settle writes an outcome, also over an earlier one: a late success comes
// after a timeout. Callers hold mu.
func (s *Simulator) settle(p *prompt, o outcome) {
	p.State, p.outcome, p.endedAt = ended, o, s.clock.Now()
	delete(s.live, p.ID)
	code, _ := o.result()
	p.ResultCode = &code
	if o == outcomeSuccess && p.Receipt == "" {
		p.Receipt = s.newReceipt(p.endedAt)
	}
	told := ""
	if p.silent {
		told = journal.Silent
	}
	s.journal.Add(journal.Entry{
		Kind: journal.PromptEnded, Type: told, ID: p.ID, Phone: p.Phone, Amount: p.program.paid(p.Amount), Reference: p.Reference,
		Status: string(o), Code: strconv.Itoa(code), Receipt: p.Receipt,
	})
}

// ExpireDue ends every prompt whose life is over by the product's clock, and
// posts its callback. It is called by a ticker and after the clock was moved;
// it returns how many ended.
func (s *Simulator) ExpireDue() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, n := s.clock.Now(), 0
	for _, p := range s.live {
		if now.Before(p.ExpiresAt) || p.State == programmed && !p.silent {
			continue
		}
		s.end(p, outcomeTimeout)
		n++
		if !p.silent {
			s.courier.Go(func(ctx context.Context) { s.postCallback(ctx, p, outcomeTimeout) })
		}
	}
	return n
}

// liveFor returns the prompt that holds the phone, if any: one that waits or
// whose program has not decided yet. Callers hold mu.
func (s *Simulator) liveFor(phone string) *prompt {
	if p := s.latest[phone]; p != nil && p.State != ended {
		return p
	}
	return nil
}
