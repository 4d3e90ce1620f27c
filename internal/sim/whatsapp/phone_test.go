package whatsapp_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

func TestALongPollEndsWithTheMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	got := make(chan []whatsapp.Received)
	go func() { got <- b.messages(url.Values{"phone": {jane}, "wait": {"20"}}) }()
	if code, _ := b.send(textTo(jane, "now")); code != http.StatusOK {
		t.Fatalf("answered %d", code)
	}
	first := <-got
	if len(first) != 1 || first[0].Text != "now" {
		t.Fatalf("the poll brought %+v", first)
	}
	after := strconv.FormatInt(first[0].Seq, 10)
	if rest := b.messages(url.Values{"phone": {jane}, "after": {after}}); len(rest) != 0 {
		t.Errorf("after the last one came %+v", rest)
	}
	if rest := b.messages(url.Values{"phone": {jane}, "after": {after}, "wait": {"0.01"}}); rest == nil || len(rest) != 0 {
		t.Errorf("a poll that ran out brought %#v, want an empty list", rest)
	}
	if other := b.messages(url.Values{"phone": {jane}, "number": {"42"}}); len(other) != 0 {
		t.Errorf("another number brought %+v", other)
	}
	for _, query := range []string{"", "phone=" + jane[1:] + "&after=x", "phone=1&wait=-1", "phone=1&wait=NaN"} {
		if code := b.do(http.MethodGet, "/sim/whatsapp/messages?"+query, nil, nil, nil); code != http.StatusBadRequest {
			t.Errorf("%q answered %d, want 400", query, code)
		}
	}
}

func TestEveryFormShowsOnThePhone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.hello()
	for _, body := range []object{
		interactiveTo(object{
			"type": "button", "header": object{"type": "text", "text": "Spa"}, "body": object{"text": "Which?"}, "footer": object{"text": "Serenity"},
			"action": object{"buttons": []object{{"type": "reply", "reply": object{"id": "a", "title": "A"}}}},
		}),
		list("Choose", object{"id": "s1", "title": "Massage", "description": "90 minutes"}),
		{"messaging_product": "whatsapp", "to": jane, "type": "reaction", "reaction": object{"message_id": id, "emoji": "🙏"}},
		{"messaging_product": "whatsapp", "to": jane, "type": "location", "location": object{"latitude": -1.3, "longitude": 36.8}},
		{"messaging_product": "whatsapp", "to": jane, "type": "image", "image": object{"link": "https://spa.example/a.png", "caption": "our room"}},
		{"messaging_product": "whatsapp", "to": jane, "type": "contacts", "contacts": []object{{
			"name": object{"formatted_name": "Grace"}, "phones": []object{{"phone": "+254711"}},
		}}},
		interactiveTo(object{"type": "contact_request", "body": object{"text": "Your number?"}, "action": object{"name": "request_contact_info"}}),
		with(textTo(jane, "quoted"), "context", object{"message_id": id}),
	} {
		if code, out := b.send(body); code != http.StatusOK {
			t.Fatalf("%v answered %d %+v", body, code, out.Error)
		}
	}
	got := b.messages(url.Values{"phone": {jane}, "number": {"+" + spaPhone}})
	want := []whatsapp.Received{
		{Type: "buttons", Text: "Which?", Header: "Spa", Footer: "Serenity", Buttons: []whatsapp.Choice{{ID: "a", Title: "A"}}},
		{Type: "list", Text: "Times", ListButton: "Choose", List: []whatsapp.Section{{
			Title: "Today", Rows: []whatsapp.Choice{{ID: "s1", Title: "Massage", Description: "90 minutes"}},
		}}},
		{Type: "reaction", Reaction: &whatsapp.Reaction{ID: id, Emoji: "🙏"}},
		{Type: "location", Location: &whatsapp.Place{Latitude: -1.3, Longitude: 36.8}},
		{Type: "image", Text: "our room", Media: &whatsapp.ReceivedMedia{Link: "https://spa.example/a.png"}},
		{Type: "contacts", Contacts: []whatsapp.Card{{Name: "Grace", Phones: []string{"+254711"}}}},
		{Type: "contact_request", Text: "Your number?"},
		{Type: "text", Text: "quoted", ReplyTo: id},
	}
	for i := range got {
		if got[i].Seq == 0 || got[i].ID == "" || got[i].Number != spaID || !got[i].At.Equal(noon) {
			t.Errorf("message %d has no seq, id, number or time: %+v", i, got[i])
		}
		got[i].Seq, got[i].ID, got[i].From, got[i].Number, got[i].At = 0, "", "", "", time.Time{}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b whatsapp.Received) bool { return fmt.Sprintf("%+v", flat(a)) == fmt.Sprintf("%+v", flat(b)) })); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// flat spells out what a message points to.
