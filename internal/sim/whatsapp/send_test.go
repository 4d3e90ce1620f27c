package whatsapp_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

func TestAnAcceptedMessageIsOnThePhoneAndReportedSentDeliveredRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	body := textTo(jane, "Karibu!")
	body["biz_opaque_callback_data"] = "row-17"
	code, out := b.send(body)
	if code != http.StatusOK || len(out.Messages) != 1 {
		t.Fatalf("send answered %d %+v", code, out)
	}
	id := out.Messages[0]["id"]
	if !strings.HasPrefix(id, "wamid.") || out.Contacts[0]["wa_id"] != "254700000101" || out.Contacts[0]["input"] != jane {
		t.Errorf("send answered %+v", out)
	}
	for _, want := range []string{"sent", "delivered", "read"} {
		h, v := b.product.next(t)
		if len(v.Statuses) != 1 {
			t.Fatalf("want a status, got %s", h.body)
		}
		got := v.Statuses[0]
		if got.ID != id || got.Status != want || got.Opaque != "row-17" || got.Recipient != "254700000101" || got.Timestamp != "1777107600" {
			t.Errorf("status %+v, want %s of %s", got, want, id)
		}
		if h.header.Get("X-Hub-Signature-256") != whatsapp.Sign(spaKey, h.body) {
			t.Errorf("status %s is not signed with the app secret", want)
		}
		if (got.Pricing != nil) != (want == "sent") {
			t.Errorf("status %s carries pricing %v; only sent does", want, got.Pricing)
		}
	}
	got := b.messages(url.Values{"phone": {jane}})
	if len(got) != 1 || got[0].ID != id || got[0].Type != "text" || got[0].Text != "Karibu!" || got[0].From != "+"+spaPhone {
		t.Errorf("the phone shows %+v", got)
	}
}

func buttons(titles ...string) object {
	list := []object{}
	for _, title := range titles {
		list = append(list, object{"type": "reply", "reply": object{"id": "id-" + title, "title": title}})
	}
	return interactiveTo(object{
		"type": "button", "body": object{"text": "Which?"}, "action": object{"buttons": list},
	})
}

func interactiveTo(content object) object {
	return object{"messaging_product": "whatsapp", "to": jane, "type": "interactive", "interactive": content}
}

func list(button string, rows ...object) object {
	return interactiveTo(object{
		"type": "list", "body": object{"text": "Times"},
		"action": object{"button": button, "sections": []object{{"title": "Today", "rows": rows}}},
	})
}

func rows(n int) []object {
	out := []object{}
	for i := range n {
		out = append(out, object{"id": strings.Repeat("r", i+1), "title": "09:00"})
	}
	return out
}

func with(base object, key string, v any) object {
	base[key] = v
	return base
}

