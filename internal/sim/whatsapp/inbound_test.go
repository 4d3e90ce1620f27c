package whatsapp_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

func TestATextComesAsMetasSignedWebhook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, out := b.write(object{"from": jane, "name": "Jane", "text": "Habari, nataka massage kesho saa tisa"})
	if code != http.StatusOK || out.Status != http.StatusOK || !strings.HasPrefix(out.ID, "wamid.") {
		t.Fatalf("answered %d %+v", code, out)
	}
	h, v := b.product.next(t)
	if h.path != "/webhooks/whatsapp" || h.header.Get("X-Hub-Signature-256") != whatsapp.Sign(spaKey, h.body) {
		t.Errorf("posted to %s with signature %q", h.path, h.header.Get("X-Hub-Signature-256"))
	}
	if v.Product != "whatsapp" || v.Metadata.ID != spaID || v.Metadata.Display != spaPhone {
		t.Errorf("value %+v", v)
	}
	if diff := cmp.Diff([]object{{"wa_id": "254700000101", "profile": object{"name": "Jane"}}}, v.Contacts); diff != "" {
		t.Errorf("contacts (-want +got):\n%s", diff)
	}
	want := []object{{
		"from": "254700000101", "id": out.ID, "timestamp": "1777107600", "type": "text",
		"text": object{"body": "Habari, nataka massage kesho saa tisa"},
	}}
	if diff := cmp.Diff(want, v.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestEveryKindOfMessageHasThePlatformsForm(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		body object
		want object
	}{
		{"an empty text", object{"text": ""}, object{"type": "text", "text": object{"body": ""}}},
		{
			"a tap on a button",
			object{"button": object{"id": "slot:1", "title": "09:00"}},
			object{"type": "interactive", "interactive": object{"type": "button_reply", "button_reply": object{"id": "slot:1", "title": "09:00"}}},
		},
		{
			"a tap on a row",
			object{"list": object{"id": "s1", "title": "Massage", "description": "90 minutes"}},
			object{"type": "interactive", "interactive": object{"type": "list_reply", "list_reply": object{"id": "s1", "title": "Massage", "description": "90 minutes"}}},
		},
		{
			"a contact card",
			object{"contact": object{"name": "Wanjiku", "phone": "0711 222 333"}},
			object{"type": "contacts", "contacts": []any{object{
				"name":   object{"formatted_name": "Wanjiku", "first_name": "Wanjiku"},
				"phones": []any{object{"phone": "0711 222 333", "wa_id": "254711222333", "type": "CELL"}},
			}}},
		},
		{
			"a place",
			object{"location": object{"latitude": -1.29, "longitude": 36.82, "name": "Home"}},
			object{"type": "location", "location": object{"latitude": -1.29, "longitude": 36.82, "name": "Home"}},
		},
		{
			"a reaction",
			object{"reaction": object{"id": "wamid.X", "emoji": "👍"}},
			object{"type": "reaction", "reaction": object{"message_id": "wamid.X", "emoji": "👍"}},
		},
		{
			"an edit",
			object{"edit": object{"id": "wamid.X", "text": "Thursday"}},
			object{"type": "edit", "edit": object{
				"original_message_id": "wamid.X", "message": object{"type": "text", "text": object{"body": "Thursday"}},
			}},
		},
		{
			"a message taken back",
			object{"revoke": object{"id": "wamid.X"}},
			object{"type": "revoke", "revoke": object{"original_message_id": "wamid.X"}},
		},
		{
			"a reply",
			object{"text": "this one", "reply_to": "wamid.X"},
			object{"type": "text", "text": object{"body": "this one"}, "context": object{"id": "wamid.X", "from": spaPhone}},
		},
		{
			"a message in the platform's own form",
			object{"raw": object{"type": "order", "order": object{"catalog_id": "1"}}},
			object{"type": "order", "order": object{"catalog_id": "1"}},
		},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tt.body["from"] = jane
			if code, out := b.write(tt.body); code != http.StatusOK {
				t.Fatalf("answered %d %+v", code, out)
			}
			_, v := b.product.next(t)
			got := v.Messages[0]
			for _, key := range []string{"from", "id", "timestamp"} {
				if got[key] == nil {
					t.Errorf("%s is missing", key)
				}
				delete(got, key)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
	b := setup(t)
	if _, out := b.write(object{"from": jane, "unsupported": true}); out.Status != http.StatusOK {
		t.Errorf("an unsupported message was answered %+v", out)
	}
}

func TestATapFindsTheMessageThatOffersIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	_, sent := b.send(buttons("Yes", "No"))
	_, _ = b.send(textTo(jane, "later"))
	b.write(object{"from": jane, "button": object{"id": "id-Yes"}})
	for {
		_, v := b.product.next(t)
		if len(v.Messages) == 0 {
			continue
		}
		context, _ := v.Messages[0]["context"].(object)
		reply, _ := v.Messages[0]["interactive"].(object)
		if context["id"] != sent.Messages[0]["id"] || !cmp.Equal(reply["button_reply"], object{"id": "id-Yes", "title": "Yes"}) {
			t.Errorf("the tap came as %v", v.Messages[0])
		}
		return
	}
}

func TestASenderMayBeKnownByBSUIDOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const id = "KE.1A2B3C4D"
	b.write(object{"bsuid": id, "text": "Hi"})
	h, v := b.product.next(t)
	if m := v.Messages[0]; m["from"] != nil || m["from_user_id"] != id || v.Contacts[0]["wa_id"] != nil || v.Contacts[0]["user_id"] != id {
		t.Errorf("got %s, want no phone", h.body)
	}
	body := textTo("", "Karibu")
	body["recipient"] = id
	code, out := b.send(body)
	if code != http.StatusOK || out.Contacts[0]["user_id"] != id || out.Messages[0]["message_status"] != "accepted" {
		t.Fatalf("answered %d %+v", code, out)
	}
	if _, v := b.product.next(t); v.Statuses[0].UserID != id || v.Statuses[0].Recipient != "" {
		t.Errorf("status %+v, want the BSUID only", v.Statuses[0])
	}
	if got := b.messages(url.Values{"bsuid": {id}}); len(got) != 1 || got[0].Text != "Karibu" {
		t.Errorf("the phone shows %+v", got)
	}
	b.write(object{"bsuid": id, "from": jane, "text": "my number"})
	if got := b.messages(url.Values{"phone": {jane}}); len(got) != 1 {
		t.Errorf("after both ids came together the phone shows %+v", got)
	}
}

