package daraja

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// sameAmountWindow is the documented meaning of result code 17: the same amount
// asked of the same customer again within two minutes.
const sameAmountWindow = 2 * time.Minute

// push serves POST /mpesa/stkpush/v1/processrequest.
func (s *Simulator) push(w http.ResponseWriter, r *http.Request) {
	var req pushRequest
	if e := readBody(w, r, &req); e != nil {
		s.refusePush(w, &req, e)
		return
	}
	s.ExpireDue()
	p, e := s.open(r, &req)
	if e != nil {
		s.refusePush(w, &req, e)
		return
	}
	switch {
	case p.program.Outcome == "": // It waits for a PIN.
	case p.program.When == whenBefore:
		// Its callback goes on when who asked has died meanwhile.
		told := make(chan struct{})
		s.courier.Go(func(ctx context.Context) {
			defer close(told)
			s.run(ctx, p)
		})
		select {
		case <-told:
		case <-r.Context().Done():
		}
	default:
		s.courier.Go(func(ctx context.Context) { s.run(ctx, p) })
	}
	if p.program.LoseResponse {
		face.HangUp(w)
		return
	}
	face.Write(w, http.StatusOK, map[string]string{
		"MerchantRequestID":   p.MerchantID,
		"CheckoutRequestID":   p.ID,
		"ResponseCode":        "0",
		"ResponseDescription": "Success. Request accepted for processing",
		"CustomerMessage":     "Success. Request accepted for processing",
	})
}

func (s *Simulator) refusePush(w http.ResponseWriter, req *pushRequest, e *apiError) {
	amount, _ := strconv.ParseInt(string(req.Amount), 10, 64) // 0 when it is no number.
	s.journal.Add(journal.Entry{
		Kind: journal.PushRefused, Phone: string(req.PhoneNumber), Code: e.Code, Amount: amount,
		Reference: req.AccountReference, Error: e.Message,
	})
	e.write(w)
}

// open checks a push and puts the prompt on the phone.
func (s *Simulator) open(r *http.Request, req *pushRequest) (*prompt, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, e := s.authorise(r)
	if e != nil {
		return nil, e
	}
	code, e := s.checkPassword(string(req.BusinessShortCode), string(req.Timestamp), req.Password, key)
	if e != nil {
		return nil, e
	}
	amount, e := req.validate()
	if e != nil {
		return nil, e
	}
	phone := string(req.PhoneNumber)
	if s.liveFor(phone) != nil {
		return nil, serverError("500.001.1001", "Unable to lock subscriber, a transaction is already in process for the current subscriber")
	}
	prog := s.takeProgram(phone)
	if prog.Refuse != "" {
		return nil, prog.refusal()
	}
	return s.newPrompt(code, req, amount, prog), nil
}

func (s *Simulator) newPrompt(code Shortcode, req *pushRequest, amount int64, prog *program) *prompt {
	now := s.clock.Now()
	business := code.Name
	if business == "" {
		business = "the business"
	}
	p := &prompt{
		MerchantID: newRequestID(), Phone: string(req.PhoneNumber), Amount: amount,
		Shortcode: code.Shortcode, Business: business, Reference: req.AccountReference, Description: req.TransactionDesc,
		At: now, ExpiresAt: now.Add(s.promptLife), State: waiting,
		callback: req.CallBackURL, program: prog,
	}
	p.Text = fmt.Sprintf("Do you want to pay %s to %s Account no. %s?", money.Major(amount, "KES"), business, p.Reference)
	p.ID = s.newCheckoutID(now, p.Phone)
	switch {
	case s.sameAmount && s.askedBefore(p):
		prog.Outcome, p.State = outcomeSameAmount, programmed
	case utf8.RuneCountInString(p.Text) > maxPromptText:
		prog.Outcome, p.State = outcomeTooLong, programmed
	case prog.Outcome != "":
		p.State, p.silent = programmed, prog.Outcome == outcomeNone
	}
	s.prompts = append(s.prompts, p)
	s.byID[p.ID], s.live[p.ID], s.latest[p.Phone] = p, p, p
	s.journal.Add(journal.Entry{
		Kind: journal.PushAccepted, ID: p.ID, Phone: p.Phone, Amount: amount, Reference: p.Reference, URL: p.callback,
	})
	return p
}

func (s *Simulator) askedBefore(p *prompt) bool {
	for _, old := range s.prompts {
		if old.Phone == p.Phone && old.Amount == p.Amount && old.Shortcode == p.Shortcode && p.At.Sub(old.At) < sameAmountWindow {
			return true
		}
	}
	return false
}

// run carries out a program: its outcome after its delay, then what it says
// comes later.
func (s *Simulator) run(ctx context.Context, p *prompt) {
	prog := p.program
	if prog.Outcome != outcomeNone {
		if !courier.Pause(ctx, ms(prog.DelayMS)) {
			return
		}
		s.mu.Lock()
		s.end(p, prog.Outcome)
		s.mu.Unlock()
		s.postCallback(ctx, p, prog.Outcome)
	}
	if prog.Then == nil {
		return
	}
	if prog.When == whenBefore {
		// The push answers between the two.
		s.courier.Go(func(ctx context.Context) { s.runThen(ctx, p) })
		return
	}
	s.runThen(ctx, p)
}

func (s *Simulator) runThen(ctx context.Context, p *prompt) {
	then := p.program.Then
	if !courier.Pause(ctx, ms(then.DelayMS)) {
		return
	}
	s.mu.Lock()
	s.settle(p, then.Outcome)
	s.mu.Unlock()
	s.postCallback(ctx, p, then.Outcome)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