func TestSendsAreHeldToThePlatformsLimits(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("é", n) }
	cases := []struct {
		name string
		body any
		code int // 0: accepted
	}{
		{"a text of 4096 characters is taken", textTo(jane, x(4096)), 0},
		{"a text of 4097 characters is refused", textTo(jane, x(4097)), 100},
		{"an empty text is refused", textTo(jane, ""), 100},
		{"a text of blanks is refused", textTo(jane, " \n "), 100},
		{"a body that is not JSON is refused", "{", 100},
		{"a body with something after it is refused", "{} {}", 100},
		{"a text that is not an object is refused", with(textTo(jane, "x"), "text", "x"), 100},
		{"a missing product is refused", with(textTo(jane, "x"), "messaging_product", ""), 100},
		{"a missing receiver is refused", textTo("", "x"), 100},
		{"a receiver that is no phone is refused", textTo("12", "x"), 100},
		{"a group is refused", with(textTo(jane, "x"), "recipient_type", "group"), 100},
		{"an unknown type is refused", with(textTo(jane, "x"), "type", "telegram"), 100},
		{"opaque data over 512 characters is refused", with(textTo(jane, "x"), "biz_opaque_callback_data", x(513)), 100},
		{"the number itself as receiver is refused", textTo(spaPhone, "x"), 131021},
		{"three buttons are taken", buttons("A", "B", "C"), 0},
		{"four buttons are refused", buttons("A", "B", "C", "D"), 100},
		{"a button title of 20 characters is taken", buttons(x(20)), 0},
		{"a button title of 21 characters is refused", buttons(x(21)), 131009},
		{"two buttons with one title are refused", buttons("A", "A"), 131009},
		{"an interactive body of 1025 characters is refused", interactiveTo(object{
			"type": "button", "body": object{"text": x(1025)},
			"action": object{"buttons": []object{{"type": "reply", "reply": object{"id": "a", "title": "A"}}}},
		}), 131009},
		{"a footer of 61 characters is refused", interactiveTo(object{
			"type": "button", "body": object{"text": "x"}, "footer": object{"text": x(61)},
			"action": object{"buttons": []object{{"type": "reply", "reply": object{"id": "a", "title": "A"}}}},
		}), 131009},
		{"an interactive message without body is refused", interactiveTo(object{"type": "button", "action": object{}}), 131008},
		{"an interactive message without action is refused", interactiveTo(object{"type": "button", "body": object{"text": "x"}}), 131008},
		{"ten rows are taken", list("Choose", rows(10)...), 0},
		{"eleven rows are refused", list("Choose", rows(11)...), 131009},
		{"a row title of 25 characters is refused", list("Choose", object{"id": "a", "title": x(25)}), 131009},
		{"a row description of 73 characters is refused", list("Choose", object{"id": "a", "title": "A", "description": x(73)}), 131009},
		{"two rows with one id are refused", list("Choose", object{"id": "a", "title": "A"}, object{"id": "a", "title": "B"}), 131009},
		{"a list button of 21 characters is refused", list(x(21), rows(1)...), 131009},
		{"a section without rows is refused", list("Choose"), 131009},
		{"a list body of 4096 characters is taken", interactiveTo(object{
			"type": "list", "body": object{"text": x(4096)},
			"action": object{"button": "Choose", "sections": []object{{"rows": rows(1)}}},
		}), 0},
		{"asking for the phone is taken", interactiveTo(object{
			"type": "contact_request", "body": object{"text": "Your number?"}, "action": object{"name": "request_contact_info"},
		}), 0},
		{"a link button is taken", interactiveTo(object{
			"type": "cta_url", "body": object{"text": "Pay"},
			"action": object{"name": "cta_url", "parameters": object{"display_text": "Pay now", "url": "https://pay.example/1"}},
		}), 0},
		{"a link button without address is refused", interactiveTo(object{
			"type": "cta_url", "body": object{"text": "Pay"},
			"action": object{"name": "cta_url", "parameters": object{"display_text": "Pay now", "url": "pay"}},
		}), 131009},
		{"an image that was never uploaded is refused", object{
			"messaging_product": "whatsapp", "to": jane, "type": "image", "image": object{"id": "1"},
		}, 131053},
		{"a reaction without its message is refused", object{
			"messaging_product": "whatsapp", "to": jane, "type": "reaction", "reaction": object{"emoji": "👍"},
		}, 100},
		{"a place off the globe is refused", object{
			"messaging_product": "whatsapp", "to": jane, "type": "location", "location": object{"latitude": 91, "longitude": 0},
		}, 100},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.hello()
			code, out := b.send(tt.body)
			if tt.code == 0 && (code != http.StatusOK || len(out.Messages) != 1) {
				t.Errorf("answered %d %+v, want it taken", code, out.Error)
			}
			if tt.code != 0 && (code != http.StatusBadRequest || out.Error.Code != tt.code || out.Error.Type != "OAuthException" || out.Error.Trace == "") {
				t.Errorf("answered %d %+v, want code %d", code, out.Error, tt.code)
			}
		})
	}
}

func TestATokenThatIsNotTheNumbersIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var out sendAnswer
	code := b.do(http.MethodPost, "/graph/v23.0/"+spaID+"/messages", http.Header{"Authorization": {"Bearer x"}}, textTo(jane, "x"), &out)
	if code != http.StatusUnauthorized || out.Error.Code != 190 {
		t.Errorf("a wrong token is answered %d %+v, want 401 with code 190", code, out.Error)
	}
	code = b.do(http.MethodPost, "/graph/v23.0/42/messages", auth(), textTo(jane, "x"), &out)
	if code != http.StatusBadRequest || out.Error.Code != 100 || out.Error.Subcode != 33 {
		t.Errorf("an unknown number is answered %d %+v, want 400 with code 100/33", code, out.Error)
	}
}

