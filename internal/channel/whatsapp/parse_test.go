package whatsapp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/message"
)

const (
	number  = "415500012345678"
	waID    = "254711223344"
	bsuid   = "KE.83hTq92LmA01"
	wamid   = "wamid.QkFSQUtBMTIz"
	headNow = `"id":"` + wamid + `","timestamp":"1773055800"`
)

// webhook writes the envelope around the members of a value.
func webhook(members string) string {
	return `{"object":"whatsapp_business_account","entry":[{"id":"730000000000042","changes":[{"field":"messages","value":` +
		`{"messaging_product":"whatsapp","metadata":{"display_phone_number":"254207000111","phone_number_id":"` + number + `"},` + members + `}}]}]}`
}

// written is a message from a person with a phone and a profile.
func written(content string) string {
	return webhook(`"contacts":[{"profile":{"name":"Achieng"},"wa_id":"` + waID + `"}],"messages":[{"from":"` + waID + `",` + headNow + `,` + content + `}]`)
}

func parse(t *testing.T, body string) whatsapp.Batch {
	t.Helper()
	b, err := whatsapp.Parse([]byte(body))
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, body)
	}
	return b
}

var (
	phone   = contact.Identity{Kind: contact.Phone, Value: "+" + waID}
	userID  = contact.Identity{Kind: contact.BSUID, Value: bsuid}
	theTime = time.Unix(1773055800, 0).UTC()
)

