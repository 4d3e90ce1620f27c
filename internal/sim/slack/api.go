package slack

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// maxRequest bounds a request's body, in bytes.
const maxRequest = 1 << 20

// maxText is the most characters of a message's text.
const maxText = 40_000

// request is a call of the Web API.
type request struct {
	Channel string           `json:"channel"`
	TS      string           `json:"ts"`
	User    string           `json:"user"`
	Text    string           `json:"text"`
	Blocks  []map[string]any `json:"blocks"`
}

// method adapts a method of the Web API, which answers with a value or an
// error's name.
func (s *Simulator) method(call func(r request) (any, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/slack/api/")
		refuse := func(code string) {
			s.cfg.Journal.Add(journal.Entry{Kind: journal.CardRefused, Type: name, Code: code})
			face.Write(w, http.StatusOK, map[string]any{"ok": false, "error": code})
		}
		f := s.next(name)
		switch f.Fault {
		case "", "lost":
		case "429":
			w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
			s.cfg.Journal.Add(journal.Entry{Kind: journal.CardRefused, Type: name, Code: f.Fault})
			face.Write(w, http.StatusTooManyRequests, map[string]any{"ok": false, "error": "ratelimited"})
			return
		case "500", "503":
			status, _ := strconv.Atoi(f.Fault)
			s.cfg.Journal.Add(journal.Entry{Kind: journal.CardRefused, Type: name, Code: f.Fault})
			http.Error(w, "upstream connect error", status)
			return
		default:
			refuse(f.Fault)
			return
		}
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if given == "" {
			refuse("not_authed")
			return
		}
		if !same(given, s.cfg.App.Token) {
			refuse("invalid_auth")
			return
		}
		var req request
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil || len(raw) > 0 && json.Unmarshal(raw, &req) != nil {
			refuse("invalid_json")
			return
		}
		out, code := call(req)
		switch {
		case code != "":
			refuse(code)
		case f.Fault == "lost":
			face.HangUp(w)
		default:
			face.Write(w, http.StatusOK, out)
		}
	}
}

// same compares tokens in a time that tells nothing.
func same(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

func (s *Simulator) authTest(request) (any, string) {
	return map[string]any{
		"ok": true, "url": "https://ratiba.slack.com/", "team": "Ratiba", "user": "ratiba", "team_id": teamID, "user_id": "U0RATIBA", "bot_id": "B0RATIBA",
	}, ""
}

func (s *Simulator) postMessage(r request) (any, string) {
	id, name := s.channel(r.Channel)
	if id == "" {
		return nil, "channel_not_found"
	}
	if code := check(r); code != "" {
		return nil, code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &posted{Channel: id, Name: name, Text: r.Text, Blocks: r.Blocks}
	s.add(m)
	s.cfg.Journal.Add(journal.Entry{Kind: journal.CardPosted, ID: m.TS, Number: id, Text: r.Text})
	return map[string]any{"ok": true, "channel": id, "ts": m.TS, "message": wire(m)}, ""
}

func (s *Simulator) update(r request) (any, string) {
	id, _ := s.channel(r.Channel)
	if id == "" {
		return nil, "channel_not_found"
	}
	if code := check(r); code != "" {
		return nil, code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.message(id, r.TS)
	if m == nil {
		return nil, "message_not_found"
	}
	m.Text, m.Blocks, m.Edited = r.Text, r.Blocks, true
	s.touch(m)
	s.cfg.Journal.Add(journal.Entry{Kind: journal.CardUpdated, ID: m.TS, Number: id, Text: r.Text})
	return map[string]any{"ok": true, "channel": id, "ts": m.TS, "text": m.Text, "message": wire(m)}, ""
}

func (s *Simulator) postEphemeral(r request) (any, string) {
	id, name := s.channel(r.Channel)
	switch {
	case id == "":
		return nil, "channel_not_found"
	case r.User == "":
		return nil, "user_not_in_channel"
	}
	if code := check(r); code != "" {
		return nil, code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &posted{Channel: id, Name: name, Text: r.Text, Blocks: r.Blocks, To: r.User}
	s.add(m)
	s.cfg.Journal.Add(journal.Entry{Kind: journal.Whispered, ID: m.TS, Number: id, Phone: r.User, Text: r.Text})
	return map[string]any{"ok": true, "message_ts": m.TS}, ""
}

// wire is a message as Slack shows it to apps.
func wire(m *posted) map[string]any {
	out := map[string]any{"type": "message", "user": "U0RATIBA", "bot_id": "B0RATIBA", "team": teamID, "ts": m.TS, "text": m.Text, "blocks": withIDs(m.Blocks)}
	if m.Edited {
		out["edited"] = map[string]string{"user": "B0RATIBA", "ts": m.TS}
	}
	return out
}

// withIDs names the blocks that nobody named, as Slack does.
func withIDs(blocks []map[string]any) []map[string]any {
	out := make([]map[string]any, len(blocks))
	for i, b := range blocks {
		out[i] = maps.Clone(b)
		if out[i]["block_id"] == nil {
			out[i]["block_id"] = "b" + strconv.Itoa(i)
		}
	}
	return out
}
