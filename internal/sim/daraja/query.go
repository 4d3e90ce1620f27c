package daraja

import (
	"net/http"
	"strconv"

	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// query serves POST /mpesa/stkpushquery/v1/query.
func (s *Simulator) query(w http.ResponseWriter, r *http.Request) {
	var req queryRequest
	if e := readBody(w, r, &req); e != nil {
		e.write(w)
		return
	}
	s.ExpireDue()
	answer, e := s.status(r, &req)
	if e != nil {
		s.journal.Add(journal.Entry{Kind: journal.Queried, ID: req.CheckoutRequestID, Code: e.Code})
		e.write(w)
		return
	}
	s.journal.Add(journal.Entry{Kind: journal.Queried, ID: req.CheckoutRequestID, Code: answer["ResultCode"]})
	face.Write(w, http.StatusOK, answer)
}

// status says how a prompt stands. The result code is a string here, a number
// in the callback; that is how the provider does it.
func (s *Simulator) status(r *http.Request, req *queryRequest) (map[string]string, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, e := s.authorise(r)
	if e != nil {
		return nil, e
	}
	c, e := s.checkPassword(string(req.BusinessShortCode), string(req.Timestamp), req.Password, key)
	if e != nil {
		return nil, e
	}
	p := s.byID[req.CheckoutRequestID]
	if p == nil || p.Shortcode != c.Shortcode {
		return nil, badRequest("CheckoutRequestID")
	}
	if p.State != ended || p.program.Query == queryProcessing {
		return nil, serverError("500.001.1001", "The transaction is being processed")
	}
	told := p.outcome
	if p.program.Query == queryFailed {
		told = outcomeCancelled // The sandbox was seen to report failure for paid prompts.
	}
	code, text := told.result()
	return map[string]string{
		"ResponseCode":        "0",
		"ResponseDescription": "The service request has been accepted successfully",
		"MerchantRequestID":   p.MerchantID,
		"CheckoutRequestID":   p.ID,
		"ResultCode":          strconv.Itoa(code),
		"ResultDesc":          text,
	}, nil
}

// The refusals a program may ask for, as the provider words them.
func (p *program) refusal() *apiError {
	e := &apiError{HTTP: http.StatusInternalServerError, RequestID: newRequestID(), Code: p.Refuse, Message: "Error occurred"}
	switch p.Refuse {
	case "500.003.02":
		e.Message = "System is busy. Please try again in few minutes."
	case "500.003.03":
		e.Message = "Quota Violation"
	case "503":
		e.HTTP, e.Message = http.StatusServiceUnavailable, "Service Unavailable"
	case "400.002.02":
		e.HTTP, e.Message = http.StatusBadRequest, "Bad Request - Invalid Request"
	}
	return e
}