func TestTwoStrangersTurnOutToBeOnePerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const id = "KE.99"
	b.write(object{"from": jane, "text": "one"})
	b.write(object{"bsuid": id, "text": "two"})
	_, _ = b.send(textTo(jane, "to the phone"))
	hidden := textTo("", "to the user name")
	hidden["recipient"] = id
	_, _ = b.send(hidden)
	_, _ = b.send(textTo(jane, "to the phone again"))
	b.write(object{"from": jane, "bsuid": id, "text": "both"})
	for _, query := range []url.Values{{"phone": {jane}}, {"bsuid": {id}}} {
		var texts []string
		for _, m := range b.messages(query) {
			texts = append(texts, m.Text)
		}
		if diff := cmp.Diff([]string{"to the phone", "to the user name", "to the phone again"}, texts); diff != "" {
			t.Errorf("%v (-want +got):\n%s", query, diff)
		}
	}
	var written []string
	for _, m := range b.state().Sent {
		written = append(written, m.Text)
	}
	if diff := cmp.Diff([]string{"one", "two", "both"}, written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestAWrongSignatureIsTriedOnceAndTellsTheProductsAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.product.answers(func(h hook) int {
		if h.header.Get("X-Hub-Signature-256") != whatsapp.Sign(spaKey, h.body) {
			return http.StatusUnauthorized
		}
		return http.StatusOK
	})
	for _, how := range []string{"bad", "none"} {
		_, out := b.write(object{"from": jane, "text": "forged", "signature": how})
		if out.Status != http.StatusUnauthorized {
			t.Errorf("signature %s: %+v, want status 401", how, out)
		}
		if h, _ := b.product.next(t); (h.header.Get("X-Hub-Signature-256") == "") != (how == "none") {
			t.Errorf("signature %s came as %q", how, h.header.Get("X-Hub-Signature-256"))
		}
	}
	if _, out := b.send(textTo(jane, "x")); out.Error.Code != 131047 {
		t.Errorf("a forged message opened the window: %+v", out)
	}
}

