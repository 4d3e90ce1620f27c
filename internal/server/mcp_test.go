package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/mcp"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

const (
	owner = "+254722000009" // Rehema
	staff = "+254722000010" // Juma
)

// house is a business whose tools are called by MCP clients.
type house struct {
	t      *testing.T
	s      *server.Server
	clock  *clock.Fixed
	events *bytes.Buffer
	store  *store.Tenant
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, clock: clock.NewFixed(time.Date(2026, 3, 2, 5, 0, 0, 0, time.UTC)), events: &bytes.Buffer{}}
	var err error
	h.s, err = server.New(t.Context(), server.Config{
		Settings: config.Config{PublicURL: "http://127.0.0.1", Data: t.TempDir()}, Clock: h.clock, Offline: true,
		Logger: slog.New(slog.NewJSONHandler(h.events, nil)), Secrets: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.s.Stop() })
	def, err := tenant.Parse([]byte(strings.Replace(shop, `phone: "+254722000009"}]`, `phone: "+254722000009"}, {name: Juma, phone: "+254722000010", role: staff}]`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	applied, err := h.s.Apply(t.Context(), def)
	if err == nil {
		h.store, err = h.s.Store(applied.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) counter() mcp.Counter {
	h.t.Helper()
	c, err := h.s.Counter("duka")
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// client is an MCP client. With a yes or a no it asks its person, who says so.
func client(answer string, asked *[]string) *sdk.Client {
	opts := &sdk.ClientOptions{}
	if answer != "" {
		opts.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			*asked = append(*asked, r.Params.Message)
			if answer == "no" {
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": answer == "yes"}}, nil
		}
	}
	return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
}

// stdio connects a client over a pair of streams.
func (h *house) stdio(admin string, c *sdk.Client) *sdk.ClientSession {
	h.t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- mcp.Stdio(h.t.Context(), h.counter(), admin, in, out) }()
	session, err := c.Connect(h.t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = session.Close()
		if err := <-done; err != nil {
			h.t.Errorf("stdio ended with %v", err)
		}
	})
	return session
}

// bearer sends a token with every request.
type bearer struct{ token, origin string }

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	if b.origin != "" {
		r.Header.Set("Origin", b.origin)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// http connects a client over streamable HTTP with an admin's token.
func (h *house) http(admin string, c *sdk.Client) (session *sdk.ClientSession, url, id, token string) {
	h.t.Helper()
	made, token, err := h.s.NewMCPToken(h.t.Context(), "duka", admin, "test")
	if err != nil {
		h.t.Fatal(err)
	}
	web := httptest.NewServer(h.s.MCP())
	h.t.Cleanup(web.Close)
	url = web.URL + "/mcp/duka"
	session, err = c.Connect(h.t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token: token}}}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return session, url, made.ID, token
}

func (h *house) call(s *sdk.ClientSession, name string, args any, meta sdk.Meta) (*sdk.CallToolResult, map[string]any) {
	h.t.Helper()
	res, err := s.CallTool(h.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args, Meta: meta})
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(res.Content[0].(*sdk.TextContent).Text), &out); err != nil {
		h.t.Fatalf("%s answered %v", name, res.Content[0])
	}
	return res, out
}

func (h *house) count(query string, args ...any) (n int) {
	h.t.Helper()
	if err := h.store.Read(h.t.Context(), func(q db.Q) error { return q.QueryRowContext(h.t.Context(), query, args...).Scan(&n) }); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func block(id string) map[string]any {
	return map[string]any{"block_id": id, "staff_id": "juma", "from": "2026-03-06 14:00", "to": "2026-03-06 17:00"}
}

const blocks = "SELECT COUNT(*) FROM staff_blocks"

func TestReadsRunFreelyAndWritesAskByElicitation(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"stdio", "http"} {
		for answer, done := range map[string]bool{"yes": true, "no": false, "accepted without a yes": false} {
			t.Run(over+" "+answer, func(t *testing.T) {
				t.Parallel()
				h := open(t)
				var asked []string
				var s *sdk.ClientSession
				if c := client(answer, &asked); over == "stdio" {
					s = h.stdio(owner, c)
				} else {
					s, _, _, _ = h.http(owner, c)
				}
				if res, out := h.call(s, "list_active_services", nil, nil); res.IsError || len(asked) != 0 || !strings.Contains(toText(out), "Haircut") {
					t.Errorf("a read: %v, asked %v", out, asked)
				}
				res, out := h.call(s, "create_staff_time_block", block("k1"), nil)
				if res.IsError == done || len(asked) != 1 || !strings.Contains(asked[0], `"staff_id":"juma"`) || !strings.Contains(asked[0], `"standing":[]`) {
					t.Errorf("a block: %v, asked %v", out, asked)
				}
				if n := h.count(blocks); (n == 1) != done {
					t.Errorf("%d blocks", n)
				}
				if n := h.count("SELECT COUNT(*) FROM tool_calls WHERE tool = 'create_staff_time_block' AND ok AND actor = $1 AND via = 'mcp'", owner); (n == 1) != done {
					t.Errorf("%d calls stored as done by the owner", n)
				}
				if strings.Contains(h.events.String(), "audit.config.changed") != done || strings.Contains(h.events.String(), "2026-03-06") {
					t.Errorf("events: %s", h.events)
				}
			})
		}
	}
}