func flat(m whatsapp.Received) string {
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "%s|%s|%s|%s|%v|%s|%v|%s|", m.Type, m.Text, m.Header, m.Footer, m.Buttons, m.ListButton, m.List, m.ReplyTo)
	if m.Reaction != nil {
		_, _ = fmt.Fprintf(&out, "%+v", *m.Reaction)
	}
	if m.Location != nil {
		_, _ = fmt.Fprintf(&out, "%+v", *m.Location)
	}
	if m.Media != nil {
		_, _ = fmt.Fprintf(&out, "%+v", *m.Media)
	}
	_, _ = fmt.Fprintf(&out, "%+v", m.Contacts)
	return out.String()
}

type state struct {
	Name        string          `json:"name"`
	TypingUntil *time.Time      `json:"typing_until"`
	WindowUntil *time.Time      `json:"window_until"`
	Read        []string        `json:"read"`
	Sent        []whatsapp.Sent `json:"sent"`
}

func (b *bundle) state() state {
	b.t.Helper()
	var out state
	if code := b.do(http.MethodGet, "/sim/whatsapp/state?phone="+url.QueryEscape(jane)+"&number="+spaPhone, nil, nil, &out); code != http.StatusOK {
		b.t.Fatalf("state answered %d", code)
	}
	return out
}

func TestReadReceiptsAndTypingShowInTheState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if got := b.state(); len(got.Sent) != 0 || got.TypingUntil != nil {
		t.Errorf("the state of a stranger is %+v", got)
	}
	first := b.hello()
	b.clock.Add(time.Second)
	second := b.hello()
	b.clock.Add(time.Second)
	b.hello()
	mark := object{"messaging_product": "whatsapp", "status": "read", "message_id": second, "typing_indicator": object{"type": "text"}}
	if code, out := b.send(mark); code != http.StatusOK || !out.Success {
		t.Fatalf("answered %d %+v", code, out)
	}
	got := b.state()
	if diff := cmp.Diff([]string{first, second}, got.Read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if got.TypingUntil == nil || !got.TypingUntil.Equal(b.clock.Now().Add(25*time.Second)) {
		t.Errorf("typing until %v, want 25 seconds from now", got.TypingUntil)
	}
	if got.WindowUntil == nil || !got.WindowUntil.Equal(b.clock.Now().Add(24*time.Hour)) || len(got.Sent) != 3 || got.Sent[0].Text != "Hi" {
		t.Errorf("state %+v", got)
	}
	_, _ = b.send(textTo(jane, "Karibu"))
	if got := b.state(); got.TypingUntil != nil {
		t.Errorf("still typing after the message: %v", got.TypingUntil)
	}
	for _, body := range []object{
		{"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.X"},
		{"messaging_product": "whatsapp", "status": "seen", "message_id": second},
		{"status": "read", "message_id": second},
		{"messaging_product": "whatsapp", "status": "read", "message_id": second, "typing_indicator": object{"type": "audio"}},
	} {
		if code, out := b.send(body); code != http.StatusBadRequest || out.Error.Code != 100 {
			t.Errorf("%v answered %d %+v, want code 100", body, code, out)
		}
	}
}

func TestAMessageNobodyOpensIsNotRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	b.ok("/sim/whatsapp/settings", object{"auto_read": false})
	_, out := b.send(textTo(jane, "x"))
	for _, want := range []string{"sent", "delivered"} {
		if _, v := b.product.next(t); v.Statuses[0].Status != want {
			t.Errorf("got %s, want %s", v.Statuses[0].Status, want)
		}
	}
	b.ok("/sim/whatsapp/open", object{"phone": jane})
	if _, v := b.product.next(t); v.Statuses[0].Status != "read" || v.Statuses[0].ID != out.Messages[0]["id"] {
		t.Errorf("got %+v, want read", v.Statuses[0])
	}
	if code := b.do(http.MethodPost, "/sim/whatsapp/open", nil, object{"phone": "1"}, nil); code != http.StatusNotFound {
		t.Errorf("a stranger's phone answered %d, want 404", code)
	}
}

func TestStatusesComeInTheOrderProgrammed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	b.ok("/sim/whatsapp/statuses", object{"phone": jane, "order": []string{"read", "sent"}, "deliveries": 2})
	_, _ = b.send(textTo(jane, "x"))
	for _, want := range []string{"read", "read", "sent", "sent"} {
		if _, v := b.product.next(t); v.Statuses[0].Status != want {
			t.Errorf("got %s, want %s", v.Statuses[0].Status, want)
		}
	}
}

