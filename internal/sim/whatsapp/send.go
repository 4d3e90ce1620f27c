package whatsapp

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// typingTime is how long a typing indicator shows unless a message comes first.
const typingTime = 25 * time.Second

// Sent is a message somebody wrote to a business, as GET /sim/whatsapp/state
// tells it.
type Sent struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"` // by the product's clock
	To     string    `json:"to"` // the business's display phone
	Number string    `json:"number"`
	Type   string    `json:"type"`
	Text   string    `json:"text,omitempty"`
	Status int       `json:"status,omitempty"` // the product's latest HTTP answer to the webhook
	Read   bool      `json:"read"`             // the business marked it as read

	by   *person
	hook webhook // to deliver it again
}

// graphNumber authorises a Graph API call that names a number.
func (s *Simulator) graphNumber(r *http.Request, id string) (Number, *apiError) {
	token := bearer(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := false
	for _, n := range s.numbers {
		if n.Provider != Meta || n.AccessToken == "" || n.AccessToken != token {
			continue
		}
		known = true
		if n.PhoneNumberID == id {
			return n, nil
		}
	}
	if !known {
		return Number{}, coded(190, "")
	}
	return Number{}, noSuchObject(id)
}

// dialogNumber authorises a 360dialog call: the key is the number.
func (s *Simulator) dialogNumber(r *http.Request) (Number, bool) {
	key := r.Header.Get("D360-API-KEY")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.numbers {
		if n.Provider == Dialog360 && key != "" && n.AccessToken == key {
			return n, true
		}
	}
	return Number{}, false
}

func bearer(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

func refuseKey(w http.ResponseWriter) {
	face.Write(w, http.StatusUnauthorized, map[string]any{
		"meta": map[string]any{
			"success": false, "http_code": http.StatusUnauthorized,
			"developer_message": "Invalid or missing D360-API-KEY",
		},
	})
}

func (s *Simulator) graphSend(w http.ResponseWriter, r *http.Request) {
	n, e := s.graphNumber(r, r.PathValue("id"))
	if e != nil {
		s.journal.Add(journal.Entry{Kind: journal.SendRefused, Number: r.PathValue("id"), Code: code(e.code)})
		refuse(w, e)
		return
	}
	s.send(w, r, n)
}

func (s *Simulator) dialogSend(w http.ResponseWriter, r *http.Request) {
	n, ok := s.dialogNumber(r)
	if !ok {
		s.journal.Add(journal.Entry{Kind: journal.SendRefused, Code: code(http.StatusUnauthorized)})
		refuseKey(w)
		return
	}
	s.send(w, r, n)
}

// send serves POST /messages for a number.
func (s *Simulator) send(w http.ResponseWriter, r *http.Request, n Number) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, sendLimit))
	if err != nil {
		refuse(w, misshaped("The request body is too large or could not be read."))
		return
	}
	req, e := parseSend(raw)
	if e != nil {
		s.refused(n, &sendRequest{}, e)
		refuse(w, e)
		return
	}
	if req.Status != "" {
		s.markRead(w, n, req)
		return
	}
	if e := req.validate(); e != nil {
		s.refused(n, req, e)
		refuse(w, e)
		return
	}
	done, e := s.accept(n, req)
	if done.fail != nil {
		courier.Pause(r.Context(), time.Duration(done.fail.DelayMS)*time.Millisecond)
	}
	if e != nil {
		s.refused(n, req, e)
		refuse(w, e)
		return
	}
	s.report(done)
	if done.fail != nil && done.fail.Mode == modeLost {
		face.HangUp(w)
		return
	}
	face.Write(w, http.StatusOK, done.answer)
}

func (s *Simulator) refused(n Number, req *sendRequest, e *apiError) {
	s.journal.Add(journal.Entry{
		Kind: journal.SendRefused, Number: n.PhoneNumberID, Phone: face.Digits(req.To), BSUID: req.Recipient,
		Type: req.Type, Opaque: req.Opaque, Code: code(e.code),
	})
}

// accepted is a send the platform took: what it answers, and what it reports
// afterwards.
type accepted struct {
	number Number
	phone  string // recipient_id; empty when it was sent to the BSUID
	bsuid  string
	id     string
	opaque string
	typ    string
	answer map[string]any
	failed *apiError // reported as a failed status instead of a delivery
	fail   *failure  // the program that was used up, if any
	plan   *statusPlan
	shown  *Received
}

