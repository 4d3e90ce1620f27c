package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

const (
	teamID = "T0RATIBA"
	// old is how far back an old signature is dated.
	old = 10 * time.Minute
	// patience is Slack's: how long an interaction may take to be answered.
	patience = 3 * time.Second

	maxDeliveries = 50
	maxTimes      = 1000
	maxRetryAfter = 3600
	attempts      = 3
)

// programmed is what POST /sim/slack/next asks for: how the next calls fail.
type programmed struct {
	Method     string `json:"method"` // such as chat.postMessage; any when empty
	Fault      string `json:"fault"`  // 429, 500, 503, lost, or an error's name such as invalid_auth
	Times      int    `json:"times"`
	RetryAfter int    `json:"retry_after"` // seconds, of a 429
}

func (s *Simulator) faceNext(w http.ResponseWriter, r *http.Request) (any, error) {
	var p programmed
	if err := face.Read(w, r, &p); err != nil {
		return nil, err
	}
	if p.Times == 0 {
		p.Times = 1
	}
	if p.Fault == "" || p.Times < 0 || p.Times > maxTimes || p.RetryAfter < 0 || p.RetryAfter > maxRetryAfter {
		return nil, fault.E(fault.Invalid, fmt.Sprintf(`Want "fault" (429, 500, 503, lost or an error's name), "times" from 1 to %d and "retry_after" from 0 to %d.`, maxTimes, maxRetryAfter))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.programs = append(s.programs, &p)
	return map[string]bool{"ok": true}, nil
}

// next takes what is programmed for a call, nothing when it goes well.
func (s *Simulator) next(method string) programmed {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.programs, func(p *programmed) bool { return p.Method == "" || p.Method == method })
	if at < 0 {
		return programmed{}
	}
	p := s.programs[at]
	if p.Times--; p.Times == 0 {
		s.programs = slices.Delete(s.programs, at, at+1)
	}
	return *p
}

// faceMessages lists messages as they stand, those changed after a sequence
// number, and waits for one.
func (s *Simulator) faceMessages(_ http.ResponseWriter, r *http.Request) (any, error) {
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
		found, changed := s.since(after, r.URL.Query().Get("channel"))
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

func (s *Simulator) since(after int64, channel string) ([]posted, <-chan struct{}) {
	id, _ := s.channel(channel)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []posted{}
	for _, m := range s.messages {
		if m.Seq > after && (channel == "" || m.Channel == id) {
			out = append(out, *m)
		}
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return out, s.changed
}

// tapped is what POST /sim/slack/tap asks for.
type tapped struct {
	TS         string `json:"ts"`     // of the message; the newest with buttons when empty
	Button     string `json:"button"` // its action_id or its label
	User       string `json:"user"`   // an id; U0KAMAU when empty
	Name       string `json:"name"`
	ActionTS   string `json:"action_ts"` // to tap the same again
	Deliveries int    `json:"deliveries"`
	Signature  string `json:"signature"` // "bad", "none" or "old"
	Value      string `json:"value"`     // in place of the button's own
}

// faceTap taps a button: the signed interaction goes to the product. It answers
// with the product's answer.
func (s *Simulator) faceTap(w http.ResponseWriter, r *http.Request) (any, error) {
	var t tapped
	if err := face.Read(w, r, &t); err != nil {
		return nil, err
	}
	if t.User == "" {
		t.User, t.Name = "U0KAMAU", "kamau"
	}
	if t.Deliveries == 0 {
		t.Deliveries = 1
	}
	if t.Deliveries < 1 || t.Deliveries > maxDeliveries {
		return nil, fault.E(fault.Invalid, fmt.Sprintf(`"deliveries" must be from 1 to %d.`, maxDeliveries))
	}
	body, at, err := s.interaction(&t)
	if err != nil {
		return nil, err
	}
	letter := s.sign(body, t.Signature)
	var last courier.Answer
	for range t.Deliveries {
		last = s.deliver(r.Context(), letter, at, t.Signature == "")
	}
	return map[string]any{"status": last.Status, "error": last.Reason(), "action_ts": t.ActionTS, "ts": at}, nil
}

// interaction is the form that Slack posts.
func (s *Simulator) interaction(t *tapped) (body []byte, ts string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.messages) {
		if t.TS != "" && m.TS != t.TS {
			continue
		}
		block, b := find(m, t.Button)
		if b == nil {
			continue
		}
		if t.ActionTS == "" {
			at := max(s.cfg.Clock.Now().UnixMicro(), s.lastTS+1)
			s.lastTS = at
			t.ActionTS = fmt.Sprintf("%d.%06d", at/1e6, at%1e6)
		}
		action := map[string]any{
			"type": "button", "action_id": b["action_id"], "block_id": block, "text": b["text"], "value": b["value"], "action_ts": t.ActionTS,
		}
		if t.Value != "" {
			action["value"] = t.Value
		}
		payload, err := json.Marshal(map[string]any{
			"type": "block_actions", "api_app_id": "A0RATIBA", "token": "deprecated", "trigger_id": "1." + t.ActionTS,
			"user": map[string]string{"id": t.User, "username": t.Name, "name": t.Name, "team_id": teamID},
			"team": map[string]string{"id": teamID, "domain": "ratiba"}, "channel": map[string]string{"id": m.Channel, "name": m.Name},
			"container": map[string]any{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": false},
			"message":   wire(m), "state": map[string]any{"values": map[string]any{}}, "response_url": "https://hooks.slack.com/actions/" + teamID + "/1/x",
			"actions": []any{action},
		})
		if err != nil {
			return nil, "", fmt.Errorf("write interaction: %w", err)
		}
		return []byte(url.Values{"payload": {string(payload)}}.Encode()), m.TS, nil
	}
	return nil, "", fault.E(fault.NotFound, "No message has such a button.")
}

// find returns the button with that action_id or label, the first when "".
func find(m *posted, named string) (block any, found map[string]any) {
	for _, b := range withIDs(m.Blocks) {
		elements, _ := b["elements"].([]any)
		for _, e := range elements {
			e, _ := e.(map[string]any)
			label, _ := e["text"].(map[string]any)
			if e["type"] == "button" && (named == "" || e["action_id"] == named || label["text"] == named) {
				return b["block_id"], e
			}
		}
	}
	return nil, nil
}

// sign makes a letter of a body: signed, unless it is asked otherwise.
func (s *Simulator) sign(body []byte, how string) courier.Letter {
	at := s.cfg.Clock.Now()
	if how == "old" {
		at = at.Add(-old)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Slack-Request-Timestamp": {stamp}}
	if how != "none" {
		secret := s.cfg.App.SigningSecret
		if how == "bad" {
			secret += "?"
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("v0:" + stamp + ":"))
		mac.Write(body)
		h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	}
	return courier.Letter{URL: s.cfg.App.URL, Header: h, Body: body}
}

// deliver posts an interaction, again if it is to be repeated and is not
// answered 200 in time.
func (s *Simulator) deliver(ctx context.Context, l courier.Letter, ts string, repeat bool) (a courier.Answer) {
	for n := 1; ; n++ {
		within, cancel := context.WithTimeout(ctx, patience)
		a = s.cfg.Courier.Post(within, l)
		cancel()
		a.Attempt = n
		s.cfg.Journal.Add(journal.Entry{Kind: journal.TapPosted, ID: ts, HTTPStatus: a.Status, Attempt: n, Error: a.Reason()})
		if a.Status == http.StatusOK || !repeat || n == attempts || !courier.Pause(ctx, s.cfg.Backoff<<(n-1)) {
			return a
		}
	}
}
