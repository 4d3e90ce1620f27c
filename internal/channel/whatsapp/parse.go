package whatsapp

import (
	"encoding/json"
	"fmt"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/message"
)

// Batch is what a webhook carried, in its order.
type Batch struct {
	Messages []message.Inbound
	Receipts []message.Receipt
	Skipped  []Skip
}

// Skip is a part of a webhook that was not understood or is not for us. It names
// no customer and quotes nothing.
type Skip struct {
	Number string // the business number's provider id, "" when not known
	Field  string // entry, change, messages[0], statuses[2], ...
	Reason string
}

// Parse reads a webhook of Meta or 360dialog. The error is a fault.Invalid and
// means that body is not such a webhook at all. Every Inbound has a ProviderID,
// a Number and at least one identity; SentAt is zero when the provider gave no
// time that can be read.
func Parse(body []byte) (Batch, error) {
	var envelope struct {
		Object str               `json:"object"`
		Entry  []json.RawMessage `json:"entry"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return Batch{}, fault.Wrap(err, fault.Invalid, "The webhook is not readable JSON.")
	}
	if envelope.Object != "" && envelope.Object != "whatsapp_business_account" || len(envelope.Entry) == 0 {
		return Batch{}, fault.E(fault.Invalid, "The webhook is not a WhatsApp webhook.")
	}
	var b Batch
	for _, raw := range envelope.Entry {
		var entry struct {
			Changes []json.RawMessage `json:"changes"`
		}
		if err := json.Unmarshal(raw, &entry); err != nil || len(entry.Changes) == 0 {
			b.skip("", "entry", "it has no readable changes")
			continue
		}
		for _, change := range entry.Changes {
			b.change(change)
		}
	}
	return b, nil
}

func (b *Batch) skip(number, field, reason string) {
	b.Skipped = append(b.Skipped, Skip{Number: number, Field: field, Reason: reason})
}

// profile is an element of value.contacts: who wrote.
type profile struct {
	WaID    str `json:"wa_id"`
	UserID  str `json:"user_id"`
	Profile struct {
		Name str `json:"name"`
	} `json:"profile"`
}

// change reads one element of entry[].changes.
func (b *Batch) change(raw json.RawMessage) {
	var c struct {
		Field str `json:"field"`
		Value struct {
			Metadata struct {
				Number str `json:"phone_number_id"`
			} `json:"metadata"`
			Contacts []json.RawMessage `json:"contacts"`
			Messages []json.RawMessage `json:"messages"`
			Statuses []json.RawMessage `json:"statuses"`
			Errors   []wireError       `json:"errors"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		b.skip("", "change", "it has an unexpected shape")
		return
	}
	number := string(c.Value.Metadata.Number)
	switch {
	case len(number) > maxID:
		b.skip("", "change", "its phone_number_id is too long")
		return
	case c.Field != "" && c.Field != "messages":
		b.skip(number, "change", fmt.Sprintf("field %q is not handled", cut(string(c.Field), maxName)))
		return
	case number == "":
		b.skip("", "change", "it has no phone_number_id")
		return
	}
	var people []profile
	for i, raw := range c.Value.Contacts {
		var p profile
		if err := json.Unmarshal(raw, &p); err != nil {
			b.skip(number, fmt.Sprintf("contacts[%d]", i), "it has an unexpected shape")
			continue
		}
		people = append(people, p)
	}
	for i, raw := range c.Value.Messages {
		in, reason := inbound(number, people, raw)
		if reason != "" {
			b.skip(number, fmt.Sprintf("messages[%d]", i), reason)
			continue
		}
		b.Messages = append(b.Messages, in)
	}
	for i, raw := range c.Value.Statuses {
		r, reason := receipt(number, raw)
		if reason != "" {
			b.skip(number, fmt.Sprintf("statuses[%d]", i), reason)
			continue
		}
		b.Receipts = append(b.Receipts, r)
	}
	for i, e := range c.Value.Errors {
		b.skip(number, fmt.Sprintf("errors[%d]", i), fmt.Sprintf("the provider reports error %d: %s", e.Code.int(), e.text()))
	}
}

// head is what every message carries, whatever its type.
type head struct {
	ID       str `json:"id"`
	From     str `json:"from"`
	FromUser str `json:"from_user_id"`
	Group    str `json:"group_id"`
	At       num `json:"timestamp"`
	Type     str `json:"type"`
}

// inbound reads one message, or says why it cannot.
func inbound(number string, people []profile, raw json.RawMessage) (message.Inbound, string) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return message.Inbound{}, "its head has an unexpected shape"
	}
	from, name := sender(h, people)
	switch {
	case h.ID == "" || len(h.ID) > maxID:
		return message.Inbound{}, "it has no usable id"
	case h.Group != "":
		return message.Inbound{}, "it was written in a group"
	case len(from) == 0:
		return message.Inbound{}, "it has no usable sender"
	}
	in := message.Inbound{
		Channel:    Name,
		Number:     number,
		ProviderID: string(h.ID),
		From:       from,
		Profile:    cut(name, maxName),
		SentAt:     h.At.time(),
	}
	if err := content(&in, string(h.Type), raw); err != nil {
		return message.Inbound{}, fmt.Sprintf("its content, type %q, has an unexpected shape", cut(string(h.Type), maxName))
	}
	return in, ""
}

// sender returns the identities and the profile name of who wrote. The webhook's
// contacts complete what the message says, where one of the two ids is equal;
// position proves nothing.
func sender(h head, people []profile) ([]contact.Identity, string) {
	phone, user := h.From, h.FromUser
	for _, p := range people {
		if (phone == "" || !samePhone(phone, p.WaID)) && (user == "" || user != p.UserID) {
			continue
		}
		if phone == "" {
			phone = p.WaID
		}
		if user == "" {
			user = p.UserID
		}
		return identities(phone, user), string(p.Profile.Name)
	}
	return identities(phone, user), ""
}

func samePhone(a, b str) bool {
	x, ok := e164(string(a))
	y, fine := e164(string(b))
	return ok && fine && x == y
}

// receipt reads one status, or says why it cannot.
func receipt(number string, raw json.RawMessage) (message.Receipt, string) {
	var s struct {
		ID     str         `json:"id"`
		Status str         `json:"status"`
		At     num         `json:"timestamp"`
		Opaque str         `json:"biz_opaque_callback_data"`
		Errors []wireError `json:"errors"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return message.Receipt{}, "it has an unexpected shape"
	}
	if s.ID == "" || len(s.ID) > maxID {
		return message.Receipt{}, "it has no usable id"
	}
	r := message.Receipt{
		Channel: Name, Number: number, ProviderID: string(s.ID),
		Opaque: cut(string(s.Opaque), maxID), At: s.At.time(),
	}
	switch s.Status {
	case "sent", "delivered", "read", "failed":
		r.Status = message.Status(s.Status)
	case "played": // a voice message was heard
		r.Status = message.StatusRead
	default:
		return message.Receipt{}, fmt.Sprintf("status %q is not known", cut(string(s.Status), maxName))
	}
	if len(s.Errors) > 0 {
		r.ErrorCode, r.ErrorText = s.Errors[0].Code.int(), s.Errors[0].text()
	}
	return r, ""
}
