package whatsapp

import (
	"context"
	"net/http"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

// identity reads who the caller asks about.
func identity(r *http.Request) (phone, bsuid string, err error) {
	query := r.URL.Query()
	phone, bsuid = face.Digits(query.Get("phone")), query.Get("bsuid")
	if phone == "" && bsuid == "" {
		return "", "", fault.E(fault.Invalid, `"phone" or "bsuid" is missing. A plus sign in an address is written %2B, or left out.`)
	}
	return phone, bsuid, nil
}

// faceMessages serves what a phone has received, oldest first. With "wait" it
// holds the answer until there is something.
func (s *Simulator) faceMessages(_ http.ResponseWriter, r *http.Request) (any, error) {
	phone, bsuid, err := identity(r)
	if err != nil {
		return nil, err
	}
	after, err := face.After(r)
	if err != nil {
		return nil, err
	}
	wait, err := face.Wait(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		found, changed := s.inbox(phone, bsuid, r.URL.Query().Get("number"), after)
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, nil
		}
	}
}

func (s *Simulator) inbox(phone, bsuid, number string, after int64) ([]Received, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []Received{}
	if p := s.people.find(phone, bsuid); p != nil {
		for _, m := range p.received {
			if m.Seq > after && (number == "" || s.isNumber(m, number)) {
				found = append(found, *m)
			}
		}
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return found, s.changed
}

// isNumber reports whether m came from the number ref names. Callers hold mu.
func (s *Simulator) isNumber(m *Received, ref string) bool {
	n, ok := s.numberBy(ref)
	return m.Number == ref || ok && m.Number == n.PhoneNumberID
}

// state is what a phone shows beside its messages: GET /sim/whatsapp/state.
type state struct {
	Phone       string     `json:"phone,omitempty"`
	BSUID       string     `json:"bsuid,omitempty"`
	Name        string     `json:"name"`
	TypingUntil *time.Time `json:"typing_until"` // null: the business is not typing
	WindowUntil *time.Time `json:"window_until"` // null: it may send templates only
	Read        []string   `json:"read"`         // own messages the business has read
	Sent        []Sent     `json:"sent"`         // own messages, oldest first
}

func (s *Simulator) faceState(_ http.ResponseWriter, r *http.Request) (any, error) {
	phone, bsuid, err := identity(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := state{Phone: withPlus(phone), BSUID: bsuid, Read: []string{}, Sent: []Sent{}}
	p := s.people.find(phone, bsuid)
	if p == nil {
		return out, nil
	}
	out.Phone, out.BSUID, out.Name = withPlus(p.phone), p.bsuid, p.profile()
	number := r.URL.Query().Get("number")
	if n, ok := s.numberBy(number); ok {
		number = n.PhoneNumberID
	}
	for _, m := range p.sent {
		if number != "" && m.Number != number {
			continue
		}
		out.Sent = append(out.Sent, *m)
		if m.Read {
			out.Read = append(out.Read, m.ID)
		}
	}
	now := s.clock.Now()
	out.TypingUntil = latest(p.typing, number, 0, now)
	out.WindowUntil = latest(p.wrote, number, window, now)
	return out, nil
}

// latest returns the latest of at plus life that is still ahead of now, for
// one number or, when number is empty, for all.
func latest(at map[string]time.Time, number string, life time.Duration, now time.Time) *time.Time {
	var out *time.Time
	for key, t := range at {
		until := t.Add(life)
		if (number == "" || key == number) && until.After(now) && (out == nil || until.After(*out)) {
			out = &until
		}
	}
	return out
}

func withPlus(phone string) string {
	if phone == "" {
		return ""
	}
	return "+" + phone
}

// phone is somebody who has appeared here: GET /sim/whatsapp/phones.
type phone struct {
	Phone string `json:"phone,omitempty"`
	BSUID string `json:"bsuid,omitempty"`
	Name  string `json:"name"`
}

func (s *Simulator) facePhones(http.ResponseWriter, *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []phone{}
	for _, p := range s.people.all {
		out = append(out, phone{Phone: withPlus(p.phone), BSUID: p.bsuid, Name: p.profile()})
	}
	return out, nil
}
