package whatsapp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// maxDeliveries bounds how often one webhook is posted on request.
const maxDeliveries = 100

// How long the answer to an inbound request waits for the product's first
// answer. A forged webhook is posted for the sake of that answer.
const (
	patience       = 2 * time.Second
	forgedPatience = 10 * time.Second
)

// inbound is the body of POST /sim/whatsapp/inbound: what somebody writes, and
// how it is to be delivered. Exactly one kind of content is set; with an id
// that was used before and no content, that message is delivered again.
type inbound struct {
	From  string `json:"from"`
	BSUID string `json:"bsuid"`
	To    string `json:"to"`
	Name  string `json:"name"` // the WhatsApp profile
	ID    string `json:"id"`

	Text        *string          `json:"text"`
	Button      *Choice          `json:"button"`
	List        *Choice          `json:"list"`
	Media       *inboundMedia    `json:"media"`
	Contact     *inboundContact  `json:"contact"`
	Location    *inboundLocation `json:"location"`
	Reaction    *Reaction        `json:"reaction"`
	Edit        *inboundEdit     `json:"edit"`
	Revoke      *inboundRevoke   `json:"revoke"`
	Unsupported bool             `json:"unsupported"`
	Raw         map[string]any   `json:"raw"` // a message in the platform's own form
	ReplyTo     string           `json:"reply_to"`

	Deliveries int       `json:"deliveries"`
	DelayMS    int       `json:"delay_ms"`
	Signature  signature `json:"signature"`
}

type inboundMedia struct {
	Kind     string `json:"kind"`
	MIME     string `json:"mime"`
	Path     string `json:"path"`
	Base64   []byte `json:"base64"`
	Caption  string `json:"caption"`
	Filename string `json:"filename"`
	Voice    bool   `json:"voice"`
}

type inboundContact struct {
	Name   string   `json:"name"`
	Phone  string   `json:"phone"`
	Phones []string `json:"phones"`
}

type inboundLocation struct {
	Place
	Lat float64 `json:"lat"`
	Lng float64 `json:"lng"`
}

type inboundEdit struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type inboundRevoke struct {
	ID string `json:"id"`
}

