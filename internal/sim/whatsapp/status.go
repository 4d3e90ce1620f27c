package whatsapp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// The statuses a message goes through.
const (
	statusSent      = "sent"
	statusDelivered = "delivered"
	statusRead      = "read"
	statusFailed    = "failed"
)

// runStatuses posts what becomes of an accepted send. Each status waits until
// the one before it was acknowledged, so the usual order is sent, delivered,
// read; a plan says otherwise.
func (s *Simulator) runStatuses(ctx context.Context, a *accepted) {
	switch {
	case a.failed != nil:
		s.journal.Add(journal.Entry{
			Kind: journal.SendFailed, ID: a.id, Number: a.number.PhoneNumberID, Phone: a.phone, BSUID: a.bsuid,
			Opaque: a.opaque, Code: code(a.failed.code),
		})
		if courier.Pause(ctx, s.statusDelay) {
			s.postStatus(ctx, a, statusFailed)
		}
	case a.plan != nil:
		pause := time.Duration(a.plan.DelayMS) * time.Millisecond
		for _, status := range a.plan.Order {
			for range a.plan.Deliveries {
				if !courier.Pause(ctx, pause) || !s.postStatus(ctx, a, status) {
					return
				}
			}
			if status == statusRead {
				s.setRead(a.shown)
			}
		}
	default:
		if !s.postStatus(ctx, a, statusSent) || !courier.Pause(ctx, s.statusDelay) ||
			!s.postStatus(ctx, a, statusDelivered) || !courier.Pause(ctx, s.statusDelay) {
			return
		}
		s.readIfOpen(ctx, a)
	}
}

// readIfOpen reports the message as read when the phone shows it. A message
// nobody looked at yet is reported by faceOpen.
func (s *Simulator) readIfOpen(ctx context.Context, a *accepted) {
	s.mu.Lock()
	open := s.autoRead && !a.shown.read
	if open {
		a.shown.read = true
	}
	s.mu.Unlock()
	if open {
		s.postStatus(ctx, a, statusRead)
	}
}

func (s *Simulator) setRead(m *Received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.read = true
}

// postStatus posts one status until the product answers 200.
func (s *Simulator) postStatus(ctx context.Context, a *accepted, status string) bool {
	body := s.statusBody(a, status)
	return s.courier.PostUntilOK(ctx, s.letter(a.number, body, signGood), func(ans courier.Answer) {
		s.journal.Add(journal.Entry{
			Kind: journal.StatusPosted, ID: a.id, Number: a.number.PhoneNumberID, Phone: a.phone, BSUID: a.bsuid,
			Opaque: a.opaque, Status: status, HTTPStatus: ans.Status, Attempt: ans.Attempt, Error: ans.Reason(),
		})
	})
}

func (s *Simulator) statusBody(a *accepted, status string) []byte {
	element := map[string]any{
		"id":        a.id,
		"status":    status,
		"timestamp": strconv.FormatInt(s.clock.Now().Unix(), 10),
	}
	if a.phone != "" {
		element["recipient_id"] = a.phone
	}
	if a.bsuid != "" && (status != statusFailed || a.phone == "") {
		element["recipient_user_id"] = a.bsuid
	}
	if a.opaque != "" {
		element["biz_opaque_callback_data"] = a.opaque
	}
	switch status {
	case statusSent: // Since July 2025 the price is told in one of sent and delivered.
		category := "service"
		if a.typ == "template" {
			category = "utility"
		}
		element["pricing"] = map[string]any{
			"billable": true, "pricing_model": "PMP", "category": category, "type": "regular",
		}
	case statusFailed:
		element["errors"] = []any{a.failed.element()}
	}
	return envelope(a.number, map[string]any{"statuses": []any{element}})
}

// faceOpen is somebody opening the chat: everything in it is read.
func (s *Simulator) faceOpen(w http.ResponseWriter, r *http.Request) (any, error) {
	var req struct {
		Phone  string `json:"phone"`
		BSUID  string `json:"bsuid"`
		Number string `json:"number"`
	}
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.people.find(face.Digits(req.Phone), req.BSUID)
	if p == nil {
		return nil, fault.E(fault.NotFound, "Nobody with that phone or bsuid has appeared here yet.")
	}
	read := []string{}
	for _, m := range p.received {
		if m.read || (req.Number != "" && !s.isNumber(m, req.Number)) {
			continue
		}
		m.read = true
		read = append(read, m.ID)
		s.courier.Go(func(ctx context.Context) { s.postStatus(ctx, m.via, statusRead) })
	}
	return map[string]any{"read": read}, nil
}

// envelope wraps a value's own fields in a webhook of the platform.
func envelope(n Number, value map[string]any) []byte {
	value["messaging_product"] = "whatsapp"
	value["metadata"] = map[string]any{
		"display_phone_number": face.Digits(n.DisplayPhone),
		"phone_number_id":      n.PhoneNumberID,
	}
	// Marshalling maps, strings and numbers cannot fail.
	body, _ := json.Marshal(map[string]any{
		"object": "whatsapp_business_account",
		"entry": []any{map[string]any{
			"id":      n.AccountID,
			"changes": []any{map[string]any{"field": "messages", "value": value}},
		}},
	})
	return body
}