func toText(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestACallWithoutAYesIsRefusedAndSaysHow(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.stdio(owner, client("", nil))
	ask := func(args map[string]any) string {
		res, out := h.call(s, "create_staff_time_block", args, nil)
		token, _ := res.Meta[mcp.ConfirmKey].(string)
		if !res.IsError || out["code"] != "not_confirmed" || !strings.Contains(toText(out["next"]), mcp.ConfirmKey) || token == "" || strings.Contains(toText(out), token) {
			t.Fatalf("unconfirmed: %v with %q", out, token)
		}
		return token
	}
	try := func(why string, s *sdk.ClientSession, args map[string]any, token string) {
		t.Helper()
		if res, out := h.call(s, "create_staff_time_block", args, sdk.Meta{mcp.ConfirmKey: token}); !res.IsError || out["code"] != "not_confirmed" || h.count(blocks) > 1 {
			t.Errorf("%s: %v", why, out)
		}
	}
	token := ask(block("k1"))
	changed := block("k1")
	changed["to"] = "2026-03-06 17:30"
	try("other arguments", s, changed, token)
	try("another admin", h.stdio(staff, client("", nil)), block("k1"), token)
	try("a token of nobody", s, block("k1"), "guess")
	h.clock.Add(10*time.Minute + time.Second)
	try("after ten minutes", s, block("k1"), token)
	if n := h.count(blocks); n != 0 {
		t.Fatalf("%d blocks without a yes", n)
	}
	token = ask(block("k1"))
	if res, out := h.call(s, "create_staff_time_block", block("k1"), sdk.Meta{mcp.ConfirmKey: token}); res.IsError || h.count(blocks) != 1 {
		t.Errorf("confirmed: %v", out)
	}
	try("a second time", s, block("k1"), token)
	if n := h.count("SELECT COUNT(*) FROM tool_calls WHERE code = 'not_confirmed' AND NOT ok"); n != 7 {
		t.Errorf("%d refusals are stored, want 7", n)
	}
}

func TestArgumentsThatCannotBeAreAnError(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.stdio(owner, client("", nil))
	for name, args := range map[string]any{
		"of the wrong type": map[string]any{"report": 5, "date": "2026-03-02"}, "unknown": map[string]any{"report": "day", "date": "2026-03-02", "sudo": true},
		"huge": map[string]any{"report": "day", "date": "2026-03-02", "staff_id": strings.Repeat("x", 100_000)}, "missing": map[string]any{},
	} {
		if res, out := h.call(s, "query_stats", args, nil); !res.IsError || out["code"] != "invalid_arguments" {
			t.Errorf("%s: %v", name, out)
		}
	}
	if n := h.count("SELECT COALESCE(MAX(LENGTH(CAST(args AS TEXT))), 0) FROM tool_calls"); n > 70_000 {
		t.Errorf("%d bytes of arguments were stored", n)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "drop_tables"}); err == nil {
		t.Error("a tool that does not exist was called")
	}
	if res, out := h.call(s, "create_staff_time_block", map[string]any{"block_id": "k", "staff_id": "nobody", "from": "2026-03-06 14:00", "to": "2026-03-06 17:00"}, nil); !res.IsError || out["code"] != "no_such_staff" {
		t.Errorf("what could not be done was asked about: %v", out)
	}
}

func TestRolesHoldOverMCP(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.stdio(staff, client("", nil))
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if slices.Contains(names, "broadcast_message") || slices.Contains(names, "delete_service") || !slices.Contains(names, "query_stats") {
		t.Errorf("staff are shown %v", names)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "broadcast_message", Arguments: map[string]any{"broadcast_id": "x", "text": "y"}}); err == nil {
		t.Error("staff broadcast")
	}
	if res, out := h.call(s, "query_stats", map[string]any{"report": "revenue", "date": "2026-03-02"}, nil); !res.IsError || out["code"] != "owners_only" {
		t.Errorf("staff ask for money: %v", out)
	}
	if _, err := h.s.Counter("nobody"); err == nil {
		t.Error("a business that does not exist has tools")
	}
	if err := mcp.Stdio(t.Context(), h.counter(), "+254700000001", io.NopCloser(strings.NewReader("")), nil); err == nil {
		t.Error("a customer's phone is served as an admin")
	}
}

