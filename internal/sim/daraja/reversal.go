package daraja

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// What becomes of the reversal of a prompt's payment, by its program.
const (
	reversalFailed  = "failed"
	reversalNone    = "none"    // the result never comes
	reversalTimeout = "timeout" // the queue's time is over
	reversalLose    = "lose"    // it is done, and its acknowledgement lost
	reversalRefuse  = "refuse"
)

// reversalRequest is the body of a reversal; one field is misspelt by the API.
type reversalRequest struct {
	Initiator              string
	SecurityCredential     string
	CommandID              string
	TransactionID          string
	Amount                 loose
	ReceiverParty          loose
	RecieverIdentifierType loose
	ResultURL              string
	QueueTimeOutURL        string
	Remarks                string
	Occasion               string
}

func (r *reversalRequest) fault() string {
	amount, err := strconv.ParseInt(string(r.Amount), 10, 64)
	usable := func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && u.Host != ""
	}
	switch {
	case r.CommandID != "TransactionReversal":
		return "CommandID"
	case r.TransactionID == "":
		return "TransactionID"
	case err != nil || amount < minAmount:
		return "Amount"
	case r.RecieverIdentifierType == "":
		return "RecieverIdentifierType"
	case !usable(r.ResultURL):
		return "ResultURL"
	case !usable(r.QueueTimeOutURL):
		return "QueueTimeOutURL"
	case r.Remarks == "":
		return "Remarks"
	}
	return ""
}

// reversal is a payment on its way back.
type reversal struct {
	conversation, originator string
	prompt                   *prompt // nil: there is no such payment
	amount                   int64
	resultURL, timeoutURL    string
	fails                    string // why it cannot be done
}

// reverse serves POST /mpesa/reversal/v1/request: an acknowledgement now, the
// result at an address of its own.
func (s *Simulator) reverse(w http.ResponseWriter, r *http.Request) {
	var req reversalRequest
	if e := readBody(w, r, &req); e != nil {
		e.write(w)
		return
	}
	v, how, e := s.openReversal(r, &req)
	if e != nil {
		s.journal.Add(journal.Entry{Kind: journal.ReversalRefused, Receipt: req.TransactionID, Code: e.Code, Error: e.Message})
		e.write(w)
		return
	}
	s.courier.Go(func(ctx context.Context) { s.giveBack(ctx, v, how) })
	if how == reversalLose {
		face.HangUp(w)
		return
	}
	face.Write(w, http.StatusOK, map[string]string{
		"OriginatorConversationID": v.originator, "ConversationID": v.conversation, "ResponseCode": "0",
		"ResponseDescription": "Accept the service request successfully.",
	})
}

// openReversal checks a reversal, and marks the payment as given back where its
// program says so: one payment goes back once.
func (s *Simulator) openReversal(r *http.Request, req *reversalRequest) (reversal, string, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, e := s.authorise(r)
	if e != nil {
		return reversal{}, "", e
	}
	c, ok := s.shortcode(string(req.ReceiverParty))
	if !ok || c.ConsumerKey != key {
		return reversal{}, "", badRequest("ReceiverParty")
	}
	if c.Initiator == "" || c.Initiator != req.Initiator || c.SecurityCredential != req.SecurityCredential {
		return reversal{}, "", badRequest("SecurityCredential")
	}
	if what := req.fault(); what != "" {
		return reversal{}, "", badRequest(what)
	}
	amount, _ := strconv.ParseInt(string(req.Amount), 10, 64) // checked by fault.
	v := reversal{
		originator: newRequestID(), conversation: "AG_" + s.clock.Now().In(eat()).Format("20060102") + "_" + strconv.FormatInt(random(1<<40), 16),
		amount: amount, resultURL: req.ResultURL, timeoutURL: req.QueueTimeOutURL,
	}
	for _, p := range s.prompts {
		if p.Receipt == req.TransactionID && p.Shortcode == c.Shortcode {
			v.prompt = p
		}
	}
	how := ""
	if v.prompt != nil {
		how = v.prompt.program.Reversal
	}
	switch {
	case how == reversalRefuse:
		return reversal{}, "", serverError("500.003.02", "System is busy. Please try again in few minutes.")
	case v.prompt == nil:
		v.fails = "The transaction receipt number does not exist."
	case v.prompt.Reversed > 0:
		v.fails = "The transaction has already been reversed."
	case amount > v.prompt.program.paid(v.prompt.Amount):
		v.fails = "The amount is more than was paid."
	case how == reversalFailed:
		v.fails = "The balance is insufficient for the transaction."
	case how != reversalTimeout:
		v.prompt.Reversed = amount
	}
	s.journal.Add(journal.Entry{Kind: journal.ReversalAsked, ID: v.conversation, Receipt: req.TransactionID, Amount: amount})
	return v, how, nil
}

// giveBack tells the product what became of a reversal.
func (s *Simulator) giveBack(ctx context.Context, v reversal, how string) {
	var delay time.Duration
	address, receipt, code, text := v.resultURL, "", 0, "The service request is processed successfully."
	if v.prompt != nil {
		delay = time.Duration(v.prompt.program.ReversalDelayMS) * time.Millisecond
	}
	switch {
	case how == reversalNone || !courier.Pause(ctx, delay):
		return
	case how == reversalTimeout:
		address, code, text = v.timeoutURL, 1, "The request timed out in the queue."
	case v.fails != "":
		code, text = 2, v.fails
	default:
		s.mu.Lock()
		receipt = s.newReceipt(s.clock.Now())
		s.mu.Unlock()
	}
	body, _ := json.Marshal(map[string]any{"Result": map[string]any{ // marshalling strings and numbers cannot fail.
		"ResultType": 0, "ResultCode": code, "ResultDesc": text, "OriginatorConversationID": v.originator,
		"ConversationID": v.conversation, "TransactionID": receipt,
		"ReferenceData": map[string]any{"ReferenceItem": map[string]string{"Key": "QueueTimeoutURL", "Value": "https://internal.example"}},
	}})
	a := s.courier.Post(ctx, courier.Letter{URL: address, Body: body})
	s.journal.Add(journal.Entry{
		Kind: journal.ReversalTold, ID: v.conversation, Code: strconv.Itoa(code), Receipt: receipt, Amount: v.amount, HTTPStatus: a.Status, Error: a.Reason(),
	})
}