func TestParseKinds(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, content string
		want          message.Inbound
	}{
		{"a text", `"type":"text","text":{"body":"Habari"}`, message.Inbound{Kind: message.Text, Text: "Habari"}},
		{"an empty text", `"type":"text","text":{"body":""}`, message.Inbound{Kind: message.Text}},
		{"a text whose type is missing", `"text":{"body":"Habari"}`, message.Inbound{Kind: message.Text, Text: "Habari"}},
		{"a text that quotes", `"type":"text","context":{"from":"254207000111","id":"wamid.OLD"},"text":{"body":"this one"}`, message.Inbound{Kind: message.Text, Text: "this one", ReplyTo: "wamid.OLD"}},
		{"a forwarded text", `"type":"text","context":{"forwarded":true},"text":{"body":"fwd"}`, message.Inbound{Kind: message.Text, Text: "fwd"}},
		{"a text from an advertisement", `"type":"text","referral":{"source_type":"ad","headline":["odd"]},"text":{"body":"price?"}`, message.Inbound{Kind: message.Text, Text: "price?"}},
		{"a text with NUL", `"type":"text","text":{"body":"a\u0000b"}`, message.Inbound{Kind: message.Text, Text: "ab"}},
		{"right-to-left text", `"type":"text","text":{"body":"مرحبا"}`, message.Inbound{Kind: message.Text, Text: "مرحبا"}},
		{"an image with a caption", `"type":"image","image":{"id":"9001","mime_type":"image/jpeg","sha256":"abc=","caption":"my nails"}`, message.Inbound{Kind: message.Media, Text: "my nails", Attachment: &message.Attachment{ID: "9001", Kind: "image", MIME: "image/jpeg", SHA256: "abc=", Caption: "my nails"}}},
		{"a voice note", `"type":"audio","audio":{"id":"9002","mime_type":"audio/ogg; codecs=opus","voice":true}`, message.Inbound{Kind: message.Media, Attachment: &message.Attachment{ID: "9002", Kind: "audio", MIME: "audio/ogg; codecs=opus", Voice: true}}},
		{"a voice note under its own type", `"type":"voice","voice":{"id":9003}`, message.Inbound{Kind: message.Media, Attachment: &message.Attachment{ID: "9003", Kind: "audio", Voice: true}}},
		{"a video", `"type":"video","video":{"id":"9004"}`, message.Inbound{Kind: message.Media, Attachment: &message.Attachment{ID: "9004", Kind: "video"}}},
		{"a document", `"type":"document","document":{"id":"9005","filename":"id.pdf"}`, message.Inbound{Kind: message.Media, Attachment: &message.Attachment{ID: "9005", Kind: "document", Filename: "id.pdf"}}},
		{"a sticker", `"type":"sticker","sticker":{"id":"9006","animated":true}`, message.Inbound{Kind: message.Media, Attachment: &message.Attachment{ID: "9006", Kind: "sticker"}}},
		{"a file without an id", `"type":"image","image":{"caption":"x"}`, message.Inbound{Kind: message.Unsupported, Detail: "image: it has no usable id"}},
		{"a place", `"type":"location","location":{"latitude":-1.2921,"longitude":36.8219,"name":"Sarit","address":"Westlands"}`, message.Inbound{Kind: message.Location, Place: &message.Place{Latitude: -1.2921, Longitude: 36.8219, Name: "Sarit", Address: "Westlands"}}},
		{"a place in strings", `"type":"location","location":{"latitude":"-1.5","longitude":"36"}`, message.Inbound{Kind: message.Location, Place: &message.Place{Latitude: -1.5, Longitude: 36}}},
		{"a place nowhere", `"type":"location","location":{"latitude":91,"longitude":0}`, message.Inbound{Kind: message.Unsupported, Detail: "location: it lies nowhere on earth"}},
		{"a place that is no number", `"type":"location","location":{"latitude":"NaN","longitude":0}`, message.Inbound{Kind: message.Unsupported, Detail: "location: it lies nowhere on earth"}},
		{"contact cards", `"type":"contacts","contacts":[{"name":{"formatted_name":"Wanjiku"},"phones":[{"phone":"0722 000 111","wa_id":"254722000111"},{"phone":"+254 733-000111"},{"phone":"0700 1"},{"type":"HOME"}]},{"name":{"first_name":"Otieno"}}]`, message.Inbound{Kind: message.ContactCard, Cards: []message.Card{{Name: "Wanjiku", Phones: []string{"+254722000111", "+254733000111", "0700 1"}}, {Name: "Otieno"}}}},
		{"no contact card at all", `"type":"contacts","contacts":[]`, message.Inbound{Kind: message.Unsupported, Detail: "contacts: it holds no contact"}},
		{"a reaction", `"type":"reaction","reaction":{"message_id":"wamid.OLD","emoji":"👍"}`, message.Inbound{Kind: message.Reaction, Target: "wamid.OLD", Emoji: "👍"}},
		{"a reaction removed by omission", `"type":"reaction","reaction":{"message_id":"wamid.OLD"}`, message.Inbound{Kind: message.Reaction, Target: "wamid.OLD"}},
		{"a reaction removed by an empty emoji", `"type":"reaction","reaction":{"message_id":"wamid.OLD","emoji":""}`, message.Inbound{Kind: message.Reaction, Target: "wamid.OLD"}},
		{"a reaction to nothing", `"type":"reaction","reaction":{"emoji":"👍"}`, message.Inbound{Kind: message.Unsupported, Detail: "reaction: it names no message"}},
		{"a tapped button", `"type":"interactive","context":{"id":"wamid.Q"},"interactive":{"type":"button_reply","button_reply":{"id":"yes:7","title":"Ndiyo"}}`, message.Inbound{Kind: message.Button, Choice: "yes:7", Text: "Ndiyo", ReplyTo: "wamid.Q"}},
		{"a tapped row", `"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"slot:3","title":"15:00","description":"Grace"}}`, message.Inbound{Kind: message.List, Choice: "slot:3", Text: "15:00"}},
		{"a filled-in form", `"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"name":"flow","body":"Sent","response_json":"{}"}}`, message.Inbound{Kind: message.Unsupported, Detail: "interactive: nfm_reply flow"}},
		{"an interactive answer not known", `"type":"interactive","interactive":{"type":"call_permission_reply"}`, message.Inbound{Kind: message.Unsupported, Detail: "interactive: call_permission_reply is not known"}},
		{"a template's button", `"type":"button","button":{"payload":"remind:yes","text":"Yes"}`, message.Inbound{Kind: message.Button, Choice: "remind:yes", Text: "Yes"}},
		{"an order", `"type":"order","order":{"catalog_id":"1","text":"please","product_items":[{"quantity":2},{"quantity":"1"}]}`, message.Inbound{Kind: message.Order, Text: "please", Detail: "2 items"}},
		{"a changed number", `"type":"system","system":{"type":"user_changed_number","wa_id":"254799000111","user_id":"KE.new1","body":"changed"}`, message.Inbound{Kind: message.System, Detail: "user_changed_number", NewIDs: []contact.Identity{{Kind: contact.Phone, Value: "+254799000111"}, {Kind: contact.BSUID, Value: "KE.new1"}}}},
		{"a changed number in the older form", `"type":"system","system":{"type":"customer_changed_number","new_wa_id":"254799000111"}`, message.Inbound{Kind: message.System, Detail: "customer_changed_number", NewIDs: []contact.Identity{{Kind: contact.Phone, Value: "+254799000111"}}}},
		{"a changed identity", `"type":"system","system":{"type":"customer_identity_changed"}`, message.Inbound{Kind: message.System, Detail: "customer_identity_changed"}},
		{"an edited text", `"type":"edit","edit":{"original_message_id":"wamid.OLD","message":{"type":"text","text":{"body":"at four"}}}`, message.Inbound{Kind: message.Edit, Target: "wamid.OLD", Text: "at four"}},
		{"an edited caption", `"type":"edit","edit":{"original_message_id":"wamid.OLD","message":{"type":"image","image":{"caption":"these"}}}`, message.Inbound{Kind: message.Edit, Target: "wamid.OLD", Text: "these"}},
		{"an edit without text", `"type":"edit","edit":{"original_message_id":"wamid.OLD"}`, message.Inbound{Kind: message.Unsupported, Detail: "edit: it holds no text"}},
		{"an edit of nothing", `"type":"edit","edit":{}`, message.Inbound{Kind: message.Unsupported, Detail: "edit: it names no message"}},
		{"a deleted message", `"type":"revoke","revoke":{"original_message_id":"wamid.OLD"}`, message.Inbound{Kind: message.Revoke, Target: "wamid.OLD"}},
		{"a deletion of nothing", `"type":"revoke","revoke":{}`, message.Inbound{Kind: message.Unsupported, Detail: "revoke: it names no message"}},
		{"what WhatsApp does not pass on", `"type":"unsupported","errors":[{"code":131051,"title":"Unknown","error_data":{"details":"not supported"}}]`, message.Inbound{Kind: message.Unsupported, Detail: "unsupported: 131051 not supported"}},
		{"a type of tomorrow", `"type":"hologram","hologram":{"x":1}`, message.Inbound{Kind: message.Unsupported, Detail: "hologram"}},
		{"a type without its part", `"type":"image"`, message.Inbound{Kind: message.Unsupported, Detail: "image"}},
		{"a type whose part is null", `"type":"button","button":null`, message.Inbound{Kind: message.Unsupported, Detail: "button"}},
		{"a text without its part", `"type":"text"`, message.Inbound{Kind: message.Unsupported, Detail: "text"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.want.Channel, r.want.Number, r.want.ProviderID = "whatsapp", number, wamid
			r.want.From, r.want.Profile, r.want.SentAt = []contact.Identity{phone}, "Achieng", theTime
			b := parse(t, written(r.content))
			if diff := cmp.Diff(whatsapp.Batch{Messages: []message.Inbound{r.want}}, b); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSenders(t *testing.T) {
	t.Parallel()
	const text = `,"type":"text","text":{"body":"x"}}]`
	for _, r := range []struct {
		name, members string
		want          []contact.Identity
		profile       string
	}{
		{"a phone", `"messages":[{"from":"254711223344",` + headNow + text, []contact.Identity{phone}, ""},
		{"a phone as a number", `"messages":[{"from":254711223344,` + headNow + text, []contact.Identity{phone}, ""},
		{"a phone with its plus", `"messages":[{"from":"+254711223344",` + headNow + text, []contact.Identity{phone}, ""},
		{"both ids, the phone first", `"messages":[{"from_user_id":"` + bsuid + `","from":"254711223344",` + headNow + text, []contact.Identity{phone, userID}, ""},
		{"a user id alone", `"contacts":[{"profile":{"name":"Juma"},"user_id":"` + bsuid + `"}],"messages":[{"from_user_id":"` + bsuid + `",` + headNow + text, []contact.Identity{userID}, "Juma"},
		{"a user id that the contacts complete", `"contacts":[{"profile":{"name":"Juma"},"wa_id":"254711223344","user_id":"` + bsuid + `"}],"messages":[{"from_user_id":"` + bsuid + `",` + headNow + text, []contact.Identity{phone, userID}, "Juma"},
		{"a phone that the contacts complete", `"contacts":[{"wa_id":"254711223344","user_id":"` + bsuid + `"}],"messages":[{"from":"254711223344",` + headNow + text, []contact.Identity{phone, userID}, ""},
		{"another person's profile is not taken", `"contacts":[{"profile":{"name":"Other"},"wa_id":"254700000009","user_id":"KE.other"}],"messages":[{"from":"254711223344",` + headNow + text, []contact.Identity{phone}, ""},
		{"a person without ids matches nobody", `"contacts":[{"profile":{"name":"Other"}}],"messages":[{"from":"254711223344",` + headNow + text, []contact.Identity{phone}, ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := parse(t, webhook(r.members))
			if len(b.Messages) != 1 {
				t.Fatalf("batch %+v", b)
			}
			if diff := cmp.Diff(r.want, b.Messages[0].From); diff != "" || b.Messages[0].Profile != r.profile {
				t.Errorf("profile %q, from (-want +got):\n%s", b.Messages[0].Profile, diff)
			}
		})
	}
}

func TestParseTimes(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		stamp string
		want  time.Time
	}{
		{`"1773055800"`, theTime},
		{`1773055800`, theTime},
		{`"1773055800123"`, theTime},
		{`"99999999999999999"`, time.Time{}},
		{`"99999999999999999999999"`, time.Time{}},
		{`"-5"`, time.Time{}},
		{`"soon"`, time.Time{}},
		{`null`, time.Time{}},
	} {
		b := parse(t, webhook(`"messages":[{"from":"254711223344","id":"w","timestamp":`+r.stamp+`,"text":{"body":"x"}}]`))
		if len(b.Messages) != 1 || !b.Messages[0].SentAt.Equal(r.want) {
			t.Errorf("timestamp %s: %+v, want %s", r.stamp, b, r.want)
		}
	}
}

func TestParseStatuses(t *testing.T) {
	t.Parallel()
	status := func(members string) string {
		return webhook(`"statuses":[{"id":"wamid.OUT","timestamp":"1773055800","recipient_id":"254711223344",` + members + `}]`)
	}
	for _, r := range []struct {
		name, members string
		want          message.Receipt
	}{
		{"sent, with our value", `"status":"sent","biz_opaque_callback_data":"out-7","pricing":{"billable":true,"pricing_model":"PMP"}`, message.Receipt{Status: message.StatusSent, Opaque: "out-7"}},
		{"delivered, with a conversation", `"status":"delivered","conversation":{"id":"c"}`, message.Receipt{Status: message.StatusDelivered}},
		{"read, to a user id", `"status":"read","recipient_user_id":"` + bsuid + `"`, message.Receipt{Status: message.StatusRead}},
		{"played counts as read", `"status":"played"`, message.Receipt{Status: message.StatusRead}},
		{"failed, with the details", `"status":"failed","errors":[{"code":131047,"title":"Re-engagement","message":"m","error_data":{"details":"more than 24 hours"}}]`, message.Receipt{Status: message.StatusFailed, ErrorCode: 131047, ErrorText: "more than 24 hours"}},
		{"failed, with a code in a string", `"status":"failed","errors":[{"code":"131026","title":"Undeliverable"}]`, message.Receipt{Status: message.StatusFailed, ErrorCode: 131026, ErrorText: "Undeliverable"}},
		{"failed, without a reason", `"status":"failed"`, message.Receipt{Status: message.StatusFailed}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.want.Channel, r.want.Number, r.want.ProviderID, r.want.At = "whatsapp", number, "wamid.OUT", theTime
			if diff := cmp.Diff(whatsapp.Batch{Receipts: []message.Receipt{r.want}}, parse(t, status(r.members))); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseKeepsTheRest: what cannot be read never costs what can.
func TestParseKeepsTheRest(t *testing.T) {
	t.Parallel()
	good := `{"from":"254711223344","id":"wamid.GOOD","timestamp":"1773055800","type":"text","text":{"body":"x"}}`
	for _, r := range []struct{ name, bad, reason string }{
		{"a message that is no object", `7`, "head"},
		{"one without an id", `{"from":"254711223344","text":{"body":"x"}}`, "no usable id"},
		{"one with an endless id", `{"from":"254711223344","id":"` + strings.Repeat("w", 600) + `"}`, "no usable id"},
		{"one without a sender", `{"id":"w1","text":{"body":"x"}}`, "no usable sender"},
		{"one whose sender is no number", `{"from":"someone","id":"w1","text":{"body":"x"}}`, "no usable sender"},
		{"one whose user id has blanks", `{"from_user_id":"KE. 1","id":"w1","text":{"body":"x"}}`, "no usable sender"},
		{"one from a group", `{"from":"254711223344","id":"w1","group_id":"g","text":{"body":"x"}}`, "group"},
		{"one with a strange sender", `{"from":["254711223344"],"id":"w1"}`, "head"},
		{"one with a strange text", `{"from":"254711223344","id":"w1","type":"text","text":{"body":{}}}`, "content"},
		{"one with a strange part", `{"from":"254711223344","id":"w1","type":"image","image":[]}`, "content"},
		{"one with a strange context", `{"from":"254711223344","id":"w1","type":"image","context":5,"image":{"id":"1"}}`, "content"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := parse(t, webhook(`"messages":[`+good+`,`+r.bad+`,`+good+`],"statuses":[{"id":"s","status":"sent"}]`))
			if len(b.Messages) != 2 || len(b.Receipts) != 1 || len(b.Skipped) != 1 {
				t.Fatalf("batch %+v, want 2 messages, 1 receipt, 1 skip", b)
			}
			s := b.Skipped[0]
			if s.Number != number || s.Field != "messages[1]" || !strings.Contains(s.Reason, r.reason) {
				t.Errorf("skip %+v, want one of messages[1] about %q", s, r.reason)
			}
		})
	}
	for _, r := range []struct{ name, body, field, reason string }{
		{"a status not known", webhook(`"statuses":[{"id":"s","status":"warning"}]`), "statuses[0]", `"warning"`},
		{"a status without an id", webhook(`"statuses":[{"status":"sent"}]`), "statuses[0]", "id"},
		{"a status of a strange kind", webhook(`"statuses":["sent"]`), "statuses[0]", "shape"},
		{"a contact of a strange kind", webhook(`"contacts":["me"]`), "contacts[0]", "shape"},
		{"an account's error", webhook(`"errors":[{"code":130429,"title":"Rate limit hit"}]`), "errors[0]", "130429: Rate limit hit"},
		{"another field", strings.Replace(webhook(`"x":1`), `"field":"messages"`, `"field":"account_update"`, 1), "change", `"account_update"`},
		{"no business number", strings.Replace(webhook(`"x":1`), number, "", 1), "change", "phone_number_id"},
		{"an endless business number", strings.Replace(webhook(`"x":1`), number, strings.Repeat("1", 600), 1), "change", "too long"},
		{"a change of a strange kind", `{"entry":[{"changes":[5]}]}`, "change", "shape"},
		{"an entry of a strange kind", `{"entry":[5]}`, "entry", "changes"},
		{"an entry without changes", `{"entry":[{}]}`, "entry", "changes"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := parse(t, r.body)
			if len(b.Messages)+len(b.Receipts) != 0 || len(b.Skipped) != 1 || b.Skipped[0].Field != r.field || !strings.Contains(b.Skipped[0].Reason, r.reason) {
				t.Errorf("batch %+v, want one skip of %s about %q", b, r.field, r.reason)
			}
		})
	}
}

func TestParseSeveralNumbers(t *testing.T) {
	t.Parallel()
	one := func(n, id string) string {
		return fmt.Sprintf(`{"changes":[{"field":"messages","value":{"metadata":{"phone_number_id":%s},"messages":[{"from":"254711223344","id":%q,"type":"text","text":{"body":"x"}}]}}]}`, n, id)
	}
	b := parse(t, `{"entry":[`+one(`"1"`, "a")+`,`+one(`2`, "b")+`]}`)
	if len(b.Messages) != 2 || b.Messages[0].Number != "1" || b.Messages[1].Number != "2" {
		t.Errorf("batch %+v, want messages to 1 and 2 in order", b)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", "[]", "null", "{}", `{"object":"page","entry":[{}]}`, `{"entry":[]}`, `{"object":[1],"entry":[{}]}`} {
		if _, err := whatsapp.Parse([]byte(body)); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("Parse(%s) = %v, want invalid", body, err)
		}
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10_000, 65_536, 65_537, 200_000} {
		long := strings.Repeat("é", size/2)
		got := parse(t, written(`"type":"text","text":{"body":"`+long+`"}`)).Messages[0].Text
		if want := min(len(long), 65_536); len(got) != want || !utf8.ValidString(got) {
			t.Errorf("%d bytes became %d, want %d", len(long), len(got), want)
		}
	}
	cards := strings.Repeat(`{"name":{"formatted_name":"n"},"phones":[`+strings.Repeat(`{"wa_id":"254711223344"},`, 40)+`{"wa_id":"254711223344"}]},`, 40)
	in := parse(t, written(`"type":"contacts","contacts":[`+strings.TrimSuffix(cards, ",")+`]`)).Messages[0]
	if len(in.Cards) != 20 || len(in.Cards[0].Phones) != 10 {
		t.Errorf("%d cards with %d phones, want 20 with 10", len(in.Cards), len(in.Cards[0].Phones))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(written(`"type":"text","text":{"body":"x"}`)))
	f.Add([]byte(written(`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"1","title":"2"}}`)))
	f.Add([]byte(written(`"type":"contacts","contacts":[{"phones":[{"phone":"+1 2"}]}]`)))
	f.Add([]byte(written(`"type":"edit","edit":{"original_message_id":"o","message":{"text":{"body":"x"}}}`)))
	f.Add([]byte(written(`"type":"location","location":{"latitude":"1e999","longitude":null}`)))
	f.Add([]byte(webhook(`"contacts":[{"user_id":"KE.1"}],"messages":[{"from_user_id":"KE.1","id":1}],"statuses":[{"id":"s","status":"failed","errors":[{}]}]`)))
	f.Add([]byte(`{"entry":[{"changes":[{"value":{"metadata":null}}]},null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := whatsapp.Parse(body)
		if err != nil {
			if fault.CodeOf(err) != fault.Invalid {
				t.Errorf("err = %v", err)
			}
			return
		}
		for _, in := range b.Messages {
			if in.ProviderID == "" || in.Number == "" || len(in.From) == 0 || in.Kind == "" {
				t.Errorf("incomplete message %+v", in)
			}
			for _, id := range in.From {
				if id.Value == "" || id.Kind == contact.Phone && !strings.HasPrefix(id.Value, "+") {
					t.Errorf("odd identity %+v", id)
				}
			}
			for _, s := range []string{in.Text, in.Profile, in.Choice, in.Detail, in.Target, in.ReplyTo, in.Emoji} {
				if len(s) > 65_536 || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
					t.Errorf("unbounded or broken text %.40q", s)
				}
			}
		}
		for _, r := range b.Receipts {
			if r.ProviderID == "" || r.Number == "" || r.Status.Rank() == 0 {
				t.Errorf("incomplete receipt %+v", r)
			}
		}
		for _, s := range b.Skipped {
			if s.Field == "" || s.Reason == "" {
				t.Errorf("silent skip %+v", s)
			}
		}
	})
}
