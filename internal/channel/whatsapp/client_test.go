package whatsapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
)

// provider is a small fake that records requests and answers by script.
type provider struct {
	*httptest.Server
	client *whatsapp.Client

	mu     sync.Mutex
	calls  int
	path   string
	header http.Header
	raw    []byte
	body   map[string]any
	answer http.HandlerFunc
}

const taken = `{"messaging_product":"whatsapp","contacts":[{"input":"x"}],"messages":[{"id":"wamid.NEW","message_status":"accepted"}]}`

func newProvider(t *testing.T, cfg whatsapp.Config) *provider {
	t.Helper()
	p := &provider{answer: says(200, "", taken)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.calls, p.path, p.header, p.raw, p.body = p.calls+1, r.URL.Path, r.Header, raw, nil
		_ = json.Unmarshal(raw, &p.body)
		answer := p.answer
		p.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	cfg.HTTPClient = p.Client()
	p.client = whatsapp.New(cfg)
	return p
}

// count returns how many requests came.
func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func says(status int, retry, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retry != "" {
			w.Header().Set("Retry-After", retry)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (p *provider) meta() channel.Account {
	return channel.Account{Provider: channel.Meta, Number: number, BaseURL: p.URL + "/graph/", Token: "tok"}
}

func (p *provider) dialog() channel.Account {
	return channel.Account{Provider: channel.Dialog360, Number: number, BaseURL: p.URL + "/d360", Token: "tok"}
}

var receiver = []contact.Identity{{Kind: contact.Email, Value: "a@example.com"}, userID, phone, {Kind: contact.Phone, Value: "+254700000000"}}

func TestSendReachesBothProviders(t *testing.T) {
	t.Parallel()
	p := newProvider(t, whatsapp.Config{Version: "v99.0"})
	out := message.Outbound{Kind: message.Text, Text: "Karibu"}
	for _, r := range []struct {
		account       channel.Account
		path, key, is string
		without       string
	}{
		{p.meta(), "/graph/v99.0/" + number + "/messages", "Authorization", "Bearer tok", "D360-Api-Key"},
		{p.dialog(), "/d360/messages", "D360-Api-Key", "tok", "Authorization"},
	} {
		id, err := p.client.Send(t.Context(), r.account, receiver, out, "out-7")
		if err != nil || id != "wamid.NEW" {
			t.Fatalf("%s: Send = %q, %v", r.account, id, err)
		}
		if p.path != r.path || p.header.Get(r.key) != r.is || p.header.Get(r.without) != "" || p.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s with %v", r.account, p.path, p.header)
		}
		want := map[string]any{
			"messaging_product": "whatsapp", "recipient_type": "individual", "to": "+" + waID, "recipient": bsuid,
			"type": "text", "text": map[string]any{"body": "Karibu", "preview_url": false}, "biz_opaque_callback_data": "out-7",
		}
		if diff := cmp.Diff(want, p.body); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", r.account, diff)
		}
	}
}

func TestSendKinds(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name string
		out  message.Outbound
		want string // the members beside those every message has
	}{
		{"an answer to a message", message.Outbound{Kind: message.Text, Text: "x", ReplyTo: "wamid.Q"}, `"type":"text","text":{"body":"x","preview_url":false},"context":{"message_id":"wamid.Q"}`},
		{"buttons", changed(buttons(2), func(o *message.Outbound) { o.Footer = "f" }), `"type":"interactive","interactive":{"type":"button","body":{"text":"Which one?"},"footer":{"text":"f"},"action":{"buttons":[{"type":"reply","reply":{"id":"c0","title":"Choice 0"}},{"type":"reply","reply":{"id":"c1","title":"Choice 1"}}]}}`},
		{"a list", list(message.Section{Title: "Morning", Rows: []message.Choice{{ID: "a", Title: "09:00", Description: "Grace"}, {ID: "b", Title: "10:00"}}}), `"type":"interactive","interactive":{"type":"list","body":{"text":"Which one?"},"action":{"button":"Times","sections":[{"title":"Morning","rows":[{"id":"a","title":"09:00","description":"Grace"},{"id":"b","title":"10:00"}]}]}}`},
		{"a list of one section without a title", list(message.Section{Rows: []message.Choice{{ID: "a", Title: "09:00"}}}), `"type":"interactive","interactive":{"type":"list","body":{"text":"Which one?"},"action":{"button":"Times","sections":[{"rows":[{"id":"a","title":"09:00"}]}]}}`},
		{"a request for the phone", message.Outbound{Kind: message.RequestContact, Text: "Your number?"}, `"type":"interactive","interactive":{"type":"contact_request","body":{"text":"Your number?"},"action":{"name":"request_contact_info"}}`},
		{"a template", templated([]string{"Grace", "15:00"}, []string{"yes:7", "no:7"}), `"type":"template","template":{"name":"reminder","language":{"code":"sw"},"components":[{"type":"body","parameters":[{"type":"text","text":"Grace"},{"type":"text","text":"15:00"}]},{"type":"button","sub_type":"quick_reply","index":0,"parameters":[{"type":"payload","payload":"yes:7"}]},{"type":"button","sub_type":"quick_reply","index":1,"parameters":[{"type":"payload","payload":"no:7"}]}]}`},
		{"a bare template", templated(nil, nil), `"type":"template","template":{"name":"reminder","language":{"code":"sw"}}`},
		{"an image", of("image", "our room"), `"type":"image","image":{"id":"1","caption":"our room"}`},
		{"a document", message.Outbound{Kind: message.Media, Text: "the form", Attachment: &message.Attachment{ID: "1", Kind: "document", Filename: "form.pdf"}}, `"type":"document","document":{"id":"1","caption":"the form","filename":"form.pdf"}`},
		{"a voice note", of("audio", ""), `"type":"audio","audio":{"id":"1"}`},
		{"a reaction", message.Outbound{Kind: message.Reaction, Target: "wamid.Q", Emoji: "👍", ReplyTo: "wamid.Q"}, `"type":"reaction","reaction":{"message_id":"wamid.Q","emoji":"👍"}`},
		{"a reaction taken back", message.Outbound{Kind: message.Reaction, Target: "wamid.Q"}, `"type":"reaction","reaction":{"message_id":"wamid.Q","emoji":""}`},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, whatsapp.Config{})
			if _, err := p.client.Send(t.Context(), p.dialog(), []contact.Identity{userID}, r.out, ""); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			whole := `{"messaging_product":"whatsapp","recipient_type":"individual","recipient":"` + bsuid + `",` + r.want + `}`
			if err := json.Unmarshal([]byte(whole), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, p.body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendRefusesBeforeSending(t *testing.T) {
	t.Parallel()
	p := newProvider(t, whatsapp.Config{})
	t.Cleanup(func() { // when all rows are done
		if p.count() != 0 {
			t.Errorf("%d requests were made", p.count())
		}
	})
	text := message.Outbound{Kind: message.Text, Text: "x"}
	with := func(change func(*channel.Account)) channel.Account {
		a := p.meta()
		change(&a)
		return a
	}
	for _, r := range []struct {
		name    string
		account channel.Account
		to      []contact.Identity
		out     message.Outbound
		opaque  string
	}{
		{"four buttons", p.meta(), receiver, buttons(4), ""},
		{"nobody", p.meta(), nil, text, ""},
		{"an e-mail address", p.meta(), receiver[:1], text, ""},
		{"an endless opaque value", p.meta(), receiver, text, strings.Repeat("x", 513)},
		{"a number that leads elsewhere", with(func(a *channel.Account) { a.Number = "../1" }), receiver, text, ""},
		{"a provider not known", with(func(a *channel.Account) { a.Provider = "pigeon" }), receiver, text, ""},
		{"an address without a host", with(func(a *channel.Account) { a.BaseURL = "graph" }), receiver, text, ""},
		{"an address of another scheme", with(func(a *channel.Account) { a.BaseURL = "ftp://x" }), receiver, text, ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if _, err := p.client.Send(t.Context(), r.account, r.to, r.out, r.opaque); channel.ClassOf(err) != channel.Defect {
				t.Errorf("err = %v, want a defect", err)
			}
		})
	}
	if err := p.client.MarkRead(t.Context(), p.meta(), "", false); channel.ClassOf(err) != channel.Defect {
		t.Errorf("a mark of nothing: %v", err)
	}
}

func TestMarkRead(t *testing.T) {
	t.Parallel()
	p := newProvider(t, whatsapp.Config{})
	p.answer = says(200, "", `{"success":true}`)
	for _, typing := range []bool{false, true} {
		if err := p.client.MarkRead(t.Context(), p.meta(), "wamid.IN", typing); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.IN"}
		if typing {
			want["typing_indicator"] = map[string]any{"type": "text"}
		}
		if diff := cmp.Diff(want, p.body); diff != "" {
			t.Errorf("typing %v: body (-want +got):\n%s", typing, diff)
		}
	}
}

func send(t *testing.T, p *provider) *channel.Error {
	t.Helper()
	_, err := p.client.Send(t.Context(), p.meta(), receiver, message.Outbound{Kind: message.Text, Text: "private words"}, "")
	e, ok := errors.AsType[*channel.Error](err)
	if !ok {
		t.Fatalf("err = %v, want a channel error", err)
	}
	for _, secret := range []string{"private", "tok", waID, p.URL} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells %q: %v", secret, err)
		}
	}
	return e
}

