package daraja

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// postCallback tells the product an outcome, as often as the program says.
// Safaricom does not promise to repeat a callback that was not answered, so
// the simulator does only where its configuration says so, and then as often
// as it takes. It returns the product's first HTTP status.
func (s *Simulator) postCallback(ctx context.Context, p *prompt, o outcome) int {
	letter := courier.Letter{URL: p.callback, Body: s.callbackBody(p, o)}
	code, _ := o.result()
	first, attempts := 0, 0
	tell := func(a courier.Answer) {
		attempts++
		s.journal.Add(journal.Entry{
			Kind: journal.CallbackPost, ID: p.ID, Phone: p.Phone, Amount: p.program.paid(p.Amount), Reference: p.Reference,
			Status: string(o), Code: strconv.Itoa(code), Receipt: p.Receipt, URL: p.callback,
			HTTPStatus: a.Status, Attempt: attempts, Error: a.Reason(),
		})
		if attempts == 1 {
			first = a.Status
		}
	}
	for range p.program.deliveries() {
		if s.repeat {
			s.courier.PostUntilOK(ctx, letter, tell)
			continue
		}
		tell(s.courier.Post(ctx, letter))
	}
	return first
}

// callbackBody writes the callback of an outcome.
func (s *Simulator) callbackBody(p *prompt, o outcome) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, text := o.result()
	strung := p.program.Shape == shapeStrings
	callback := map[string]any{
		"MerchantRequestID": p.MerchantID,
		"CheckoutRequestID": p.ID,
		"ResultCode":        number(int64(code), strung),
		"ResultDesc":        text,
	}
	if o == outcomeSuccess {
		callback["CallbackMetadata"] = map[string]any{"Item": p.metadata(strung)}
	}
	// Marshalling maps, strings and numbers cannot fail.
	body, _ := json.Marshal(map[string]any{"Body": map[string]any{"stkCallback": callback}})
	return body
}

// metadata lists what a paid prompt tells. Balance comes without a value.
func (p *prompt) metadata(strung bool) []map[string]any {
	paidAt, _ := strconv.ParseInt(p.endedAt.In(eat()).Format("20060102150405"), 10, 64)
	phone, _ := strconv.ParseInt(p.Phone, 10, 64) // validated as digits when it came in.
	amount := number(p.program.paid(p.Amount), strung)
	if !strung {
		amount = json.RawMessage(fmt.Sprintf("%d.00", p.program.paid(p.Amount)))
	}
	items := []map[string]any{
		{"Name": "Amount", "Value": amount},
		{"Name": "MpesaReceiptNumber", "Value": p.Receipt},
	}
	if p.program.Shape != shapeNoBalance {
		items = append(items, map[string]any{"Name": "Balance"})
	}
	return append(items,
		map[string]any{"Name": "TransactionDate", "Value": number(paidAt, strung)},
		map[string]any{"Name": "PhoneNumber", "Value": number(phone, strung)},
	)
}

func number(n int64, strung bool) any {
	if strung {
		return strconv.FormatInt(n, 10)
	}
	return n
}
