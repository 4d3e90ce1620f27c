package server_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/turn"
)

// duka is a served business with its secrets and those given.
func duka(t *testing.T, more map[string]string) *server.Server {
	t.Helper()
	set := config.Config{PublicURL: "http://127.0.0.1", Data: t.TempDir()}
	set.Operator.TokenEnv, set.Voice.SecretEnv = "OPERATOR", "VOICE"
	s, err := server.New(t.Context(), server.Config{
		Settings: set, Logger: slog.New(slog.DiscardHandler),
		Secrets: func(name string) string {
			if name == "DUKA_TOKEN" || name == "DUKA_SECRET" {
				return "x"
			}
			return more[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	def, err := tenant.Parse([]byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	return s
}

// api is the operator with a token.
func api(t *testing.T, h http.Handler, token string) func(method, path, body string) (int, string) {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", token)
		}
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
}

func TestTasksByTheOperatorsAPI(t *testing.T) {
	t.Parallel()
	s := duka(t, map[string]string{"OPERATOR": "s3cret"})
	st, err := s.Store(s.Tenants()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.RaiseTask(t.Context(), turn.TaskRow{ID: "t1", Kind: "call_back", Key: "k", Detail: "call <them>"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	call := api(t, s.Handler(), "Bearer s3cret")
	status, body := call("GET", "/api/tenants/duka/tasks?state=open&limit=10", "")
	var page struct{ Tasks []store.Task }
	if err := json.Unmarshal([]byte(body), &page); err != nil || status != 200 || len(page.Tasks) != 1 || page.Tasks[0].Kind != "call_back" {
		t.Fatalf("%d %s", status, body)
	}
	rows := []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"another business", "GET", "/api/tenants/spa/tasks", "", 404, "not_found"},
		{"a state that is none", "GET", "/api/tenants/duka/tasks?state=x", "", 400, "open, taken or done"},
		{"a page too large", "GET", "/api/tenants/duka/tasks?limit=1000", "", 400, "200"},
		{"a limit that is none", "GET", "/api/tenants/duka/tasks?limit=x", "", 400, "limit"},
		{"taking it", "POST", "/api/tenants/duka/tasks/t1", `{"state":"taken","owner":"Rehema"}`, 200, `"owner":"Rehema"`},
		{"taking it from her", "POST", "/api/tenants/duka/tasks/t1", `{"state":"taken","owner":"Juma"}`, 409, "Rehema has taken it"},
		{"opening it again", "POST", "/api/tenants/duka/tasks/t1", `{"state":"open","owner":"Rehema"}`, 400, "taken or done"},
		{"a body that is none", "POST", "/api/tenants/duka/tasks/t1", `{`, 400, "body"},
		{"a body of a megabyte", "POST", "/api/tenants/duka/tasks/t1", `{"owner":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too large"},
		{"ending it", "POST", "/api/tenants/duka/tasks/t1", `{"state":"done","owner":"Rehema"}`, 200, `"state":"done"`},
		{"none is left", "GET", "/api/tenants/duka/tasks?state=open", "", 200, `{"tasks":[]}`},
		{"one that is not there", "POST", "/api/tenants/duka/tasks/t2", `{"state":"done","owner":"Rehema"}`, 404, "no such task"},
	}
	for _, r := range rows {
		if status, body := call(r.method, r.path, r.body); status != r.status || !strings.Contains(body, r.says) {
			t.Errorf("%s: %d %s; want %d and %q", r.name, status, body, r.status, r.says)
		}
	}
}

func TestTheOperatorsAPIWantsItsToken(t *testing.T) {
	t.Parallel()
	s := duka(t, map[string]string{"OPERATOR": "s3cret"})
	for _, token := range []string{"", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets", "Basic s3cret", "s3cret"} {
		if status, _ := api(t, s.Handler(), token)("GET", "/api/tenants/duka/tasks", ""); status != http.StatusUnauthorized {
			t.Errorf("%q: %d, want 401", token, status)
		}
	}
	wrong := api(t, s.Handler(), "Bearer wrong")
	limited := false
	for range 60 {
		status, _ := wrong("GET", "/api/tenants/duka/tasks", "")
		limited = limited || status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("sixty wrong tokens in a row are all looked at")
	}
	none := duka(t, nil)
	if status, _ := api(t, none.Handler(), "Bearer ")("GET", "/api/tenants/duka/tasks", ""); status != http.StatusNotFound {
		t.Errorf("without a token in the environment: %d, want 404", status)
	}
}