// TestEveryCode: the code decides, whatever the HTTP status says.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	for class, codes := range map[channel.Class][]int{
		channel.Rate:          {4, 17, 80007, 130429, 131064, 132069},
		channel.PairRate:      {131056},
		channel.Transient:     {1, 2, 131000, 131016, 131052, 131057},
		channel.Window:        {131047},
		channel.Undeliverable: {131026, 131030, 131062},
		channel.Defect:        {100, 131008, 131009, 131021, 131053, 131063, 132000, 132005, 132008, 132012},
		channel.Auth:          {3, 10, 190, 200, 299, 368, 131005, 131031, 131042, 131045, 131048, 132001, 132007, 132015, 132016, 132068, 133010},
		channel.Permanent:     {130403, 130472, 131049, 131050, 131051, 777777},
	} {
		for _, code := range codes {
			if got := whatsapp.ClassOf(code); got != class {
				t.Errorf("ClassOf(%d) = %s, want %s", code, got, class)
			}
			t.Run(strconv.Itoa(code), func(t *testing.T) {
				t.Parallel()
				p := newProvider(t, whatsapp.Config{})
				p.answer = says(400, "", `{"error":{"message":"title","type":"OAuthException","code":`+strconv.Itoa(code)+`,"error_data":{"messaging_product":"whatsapp","details":"why"}}}`)
				e := send(t, p)
				if e.Class != class || e.Code != code || e.Detail != "why" || p.count() != 1 {
					t.Errorf("%+v after %d requests, want class %s", e, p.count(), class)
				}
				if limited := class == channel.Rate || class == channel.PairRate; limited != (e.RetryAfter > 0) {
					t.Errorf("retry after %s", e.RetryAfter)
				}
			})
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name   string
		status int
		retry  string
		body   string
		class  channel.Class
		code   int
		wait   time.Duration
	}{
		{"a pair rate waits four seconds at least", 400, "", `{"error":{"code":131056}}`, channel.PairRate, 131056, 4 * time.Second},
		{"a throughput limit a second", 429, "", `{"error":{"code":130429}}`, channel.Rate, 130429, time.Second},
		{"a Graph limit a minute", 429, "", `{"error":{"code":80007,"error_subcode":2446079,"is_transient":true}}`, channel.Rate, 80007, time.Minute},
		{"the provider's own wait is taken", 429, "7", `{"error":{"code":4}}`, channel.Rate, 4, 7 * time.Second},
		{"but no endless one", 429, "999999", ``, channel.Rate, 0, time.Hour},
		{"nor an odd one", 429, "-3", ``, channel.Rate, 0, time.Minute},
		{"a code in a string", 400, "", `{"error":{"code":"131047","message":"m"}}`, channel.Window, 131047, 0},
		{"a known code with a 500 is believed", 500, "", `{"error":{"code":131000}}`, channel.Transient, 131000, 0},
		{"an unknown code that passes", 500, "", `{"error":{"code":999999,"is_transient":true}}`, channel.Transient, 999999, 0},
		{"an unknown code with a 500", 500, "", `{"error":{"code":999999}}`, channel.Unknown, 999999, 0},
		{"an unknown code with a 400", 400, "", `{"error":{"code":999999}}`, channel.Permanent, 999999, 0},
		{"a number that the key may not see", 400, "", `{"error":{"code":100,"error_subcode":33}}`, channel.Auth, 100, 0},
		{"a 500 without a body", 500, "", ``, channel.Unknown, 0, 0},
		{"a 502 of a gateway", 502, "", `<html>Bad Gateway</html>`, channel.Unknown, 0, 0},
		{"a 401 without a code", 401, "", ``, channel.Auth, 0, 0},
		{"a 403 of 360dialog", 403, "", `{"meta":{"success":false,"http_code":403,"developer_message":"Invalid api key"}}`, channel.Auth, 0, 0},
		{"a 400 of 360dialog", 400, "", `{"meta":{"developer_message":"odd"}}`, channel.Defect, 0, 0},
		{"the older list of errors", 400, "", `{"errors":[{"code":131026,"title":"t","details":"d"}]}`, channel.Undeliverable, 131026, 0},
		{"a request that came too slowly", 408, "", ``, channel.Transient, 0, 0},
		{"a redirect", 307, "", ``, channel.Auth, 0, 0},
		{"an acceptance without an id", 200, "", `{"messages":[]}`, channel.Unknown, 0, 0},
		{"an acceptance cut off", 200, "", `{"messages":[{"id":"w`, channel.Unknown, 0, 0},
		{"an endless acceptance", 200, "", `{"messages":[{"id":"` + strings.Repeat("w", 70<<10) + `"}]}`, channel.Unknown, 0, 0},
		{"an endless refusal", 500, "", `{"error":{"message":"` + strings.Repeat("w", 70<<10) + `"}}`, channel.Unknown, 0, 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, whatsapp.Config{})
			p.answer = says(r.status, r.retry, r.body)
			e := send(t, p)
			if e.Class != r.class || e.Code != r.code || e.RetryAfter != r.wait || len(e.Detail) > 512 || p.count() != 1 {
				t.Errorf("%+v after %d requests, want class %s, code %d, wait %s", e, p.count(), r.class, r.code, r.wait)
			}
		})
	}
}

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	t.Run("a connection cut after the request is unknown", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		if e := send(t, p); e.Class != channel.Unknown || e.Cause == nil || p.count() != 1 {
			t.Errorf("%+v after %d requests, want unknown after 1", e, p.count())
		}
	})
	t.Run("an answer cut in its middle is unknown", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			_, _ = io.WriteString(w, taken)
		}
		if e := send(t, p); e.Class != channel.Unknown {
			t.Errorf("%+v, want unknown", e)
		}
	})
	t.Run("an answer that comes too late is unknown", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{Timeout: 200 * time.Millisecond})
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		p.answer = func(http.ResponseWriter, *http.Request) { <-release }
		if e := send(t, p); e.Class != channel.Unknown || !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("%+v, want unknown by deadline", e)
		}
	})
	t.Run("a provider that is not reached took nothing", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.Close()
		if e := send(t, p); e.Class != channel.Transient || !e.Retryable() {
			t.Errorf("%+v, want transient", e)
		}
	})
	t.Run("a call given up before it began took nothing", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.client.Send(ctx, p.meta(), receiver, message.Outbound{Kind: message.Text, Text: "x"}, "")
		if channel.ClassOf(err) != channel.Transient || !errors.Is(err, context.Canceled) || p.count() != 0 {
			t.Errorf("err = %v after %d requests, want transient after none", err, p.count())
		}
	})
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	var asked []string
	spy := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		return nil, errors.New("no network here")
	})}
	c := whatsapp.New(whatsapp.Config{HTTPClient: spy})
	for _, p := range []channel.Provider{channel.Meta, channel.Dialog360} {
		_ = c.MarkRead(t.Context(), channel.Account{Provider: p, Number: number}, "w", false)
	}
	want := []string{"https://graph.facebook.com/v23.0/" + number + "/messages", "https://waba-v2.360dialog.io/messages"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if whatsapp.New(whatsapp.Config{}) == nil {
		t.Error("no client from defaults")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
