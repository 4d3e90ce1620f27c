package slack_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/notify/slack"
)

// reply is a server that always answers the same.
func reply(t *testing.T, status int, header http.Header, body string) *slack.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer xoxb-1" {
			t.Errorf("the token is sent as %q", r.Header.Get("Authorization"))
		}
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return slack.New(slack.Config{BaseURL: s.URL + "/api/", Token: "xoxb-1", Timeout: 5 * time.Second})
}

func TestWhatFollowsFromSlacksAnswers(t *testing.T) {
	t.Parallel()
	wait := http.Header{"Retry-After": {"7"}}
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		want   channel.Class
		update channel.Class // of an update, which may be repeated
	}{
		"taken":                      {200, nil, `{"ok":true,"channel":"C1","ts":"1.5"}`, "", ""},
		"too much":                   {429, wait, ``, channel.Rate, channel.Rate},
		"too much, said differently": {200, wait, `{"ok":false,"error":"ratelimited"}`, channel.Rate, channel.Rate},
		"a wrong token":              {200, nil, `{"ok":false,"error":"invalid_auth"}`, channel.Auth, channel.Auth},
		"a missing permission":       {200, nil, `{"ok":false,"error":"missing_scope"}`, channel.Auth, channel.Auth},
		"no such channel":            {200, nil, `{"ok":false,"error":"channel_not_found"}`, channel.Permanent, channel.Permanent},
		"an error of tomorrow":       {200, nil, `{"ok":false,"error":"something_new"}`, channel.Permanent, channel.Permanent},
		"our own fault":              {200, nil, `{"ok":false,"error":"invalid_blocks"}`, channel.Defect, channel.Defect},
		"away":                       {200, nil, `{"ok":false,"error":"service_unavailable"}`, channel.Transient, channel.Transient},
		"half done":                  {200, nil, `{"ok":false,"error":"fatal_error"}`, channel.Unknown, channel.Transient},
		"in trouble":                 {500, nil, `oops`, channel.Unknown, channel.Transient},
		"a page":                     {200, nil, `<html>`, channel.Unknown, channel.Transient},
		"elsewhere":                  {302, http.Header{"Location": {"http://127.0.0.1:1/"}}, ``, channel.Permanent, channel.Permanent},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := reply(t, tt.status, tt.header, tt.body)
			at, err := c.Post(t.Context(), "#escalations", slack.Message{Text: "hello"})
			if channel.ClassOf(err) != tt.want || err == nil && at != (llm.Place{Channel: "C1", Message: "1.5"}) {
				t.Errorf("Post = %v, %v; want class %q", at, err, tt.want)
			}
			if e, ok := errors.AsType[*channel.Error](err); ok && tt.want == channel.Rate && e.RetryAfter != 7*time.Second {
				t.Errorf("wait %v, want Slack's 7 s", e.RetryAfter)
			}
			if err := c.Update(t.Context(), at, slack.Message{Text: "hello"}); channel.ClassOf(err) != tt.update {
				t.Errorf("Update: %v, want class %q", err, tt.update)
			}
		})
	}
	t.Run("nothing named", func(t *testing.T) {
		t.Parallel()
		if _, err := reply(t, 200, nil, `{"ok":true}`).Post(t.Context(), "C1", slack.Message{}); channel.ClassOf(err) != channel.Unknown {
			t.Errorf("got %v, want that it may have arrived", err)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		c := slack.New(slack.Config{BaseURL: "http://127.0.0.1:1", Token: "xoxb-secret"})
		_, err := c.Post(t.Context(), "C1", slack.Message{})
		if channel.ClassOf(err) != channel.Transient || strings.Contains(err.Error(), "xoxb") || strings.Contains(err.Error(), "127.0.0.1:1/") {
			t.Errorf("got %v, want that it was not reached, without address and token", err)
		}
	})
	t.Run("the answer is lost", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		defer s.Close()
		_, err := slack.New(slack.Config{BaseURL: s.URL}).Post(t.Context(), "C1", slack.Message{})
		if channel.ClassOf(err) != channel.Unknown {
			t.Errorf("got %v, want that it may have arrived", err)
		}
	})
}

func TestAnErrorsNameIsNotBelieved(t *testing.T) {
	t.Parallel()
	_, err := reply(t, 200, nil, `{"ok":false,"error":"<script>\n`+strings.Repeat("x", 500)+`"}`).Post(t.Context(), "C1", slack.Message{})
	if err == nil || strings.Contains(err.Error(), "script") || len(err.Error()) > 200 {
		t.Errorf("got %v, want an error without a name", err)
	}
}

func TestWhatIsPosted(t *testing.T) {
	t.Parallel()
	var got struct {
		Channel, Text string
		Blocks        []slack.Block
		Links         *bool `json:"unfurl_links"`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.Path != "/api/chat.postMessage" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		_, _ = io.WriteString(w, `{"ok":true,"channel":"C1","ts":"1.5"}`)
	}))
	defer s.Close()
	_, err := slack.New(slack.Config{BaseURL: s.URL + "/api"}).Post(t.Context(), "#e", slack.Message{Text: "hello", Blocks: []slack.Block{{Type: "header"}}})
	if err != nil || got.Channel != "#e" || got.Text != "hello" || len(got.Blocks) != 1 || got.Links == nil || *got.Links {
		t.Errorf("posted %+v, %v", got, err)
	}
}