func TestTheWindowIsOpenFor24HoursAfterTheUserWrote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if code, out := b.send(textTo(jane, "x")); code != http.StatusBadRequest || out.Error.Code != 131047 {
		t.Errorf("before any message: %d %+v, want 131047", code, out.Error)
	}
	b.hello()
	b.clock.Add(24*time.Hour - time.Second)
	if code, out := b.send(textTo(jane, "x")); code != http.StatusOK {
		t.Errorf("a second before the end: %d %+v, want it taken", code, out.Error)
	}
	b.clock.Add(time.Second)
	if code, out := b.send(textTo(jane, "x")); code != http.StatusBadRequest || out.Error.Code != 131047 {
		t.Errorf("after 24 hours: %d %+v, want 131047", code, out.Error)
	}
}

func TestAClosedWindowCanShowAsAFailedStatus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/whatsapp/settings", object{"window_mode": "status"})
	body := textTo(jane, "x")
	body["biz_opaque_callback_data"] = "row-3"
	code, out := b.send(body)
	if code != http.StatusOK {
		t.Fatalf("answered %d %+v, want it taken", code, out.Error)
	}
	h, v := b.product.next(t)
	if len(v.Statuses) != 1 || v.Statuses[0].Status != "failed" || v.Statuses[0].Opaque != "row-3" ||
		len(v.Statuses[0].Errors) != 1 || v.Statuses[0].Errors[0]["code"] != 131047.0 {
		t.Errorf("got %s, want failed with 131047", h.body)
	}
	if got := b.messages(url.Values{"phone": {jane}}); len(got) != 0 {
		t.Errorf("the phone shows %+v, want nothing", got)
	}
}

func TestTemplatesNeedNoWindowAndMustFit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	template := func(name string, params ...string) object {
		list := []object{}
		for _, p := range params {
			list = append(list, object{"type": "text", "text": p})
		}
		return object{
			"messaging_product": "whatsapp", "to": jane, "type": "template",
			"template": object{"name": name, "language": object{"code": "en"}, "components": []object{
				{"type": "body", "parameters": list},
				{"type": "button", "sub_type": "quick_reply", "index": 0, "parameters": []object{{"type": "payload", "payload": "show:1"}}},
			}},
		}
	}
	for _, tt := range []struct {
		name string
		body object
		code int
	}{
		{"a name nobody approved", template("unknown", "a", "b"), 132001},
		{"one parameter too few", template("handoff_brief", "a"), 132000},
		{"a line break in a parameter", template("handoff_brief", "a\nb", "c"), 132012},
		{"four spaces in a parameter", template("handoff_brief", "a    b", "c"), 132012},
		{"an empty parameter", template("handoff_brief", "", "c"), 131008},
	} {
		if code, out := b.send(tt.body); code/100 != 4 || out.Error.Code != tt.code {
			t.Errorf("%s: %d %+v, want %d", tt.name, code, out.Error, tt.code)
		}
	}
	if code, out := b.send(template("handoff_brief", "Jane", "a refund")); code != http.StatusOK || out.Messages[0]["message_status"] != "accepted" {
		t.Fatalf("answered %d %+v", code, out)
	}
	got := b.messages(url.Values{"phone": {jane}})
	want := &whatsapp.FilledTemplate{
		Name: "handoff_brief", Language: "en", Parameters: []string{"Jane", "a refund"},
		Buttons: []whatsapp.Choice{{ID: "show:1", Title: "Show"}},
	}
	if len(got) != 1 || got[0].Type != "template" || got[0].Text != "Jane asks for help: a refund" {
		t.Fatalf("the phone shows %+v", got)
	}
	if diff := cmp.Diff(want, got[0].Template); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	b.write(object{"from": jane, "button": object{"id": "show:1"}})
	for {
		_, v := b.product.next(t)
		if len(v.Messages) == 0 {
			continue
		}
		if v.Messages[0]["type"] != "button" || !cmp.Equal(v.Messages[0]["button"], object{"payload": "show:1", "text": "Show"}) {
			t.Errorf("the tap came as %v, want a template's quick reply", v.Messages[0])
		}
		return
	}
}

func TestRatesFollowRealTime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *whatsapp.Config) { c.PairBurst, c.Throughput = 3, 5 })
	b.hello()
	for range 3 {
		if code, out := b.send(textTo(jane, "x")); code != http.StatusOK {
			t.Fatalf("within the burst: %d %+v", code, out.Error)
		}
	}
	if code, out := b.send(textTo(jane, "x")); code != http.StatusTooManyRequests || out.Error.Code != 131056 {
		t.Errorf("over the pair rate: %d %+v, want 131056", code, out.Error)
	}
	b.real.Add(6 * time.Second)
	for i, want := range []int{0, 131056} {
		if _, out := b.send(textTo(jane, "x")); out.Error.Code != want {
			t.Errorf("message %d after six seconds: code %d, want %d", i+1, out.Error.Code, want)
		}
	}
	for i, want := range []int{131047, 131047, 131047, 131047, 130429} {
		if _, out := b.send(textTo("25470000020"+string(rune('0'+i)), "x")); out.Error.Code != want {
			t.Errorf("message %d to others: code %d, want %d", i+1, out.Error.Code, want)
		}
	}
}

func TestProgrammedFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	b.ok("/sim/whatsapp/next", object{"phone": "+254700000999", "code": 131026})
	b.ok("/sim/whatsapp/next", object{"phone": jane, "code": 80007, "times": 2})
	for range 2 {
		code, out := b.send(textTo(jane, "x"))
		if code != http.StatusTooManyRequests || out.Error.Code != 80007 || out.Error.Subcode != 2446079 || !out.Error.Transient {
			t.Errorf("answered %d %+v, want 80007", code, out.Error)
		}
	}
	b.ok("/sim/whatsapp/next", object{"code": 131026, "mode": "status"})
	if code, _ := b.send(textTo(jane, "x")); code != http.StatusOK {
		t.Errorf("answered %d, want the message taken", code)
	}
	if _, v := b.product.next(t); len(v.Statuses) != 1 || v.Statuses[0].Status != "failed" || v.Statuses[0].Errors[0]["code"] != 131026.0 {
		t.Errorf("got %+v, want failed with 131026", v)
	}
	if code, _ := b.send(textTo(jane, "x")); code != http.StatusOK {
		t.Errorf("after the programs: %d, want 200", code)
	}
}

func TestEveryErrorCodeHasItsHTTPStatus(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *whatsapp.Config) { c.PairBurst = 100 })
	b.hello()
	for code, status := range map[int]int{
		4: 429, 17: 429, 190: 401, 130403: 403, 130472: 400, 131000: 500, 131005: 403, 131016: 503, 131026: 400, 131042: 400,
		131047: 400, 131048: 429, 131049: 400, 131050: 400, 131051: 400, 131052: 400, 131057: 503, 131062: 400, 133010: 400,
	} {
		b.ok("/sim/whatsapp/next", object{"code": code})
		if got, out := b.send(textTo(jane, "x")); got != status || out.Error.Code != code || out.Error.Message == "" {
			t.Errorf("code %d: answered %d %+v, want %d", code, got, out.Error, status)
		}
	}
}

func TestALostResponseLeavesTheMessageDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	b.ok("/sim/whatsapp/next", object{"phone": jane, "mode": "lose_response"})
	body := strings.NewReader(`{"messaging_product":"whatsapp","to":"254700000101","text":{"body":"once"},"biz_opaque_callback_data":"row-9"}`)
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, b.server.URL+"/graph/v23.0/"+spaID+"/messages", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = auth()
	if resp, err := b.server.Client().Do(req); err == nil {
		_ = resp.Body.Close()
		t.Fatalf("answered %d, want a broken connection", resp.StatusCode)
	}
	if got := b.messages(url.Values{"phone": {jane}}); len(got) != 1 || got[0].Text != "once" {
		t.Errorf("the phone shows %+v, want the message once", got)
	}
	if _, v := b.product.next(t); len(v.Statuses) != 1 || v.Statuses[0].Opaque != "row-9" {
		t.Errorf("got %+v, want a status with the opaque data", v)
	}
}

func TestAProgramIsCheckedWhenItIsMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, bodies := range map[string][]string{
		"/sim/whatsapp/next": {
			``, `[]`, `{}`, `{"code":-1}`, `{"code":1,"mode":"fax"}`, `{"code":1,"times":-1}`, `{"code":1,"delay_ms":-1}`,
			`{"code":1,"mode":"lose_response"}`, `{"code":1} x`,
		},
		"/sim/whatsapp/statuses": {`{"order":["seen"]}`, `{"deliveries":1000}`, `{"times":-1}`},
		"/sim/whatsapp/settings": {`{"window_mode":"never"}`},
		"/sim/whatsapp/open":     {`{"phone":1}`},
		"/sim/whatsapp/verify":   {`{"number":1}`},
	} {
		for _, body := range bodies {
			var out inboundAnswer
			code := b.do(http.MethodPost, path, nil, body, &out)
			if code != http.StatusBadRequest || out.Error.Code != "invalid" || out.Error.Message == "" {
				t.Errorf("POST %s %s answered %d %+v, want 400 with a sentence", path, body, code, out)
			}
		}
	}
}
