package pesapal

import (
	"context"
	"net/http"
	"strconv"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// What becomes of a refund: the provider's people approve it.
const (
	refundApprove = "approve"
	refundReject  = "reject"
	refundHold    = "hold" // it waits for POST /sim/pesapal/refund
)

// refund serves POST /api/Transactions/RefundRequest: one refund per payment,
// of no more than was paid.
func (s *Simulator) refund(w http.ResponseWriter, r *http.Request) {
	merchant, ok := s.authorise(w, r)
	if !ok {
		return
	}
	var req struct {
		Confirmation string `json:"confirmation_code"`
		Amount       string `json:"amount"`
		Username     string `json:"username"`
		Remarks      string `json:"remarks"`
	}
	if !readBody(w, r, &req) {
		return
	}
	o, message := s.askBack(merchant, req.Confirmation, req.Amount, req.Username == "" || req.Remarks == "")
	entry := journal.Entry{Kind: journal.RefundAsked, Receipt: req.Confirmation, Code: "200", Error: message}
	if o == nil {
		entry.Code = "500"
		s.journal.Add(entry)
		face.Write(w, http.StatusOK, map[string]string{"status": "500", "message": message})
		return
	}
	entry.ID, entry.Reference, entry.Amount = o.ID, o.Reference, o.units()
	s.journal.Add(entry)
	if o.program.Refund == "" || o.program.Refund == refundApprove {
		s.courier.Go(func(ctx context.Context) {
			if s.end(o, reversed) {
				s.tell(ctx, o)
			}
		})
	}
	switch o.program.Refund {
	case submitLose:
		face.HangUp(w)
	case "500":
		refuse(w, http.StatusInternalServerError, "api_error", "An error has occurred.")
	default:
		face.Write(w, http.StatusOK, map[string]string{"status": "200", "message": "Refund request successfully"})
	}
}

func (s *Simulator) askBack(merchant, confirmation, amount string, incomplete bool) (*order, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if o.merchant != merchant || o.Receipt != confirmation || confirmation == "" {
			continue
		}
		sum, err := strconv.ParseFloat(amount, 64)
		paid, _ := o.Amount.Float64() // checked when it came in.
		switch {
		case err != nil || !(sum > 0) || sum > paid || incomplete:
			return nil, "Invalid refund request."
		case o.Refund != "" || o.State != completed || o.program.Refund == refundReject:
			return nil, "Refund rejected."
		}
		o.Refund = amount
		return o, ""
	}
	return nil, "Transaction not found."
}

// faceRefund is the provider's person who decides about a refund that waits:
// {"tracking_id" or "phone"} approves it.
func (s *Simulator) faceRefund(w http.ResponseWriter, r *http.Request) (any, error) {
	var req which
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	o, err := s.find(req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	asked := o.Refund != ""
	s.mu.Unlock()
	if !asked || !s.end(o, reversed) {
		return nil, fault.E(fault.Conflict, "No refund of this order waits.")
	}
	s.courier.Go(func(ctx context.Context) { s.tell(ctx, o) })
	return map[string]bool{"ok": true}, nil
}
