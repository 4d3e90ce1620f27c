package whatsapp_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
)

func TestTemplatesOfBothProviders(t *testing.T) {
	t.Parallel()
	const one = `{"name":"ratiba_page","language":"sw","status":"APPROVED","category":"UTILITY","components":[
		{"type":"BODY","text":"Chat {{1}}: {{2}}, {{1}} {{reason}}"},{"type":"BUTTONS","buttons":[{"type":"QUICK_REPLY"},{"type":"URL"}]}]}`
	want := []channel.Template{{
		Name: "ratiba_page", Language: "sw", Status: "approved", Category: "utility", Body: "Chat {{1}}: {{2}}, {{1}} {{reason}}", Parameters: 3, Buttons: 1,
	}}
	t.Run("Meta's list goes on behind a cursor", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("after") == "" {
				_, _ = io.WriteString(w, `{"data":[{"name":"x","status":"REJECTED"}],"paging":{"cursors":{"after":"A"},"next":"https://x"}}`)
				return
			}
			_, _ = io.WriteString(w, `{"data":[`+one+`],"paging":{"cursors":{"after":"B"}}}`)
		}
		a := p.meta()
		a.Business = "7300"
		got, err := p.client.Templates(t.Context(), a)
		if err != nil || len(got) != 2 || got[0].Status != "rejected" || !cmp.Equal(got[1:], want) {
			t.Errorf("got %+v, %v", got, err)
		}
		if p.path != "/graph/v23.0/7300/message_templates" || p.header.Get("Authorization") != "Bearer tok" {
			t.Errorf("asked %s with %q", p.path, p.header.Get("Authorization"))
		}
		if _, err := p.client.Templates(t.Context(), p.meta()); channel.ClassOf(err) != channel.Defect {
			t.Errorf("without a business account: %v, want a defect", err)
		}
	})
	t.Run("360dialog's goes by the key", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = says(200, "", `{"waba_templates":[`+one+`],"count":1,"total":1}`)
		got, err := p.client.Templates(t.Context(), channel.Account{Provider: channel.Dialog360, BaseURL: p.URL, Token: "key"})
		if err != nil || !cmp.Equal(got, want) || p.path != "/v1/configs/templates" || p.header.Get("D360-API-KEY") != "key" {
			t.Errorf("got %+v, %v from %s", got, err, p.path)
		}
	})
	t.Run("an endless list ends", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = says(200, "", `{"data":[`+one+`],"paging":{"cursors":{"after":"A"},"next":"x"}}`)
		a := p.meta()
		a.Business = "7300"
		if got, err := p.client.Templates(t.Context(), a); err != nil || len(got) != p.count() || len(got) > 50 {
			t.Errorf("%d templates in %d questions, %v", len(got), p.count(), err)
		}
	})
	t.Run("a list that is none is a defect", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, whatsapp.Config{})
		p.answer = says(200, "", `[]`)
		if _, err := p.client.Templates(t.Context(), channel.Account{Provider: channel.Dialog360, BaseURL: p.URL}); channel.ClassOf(err) != channel.Defect {
			t.Errorf("got %v", err)
		}
	})
}