// What is listed is definition.json, byte for byte once the space between its
// parts is gone, in the order of the file.
func TestListedToolsAreTheDefinitionFiles(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, url, _, token := h.http(owner, client("", nil))
	session := ""
	post := func(body string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := (&http.Client{Transport: bearer{token: token}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
				return data
			}
		}
		return raw
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var listed struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	raw := post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	folders, err := filepath.Glob("../app/booking/tools/*/definition.json")
	if err != nil || len(folders) == 0 || len(folders) != len(listed.Result.Tools) {
		t.Fatalf("%d tools are listed of %d folders, %v", len(listed.Result.Tools), len(folders), err)
	}
	for i, file := range folders {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, content); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want.Bytes(), listed.Result.Tools[i]) {
			t.Errorf("listed %s\nfile   %s", listed.Result.Tools[i], want.Bytes())
		}
	}
}

func TestHTTPIsForThoseWithAToken(t *testing.T) {
	t.Parallel()
	h := open(t)
	session, url, id, token := h.http(owner, client("", nil))
	status := func(token, origin, body string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := (&http.Client{Transport: bearer{token, origin}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	for name, got := range map[string][2]int{
		"a good one": {status(token, "", hello), http.StatusOK}, "none": {status("", "", hello), http.StatusUnauthorized}, "a guess": {status("rtb_guess", "", hello), http.StatusUnauthorized},
		"a web page": {status(token, "https://evil.example", hello), http.StatusForbidden}, "its own page": {status(token, strings.TrimSuffix(url, "/mcp/duka"), hello), http.StatusForbidden},
		"a huge body": {status(token, "", strings.Repeat(" ", 2<<20)+hello), http.StatusRequestEntityTooLarge}, "no protocol": {status(token, "", "hello"), http.StatusBadRequest},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: status %d, want %d", name, got[0], got[1])
		}
	}
	if n := h.count("SELECT COUNT(*) FROM mcp_tokens WHERE token_hash LIKE '%' || $1 || '%'", token[4:12]); n != 0 {
		t.Error("the token is stored in clear")
	}
	last := 0
	for range 80 {
		last = status(token, "", hello)
	}
	if last == http.StatusOK {
		t.Error("any number of sessions may be begun")
	}
	if err := h.s.RevokeMCPToken(t.Context(), "duka", id); err != nil {
		t.Fatal(err)
	}
	if _, err := session.ListTools(t.Context(), nil); err == nil {
		t.Error("a session outlives its token")
	}
	if got := status(token, "", hello); got != http.StatusUnauthorized {
		t.Errorf("a revoked token: status %d", got)
	}
	if _, _, err := h.s.NewMCPToken(t.Context(), "duka", "+254700000001", ""); err == nil {
		t.Error("a customer got a token")
	}
	all, err := h.s.MCPTokens(t.Context(), "duka")
	if err != nil || len(all) != 1 || all[0].Revoked.IsZero() || all[0].UsedAt.IsZero() || all[0].Label != "test" {
		t.Errorf("listed %+v, %v", all, err)
	}
}

// Whatever customers and documents say, it is quoted: what they write in names,
// and what stands in texts, drives no write and confirms nothing.
func TestInjectedTextDrivesNoWrite(t *testing.T) {
	t.Parallel()
	h := open(t)
	raw, err := os.ReadFile("testdata/injections.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	s := h.stdio(owner, client("", nil))
	for i, text := range lines {
		phone := "+25470000" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + "00"
		if res, out := h.call(s, "upsert_contact", map[string]any{"phone": phone, "name": text}, nil); res.IsError {
			t.Fatalf("%q: %v", text, out)
		}
		if err := h.s.PutDocument(t.Context(), "duka", retrieve.Document{Key: phone, Title: "Note", Text: "zebra " + text}); err != nil {
			t.Fatal(err)
		}
	}
	stored := h.count("SELECT COUNT(*) FROM contacts")
	for _, text := range lines {
		_, found := h.call(s, "lookup_contact", map[string]any{"query": text[:min(len(text), 40)]}, nil)
		if strings.Contains(toText(found), `"ok":false`) {
			t.Errorf("%q is not found as a name: %v", text, found)
		}
		_, quoted := h.call(s, "answer_from_knowledge", map[string]any{"question": "zebra " + text[:min(len(text), 400)], "limit": 10}, nil)
		if !strings.Contains(toText(quoted), "zebra") {
			t.Errorf("%q is not quoted: %v", text, quoted)
		}
		// As an argument, and as a token, it is what it is: text.
		args := block("k1")
		args["reason"] = text[:min(len(text), 200)]
		if res, out := h.call(s, "create_staff_time_block", args, sdk.Meta{mcp.ConfirmKey: text}); !res.IsError || out["code"] != "not_confirmed" {
			t.Errorf("%q confirmed a call: %v", text, out)
		}
	}
	if n := h.count("SELECT COUNT(*) FROM outbox"); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	if n := h.count(blocks) + h.count("SELECT COUNT(*) FROM bookings") + h.count("SELECT COUNT(*) FROM services WHERE removed") + h.count("SELECT COUNT(*) FROM broadcasts"); n != 0 {
		t.Errorf("%d writes", n)
	}
	if n := h.count("SELECT COUNT(*) FROM contacts"); n != stored {
		t.Errorf("%d contacts became %d", stored, n)
	}
}