// accept applies the rules that depend on the recipient, and puts the message
// on the phone. On a refusal the result still names the program used up.
func (s *Simulator) accept(n Number, req *sendRequest) (*accepted, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	phone := face.Digits(req.To)
	if phone != "" && phone == face.Digits(n.DisplayPhone) {
		return &accepted{}, coded(131021, "")
	}
	bsuid := req.Recipient
	if phone != "" {
		bsuid = "" // The phone wins, and naming both joins nobody.
	}
	p := s.people.get(phone, bsuid)
	a := &accepted{number: n, phone: phone, bsuid: p.bsuid, opaque: req.Opaque, typ: req.Type}
	if e := s.spend(n, p); e != nil {
		return a, e
	}
	a.fail = s.takeFailure(p)
	if a.fail != nil && a.fail.Code != 0 {
		e := coded(a.fail.Code, "")
		if a.fail.Mode != modeStatus {
			return a, e
		}
		a.failed = e
	}
	shown, e := s.shown(n, p, req, a)
	if e != nil {
		return a, e
	}
	a.id = newMessageID(cmp.Or(phone, p.bsuid), fromBusiness)
	a.answer = answerFor(req, p, a.id)
	s.journal.Add(journal.Entry{
		Kind: journal.SendAccepted, ID: a.id, Number: n.PhoneNumberID, Phone: p.phone, BSUID: p.bsuid,
		Type: shown.Type, Text: shown.Text, Opaque: req.Opaque,
	})
	if a.failed == nil {
		s.show(n, p, shown, a.id)
		shown.via = a
		a.shown, a.plan = shown, s.takePlan(p)
	}
	return a, nil
}

// shown is the message as the phone will show it, refused where template or
// window forbid it. Callers hold mu.
func (s *Simulator) shown(n Number, p *person, req *sendRequest, a *accepted) (*Received, *apiError) {
	if req.Type == "template" {
		return s.fill(req.Template)
	}
	if part := req.mediaPart(); part != nil && part.ID != "" && !s.mediaAlive(part.ID) {
		return nil, coded(131053, "The media id is unknown or has expired.")
	}
	if !p.windowOpen(n.PhoneNumberID, s.clock.Now()) && a.failed == nil {
		e := coded(131047, "")
		if s.windowMode == WindowHTTP {
			return nil, e
		}
		a.failed = e
	}
	return req.render(), nil
}

// show puts m on the phone. Callers hold mu.
func (s *Simulator) show(n Number, p *person, m *Received, id string) {
	s.seq++
	m.Seq, m.ID, m.At = s.seq, id, s.clock.Now()
	m.From, m.Number = "+"+face.Digits(n.DisplayPhone), n.PhoneNumberID
	p.received = append(p.received, m)
	s.received[id] = m
	delete(p.typing, n.PhoneNumberID)
	s.wake()
}

func answerFor(req *sendRequest, p *person, id string) map[string]any {
	contact := map[string]any{"input": req.To, "wa_id": p.phone}
	if req.To == "" {
		contact = map[string]any{"input": req.Recipient, "user_id": req.Recipient}
	}
	message := map[string]any{"id": id}
	if req.Type == "template" || req.To == "" {
		message["message_status"] = "accepted"
	}
	return map[string]any{
		"messaging_product": "whatsapp",
		"contacts":          []any{contact},
		"messages":          []any{message},
	}
}

// markRead serves the read receipt and the typing indicator.
func (s *Simulator) markRead(w http.ResponseWriter, n Number, req *sendRequest) {
	switch {
	case req.Product != "whatsapp":
		refuse(w, misshaped("The parameter messaging_product is required."))
		return
	case req.Status != "read":
		refuse(w, misshaped("Param status must be read."))
		return
	case req.Typing != nil && req.Typing.Type != "text":
		refuse(w, misshaped("Param typing_indicator['type'] must be text."))
		return
	}
	s.mu.Lock()
	m := s.sent[req.MessageID]
	if m == nil || m.Number != n.PhoneNumberID {
		s.mu.Unlock()
		refuse(w, misshaped("Invalid parameter: no message with id %q.", req.MessageID))
		return
	}
	m.Read = true
	for _, earlier := range m.by.sent {
		// Marking a message as read marks those before it, too.
		if earlier.Number == m.Number && !earlier.At.After(m.At) {
			earlier.Read = true
		}
	}
	if req.Typing != nil {
		m.by.typing[n.PhoneNumberID] = s.clock.Now().Add(typingTime)
	}
	phone := m.by.phone
	s.mu.Unlock()
	s.journal.Add(journal.Entry{Kind: journal.MarkedRead, ID: req.MessageID, Number: n.PhoneNumberID, Phone: phone})
	face.Write(w, http.StatusOK, map[string]any{"success": true})
}

// report starts the statuses of an accepted send.
func (s *Simulator) report(a *accepted) {
	s.courier.Go(func(ctx context.Context) { s.runStatuses(ctx, a) })
}