func Test360dialogHasItsOwnKeyPathAndSecret(t *testing.T) {
	t.Parallel()
	const key = "d360-key"
	b := setup(t)
	if err := b.sim.SetNumbers([]whatsapp.Number{{
		PhoneNumberID: "3", DisplayPhone: "+254711000003", Provider: whatsapp.Dialog360, AccessToken: key,
		WebhookURL: b.product.server.URL + "/webhooks/360dialog/{secret}", WebhookSecret: "s3cret",
	}}); err != nil {
		t.Fatal(err)
	}
	b.write(object{"from": jane, "to": "3", "text": "Hi"})
	h, _ := b.product.next(t)
	if h.path != "/webhooks/360dialog/s3cret" || h.header.Get("X-Hub-Signature-256") != "" {
		t.Errorf("posted to %s with %v", h.path, h.header)
	}
	b.write(object{"from": jane, "to": "3", "text": "forged", "signature": "bad"})
	if h, _ := b.product.next(t); h.path == "/webhooks/360dialog/s3cret" {
		t.Errorf("a forged webhook was posted to %s", h.path)
	}
	header := http.Header{"D360-Api-Key": {key}}
	var out sendAnswer
	if code := b.do(http.MethodPost, "/d360/messages", header, textTo(jane, "Karibu"), &out); code != http.StatusOK || len(out.Messages) != 1 {
		t.Errorf("answered %d %+v", code, out)
	}
	if code := b.do(http.MethodPost, "/d360/messages", auth(), textTo(jane, "x"), nil); code != http.StatusUnauthorized {
		t.Errorf("without the key: %d, want 401", code)
	}
	var file struct {
		ID string `json:"id"`
	}
	body, kind := form(t)
	header.Set("Content-Type", kind)
	if code := b.do(http.MethodPost, "/d360/media", header, body, &file); code != http.StatusOK || file.ID == "" {
		t.Fatalf("the upload answered %d %+v", code, file)
	}
	var meta map[string]string
	if code := b.do(http.MethodGet, "/d360/"+file.ID, header, nil, &meta); code != http.StatusOK {
		t.Fatalf("metadata answered %d %v", code, meta)
	}
	path, found := strings.CutPrefix(meta["url"], "https://lookaside.fbsbx.com")
	if !found {
		t.Fatalf("the address is %s, want Meta's host", meta["url"])
	}
	if code := b.do(http.MethodGet, path, header, nil, nil); code != http.StatusOK {
		t.Errorf("the download answered %d", code)
	}
}

func form(t *testing.T) (body []byte, contentType string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	_ = w.WriteField("messaging_product", "whatsapp")
	_ = w.WriteField("type", "application/pdf")
	part, err := w.CreateFormFile("file", "policy.pdf")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("%PDF-1.4"))
	_ = w.Close()
	return buf.Bytes(), w.FormDataContentType()
}

func TestAnUploadedFileCanBeSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hello()
	body, kind := form(t)
	header := auth()
	header.Set("Content-Type", kind)
	var file map[string]string
	if code := b.do(http.MethodPost, "/graph/v23.0/"+spaID+"/media", header, body, &file); code != http.StatusOK {
		t.Fatalf("the upload answered %d", code)
	}
	code, out := b.send(object{"messaging_product": "whatsapp", "to": jane, "type": "document", "document": object{"id": file["id"], "filename": "policy.pdf"}})
	if code != http.StatusOK {
		t.Errorf("answered %d %+v", code, out.Error)
	}
	if code := b.do(http.MethodPost, "/graph/v23.0/"+spaID+"/media", auth(), "no form", nil); code != http.StatusBadRequest {
		t.Errorf("an upload without a file answered %d, want 400", code)
	}
	var number map[string]string
	if code := b.do(http.MethodGet, "/graph/v23.0/"+spaID, auth(), nil, &number); code != http.StatusOK || number["display_phone_number"] != "+"+spaPhone {
		t.Errorf("the number is described as %d %v", code, number)
	}
}

func TestTheSubscriptionHandshake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/whatsapp/verify", object{"number": spaID})
	if code := b.do(http.MethodPost, "/sim/whatsapp/verify", nil, object{"number": "42"}, nil); code != http.StatusNotFound {
		t.Errorf("an unknown number answered %d, want 404", code)
	}
	var phones []map[string]string
	b.hello()
	if b.do(http.MethodGet, "/sim/whatsapp/phones", nil, nil, &phones); len(phones) != 1 || phones[0]["phone"] != jane || phones[0]["name"] == "" {
		t.Errorf("phones %v", phones)
	}
}

func TestFaultsOfTheConfigurationAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := whatsapp.New(whatsapp.Config{
		WindowMode: "odd",
		Numbers:    []whatsapp.Number{{}, {PhoneNumberID: "1", DisplayPhone: "1", Provider: "fax"}, {PhoneNumberID: "1", DisplayPhone: "1"}},
	})
	for _, want := range []string{"Clock", "Courier", "WindowMode", "number 1", "fax", "twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not name %s", err, want)
		}
	}
}

func TestEverySenderCanHaveAUserID(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *whatsapp.Config) { c.UserIDs = true })
	b.write(object{"from": jane, "text": "Hi"})
	_, one := b.product.next(t)
	b.write(object{"from": jane, "text": "again"})
	_, two := b.product.next(t)
	id, _ := one.Messages[0]["from_user_id"].(string)
	if !strings.HasPrefix(id, "KE.") || two.Messages[0]["from_user_id"] != id || one.Messages[0]["from"] != "254700000101" {
		t.Errorf("user ids %q and %v", id, two.Messages[0]["from_user_id"])
	}
}