// contents counts the kinds of content that are set.
func (in *inbound) contents() int {
	n := 0
	for _, set := range []bool{
		in.Text != nil, in.Button != nil, in.List != nil, in.Media != nil, in.Contact != nil, in.Location != nil,
		in.Reaction != nil, in.Edit != nil, in.Revoke != nil, in.Unsupported, in.Raw != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

func (in *inbound) check() error {
	in.From = face.Digits(in.From)
	if in.Deliveries == 0 {
		in.Deliveries = 1
	}
	switch {
	case in.From == "" && in.BSUID == "" && in.contents() > 0:
		return fault.E(fault.Invalid, `"from" (a phone) or "bsuid" is missing: who writes?`)
	case in.BSUID != "" && !validBSUID(in.BSUID):
		return fault.E(fault.Invalid, `"bsuid" must look like KE.1A2B3C: a country, a dot, letters and digits.`)
	case in.contents() == 0 && in.ID == "":
		return fault.E(fault.Invalid, `Nothing to send: give "text", "button", "list", "media", "contact", "location", "reaction", "edit" or "revoke".`)
	case in.contents() > 1:
		return fault.E(fault.Invalid, "One message has one kind of content.")
	case in.Deliveries < 1 || in.Deliveries > maxDeliveries:
		return fault.E(fault.Invalid, fmt.Sprintf(`"deliveries" must be from 1 to %d.`, maxDeliveries))
	case in.DelayMS < 0 || in.DelayMS > maxDelay:
		return fault.E(fault.Invalid, fmt.Sprintf(`"delay_ms" must be from 0 to %d.`, maxDelay))
	case in.Signature != signGood && in.Signature != signBad && in.Signature != signNone:
		return fault.E(fault.Invalid, `"signature" must be bad or none, or be left out.`)
	}
	return nil
}

// inboundAnswer tells the message's id and, when it came in time, the
// product's HTTP status for the first webhook.
type inboundAnswer struct {
	ID     string `json:"id"`
	Status int    `json:"status,omitempty"`
}

func (s *Simulator) faceInbound(w http.ResponseWriter, r *http.Request) (any, error) {
	var in inbound
	if err := face.Read(w, r, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	hook, err := s.compose(&in)
	if err != nil {
		return nil, err
	}
	wait := patience
	if in.Signature != signGood {
		wait = forgedPatience
	}
	if in.DelayMS > 0 {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	return inboundAnswer{ID: hook.id, Status: s.deliver(ctx, hook, &in)}, nil
}

// addressed finds the number a message is written to. A number nobody set up
// is played by the first one's provider, so that the product meets a number it
// does not know.
func (s *Simulator) addressed(to string) (Number, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.numbers) == 0 {
		return Number{}, fault.E(fault.Conflict, "No business number is set up here yet.")
	}
	if n, ok := s.numberBy(to); ok {
		return n, nil
	}
	digits := face.Digits(to)
	if digits == "" {
		if to == "" && len(s.numbers) == 1 {
			return s.numbers[0], nil
		}
		return Number{}, fault.E(fault.Invalid, `"to" is missing: the business's number, by phone or by id.`)
	}
	stranger := s.numbers[0]
	stranger.PhoneNumberID, stranger.DisplayPhone = digits, digits
	return stranger, nil
}

// webhook is an inbound message ready to be posted.
type webhook struct {
	number Number
	id     string
	body   []byte
}

// compose makes the webhook of in, and takes note of the message unless its
// signature is to be wrong: such a message never existed.
func (s *Simulator) compose(in *inbound) (webhook, error) {
	if in.contents() == 0 {
		return s.again(in.ID)
	}
	n, err := s.addressed(in.To)
	if err != nil {
		return webhook{}, err
	}
	file, err := s.takeMedia(in.Media)
	if err != nil {
		return webhook{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.writer(in)
	id := cmp.Or(in.ID, newMessageID(cmp.Or(in.From, p.bsuid), fromUser))
	d := s.draft(in, n, p, id)
	d.write(in, file)
	hook := webhook{number: n, id: id, body: envelope(n, map[string]any{
		"contacts": []any{contactOf(in, p)}, "messages": []any{d.form},
	})}
	if in.Signature != signGood {
		return hook, nil
	}
	if s.sent[id] != nil {
		return hook, nil // A provider repeating itself: nobody wrote anything new.
	}
	d.note.hook = hook
	p.sent = append(p.sent, d.note)
	s.sent[id] = d.note
	if in.Edit == nil && in.Revoke == nil {
		p.wrote[n.PhoneNumberID] = d.note.At
	}
	return hook, nil
}

// again returns the webhook of a message that was sent before.
func (s *Simulator) again(id string) (webhook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.sent[id]
	if m == nil {
		return webhook{}, fault.E(fault.NotFound, "No message with that id was sent before.")
	}
	hook := m.hook
	if current, ok := s.numberBy(m.Number); ok {
		hook.number = current // The product may have moved since.
	}
	return hook, nil
}

// writer is the person who writes. Callers hold mu.
func (s *Simulator) writer(in *inbound) *person {
	if in.Signature != signGood {
		return &person{phone: in.From, bsuid: in.BSUID, name: in.Name}
	}
	if s.userIDs && in.BSUID == "" {
		if p := s.people.find(in.From, ""); p == nil || p.bsuid == "" {
			in.BSUID = scopedID(in.From)
		}
	}
	p := s.people.get(in.From, in.BSUID)
	if in.Name != "" {
		p.name = in.Name
	}
	return p
}

// contactOf is the webhook's contacts element. The phone is there only when
// the person wrote with it: a user name hides it.
func contactOf(in *inbound, p *person) map[string]any {
	contact := map[string]any{"profile": map[string]any{"name": p.profile()}}
	if in.From != "" {
		contact["wa_id"] = in.From
	}
	if p.bsuid != "" {
		contact["user_id"] = p.bsuid
	}
	return contact
}

// deliver posts the webhook as often as in says and waits until ctx ends for
// the product's first answer, 0 if none came. A genuine webhook that was never
// answered 200 is repeated until it is.
func (s *Simulator) deliver(ctx context.Context, hook webhook, in *inbound) int {
	first := make(chan int, 1)
	letter := s.letter(hook.number, hook.body, in.Signature)
	entry := journal.Entry{
		Kind: journal.InboundPosted, ID: hook.id, Number: hook.number.PhoneNumberID, Phone: in.From, BSUID: in.BSUID,
	}
	note := func(a courier.Answer) {
		e := entry
		e.HTTPStatus, e.Attempt, e.Error = a.Status, a.Attempt, a.Reason()
		s.journal.Add(e)
		s.noteStatus(hook.id, a.Status)
		select {
		case first <- a.Status:
		default:
		}
	}
	deliveries, pause, forged := in.Deliveries, time.Duration(in.DelayMS)*time.Millisecond, in.Signature != signGood
	s.courier.Go(func(ctx context.Context) {
		if !courier.Pause(ctx, pause) {
			return
		}
		acknowledged := false
		for range deliveries - 1 {
			a := s.courier.Post(ctx, letter)
			note(a)
			acknowledged = acknowledged || a.Status == http.StatusOK
		}
		if forged || acknowledged {
			note(s.courier.Post(ctx, letter))
			return
		}
		s.courier.PostUntilOK(ctx, letter, note)
	})
	select {
	case status := <-first:
		return status
	case <-ctx.Done():
		return 0
	}
}

func (s *Simulator) noteStatus(id string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.sent[id]; m != nil {
		m.Status = status
	}
}