func TestAWebhookIsRepeatedUntilAnswered200(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tries := 0
	b.product.answers(func(hook) int {
		if tries++; tries < 4 {
			return []int{http.StatusServiceUnavailable, http.StatusAccepted, http.StatusFound}[tries-1]
		}
		return http.StatusOK
	})
	_, out := b.write(object{"from": jane, "text": "Hi"})
	if out.Status != http.StatusServiceUnavailable {
		t.Errorf("answered %+v, want the product's first status", out)
	}
	bodies := map[string]int{}
	for range 4 {
		h, _ := b.product.next(t)
		bodies[string(h.body)]++
	}
	if len(bodies) != 1 {
		t.Errorf("the repeats differ: %v", bodies)
	}
}

func TestAMessageCanBeDeliveredAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, out := b.write(object{"from": jane, "text": "Hi", "id": "wamid.MINE", "deliveries": 3})
	if out.ID != "wamid.MINE" {
		t.Errorf("answered %+v, want the id given", out)
	}
	first, _ := b.product.next(t)
	b.clock.Add(time.Hour)
	if code, again := b.write(object{"id": "wamid.MINE"}); code != http.StatusOK || again.ID != out.ID {
		t.Errorf("answered %d %+v", code, again)
	}
	for range 3 {
		if h, _ := b.product.next(t); string(h.body) != string(first.body) {
			t.Errorf("got %s, want %s", h.body, first.body)
		}
	}
	b.write(object{"from": jane, "text": "Hi", "id": "wamid.MINE"})
	if got := b.state(); len(got.Sent) != 1 || !got.WindowUntil.Equal(noon.Add(24*time.Hour)) {
		t.Errorf("a repeat counts as another message: %+v", got)
	}
	if code, _ := b.write(object{"id": "wamid.NEVER"}); code != http.StatusNotFound {
		t.Errorf("an id never used is answered %d, want 404", code)
	}
}

func TestADelayedWebhookIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, out := b.write(object{"from": jane, "text": "Hi", "delay_ms": 30})
	if out.ID == "" || out.Status != 0 {
		t.Errorf("answered %+v, want an id and no status yet", out)
	}
	b.product.next(t)
}

func TestANumberNobodySetUpIsPostedAllTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(object{"from": jane, "to": "+254799999999", "text": "Hi"})
	h, v := b.product.next(t)
	if v.Metadata.ID != "254799999999" || h.header.Get("X-Hub-Signature-256") != whatsapp.Sign(spaKey, h.body) {
		t.Errorf("got %s", h.body)
	}
}

func TestInboundFaultsAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *whatsapp.Config) {
		c.Numbers = append(c.Numbers, whatsapp.Number{PhoneNumberID: "2", DisplayPhone: "+254711000002"})
	})
	for name, body := range map[string]string{
		"nobody writes":         `{"to":"254711000001","text":"x"}`,
		"nothing is written":    `{"to":"254711000001","from":"254700000101"}`,
		"two kinds":             `{"to":"254711000001","from":"254700000101","text":"x","revoke":{"id":"y"}}`,
		"no receiver":           `{"from":"254700000101","text":"x"}`,
		"a strange bsuid":       `{"to":"254711000001","bsuid":"KE","text":"x"}`,
		"too many deliveries":   `{"to":"254711000001","from":"254700000101","text":"x","deliveries":101}`,
		"a negative delay":      `{"to":"254711000001","from":"254700000101","text":"x","delay_ms":-1}`,
		"a strange signature":   `{"to":"254711000001","from":"254700000101","text":"x","signature":"odd"}`,
		"a strange media kind":  `{"to":"254711000001","from":"254700000101","media":{"kind":"hologram","base64":"eA=="}}`,
		"media without content": `{"to":"254711000001","from":"254700000101","media":{"kind":"image"}}`,
		"text is a number":      `{"to":"254711000001","from":"254700000101","text":1}`,
	} {
		var out inboundAnswer
		code := b.do(http.MethodPost, "/sim/whatsapp/inbound", nil, body, &out)
		if code != http.StatusBadRequest || out.Error.Message == "" {
			t.Errorf("%s: answered %d %+v, want 400 with a sentence", name, code, out)
		}
	}
}

func TestMediaLivesAsLongAsItsAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	png := []byte("\x89PNG\r\n\x1a\n leaking tap")
	path := filepath.Join(t.TempDir(), "tap.png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, media := range []object{
		{"kind": "image", "mime": "image/png", "base64": base64.StdEncoding.EncodeToString(png), "caption": "look"},
		{"kind": "image", "path": path, "caption": "look"},
	} {
		b.write(object{"from": jane, "media": media})
		_, v := b.product.next(t)
		image, _ := v.Messages[0]["image"].(object)
		if image["mime_type"] != "image/png" || image["caption"] != "look" {
			t.Fatalf("image %v", image)
		}
		var meta map[string]string
		id, _ := image["id"].(string)
		if code := b.do(http.MethodGet, "/graph/v23.0/"+id, auth(), nil, &meta); code != http.StatusOK || meta["file_size"] != "20" {
			t.Fatalf("metadata answered %d %v", code, meta)
		}
		address := strings.TrimPrefix(meta["url"], b.server.URL)
		if code := b.do(http.MethodGet, address, auth(), nil, nil); code != http.StatusOK {
			t.Errorf("the download answered %d", code)
		}
		if code := b.do(http.MethodGet, address, nil, nil, nil); code != http.StatusUnauthorized {
			t.Errorf("without a token the download answered %d, want 401", code)
		}
		if code := b.do(http.MethodGet, strings.Replace(address, "ext=1", "ext=2", 1), auth(), nil, nil); code != http.StatusNotFound {
			t.Errorf("with another expiry the download answered %d, want 404", code)
		}
		b.clock.Add(5 * time.Minute)
		if code := b.do(http.MethodGet, address, auth(), nil, nil); code != http.StatusNotFound {
			t.Errorf("after five minutes the download answered %d, want 404", code)
		}
		b.clock.Add(30 * 24 * time.Hour)
		if code := b.do(http.MethodGet, "/graph/v23.0/"+id, auth(), nil, nil); code != http.StatusNotFound {
			t.Errorf("after a month the metadata answered %d, want 404", code)
		}
	}
	var out inboundAnswer
	if code := b.do(http.MethodPost, "/sim/whatsapp/inbound", nil, object{
		"from": jane, "to": spaPhone, "media": object{"kind": "image", "path": path + ".gone"},
	}, &out); code != http.StatusNotFound {
		t.Errorf("a path to nothing answered %d, want 404", code)
	}
}

func TestTheJournalTellsWhatWasPosted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.hello()
	got := b.journal.Since(0, string(journal.InboundPosted))
	if len(got) != 1 || got[0].ID != id || got[0].HTTPStatus != http.StatusOK || got[0].Phone != "254700000101" || !got[0].At.Equal(noon) {
		t.Errorf("journal %+v", got)
	}
}
