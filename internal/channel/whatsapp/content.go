package whatsapp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ratiba/ratiba/internal/message"
)

// file is the content of an image, audio, voice, video, document or sticker.
type file struct {
	ID       str  `json:"id"`
	MIME     str  `json:"mime_type"`
	SHA256   str  `json:"sha256"`
	Caption  str  `json:"caption"`
	Filename str  `json:"filename"`
	Voice    bool `json:"voice"`
}

type body struct {
	Body str `json:"body"`
}

type tapped struct {
	ID    str `json:"id"`
	Title str `json:"title"`
	Name  str `json:"name"`
	Body  str `json:"body"`
}

// content reads the part of a message that its type names into in. Only a part
// of the wrong JSON type is an error; a missing or unknown one makes the message
// Unsupported, so that its sender still gets an answer.
func content(in *message.Inbound, kind string, raw json.RawMessage) error {
	var m struct {
		Context struct {
			ID str `json:"id"`
		} `json:"context"`
		Errors []wireError `json:"errors"`
		Text   *body       `json:"text"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	in.ReplyTo = cut(string(m.Context.ID), maxID)
	switch kind {
	case "text", "":
		if m.Text == nil {
			unsupported(in, kind, m.Errors)
			return nil
		}
		in.Kind, in.Text = message.Text, cut(string(m.Text.Body), maxText)
		return nil
	case "image", "audio", "voice", "video", "document", "sticker":
		return part(in, kind, raw, readFile(kind))
	case "location":
		return part(in, kind, raw, readPlace)
	case "contacts":
		return part(in, kind, raw, readCards)
	case "reaction":
		return part(in, kind, raw, readReaction)
	case "interactive":
		return part(in, kind, raw, readInteractive)
	case "button":
		return part(in, kind, raw, readButton)
	case "order":
		return part(in, kind, raw, readOrder)
	case "system":
		return part(in, kind, raw, readSystem)
	case "edit":
		return part(in, kind, raw, readEdit)
	case "revoke":
		return part(in, kind, raw, readRevoke)
	}
	unsupported(in, kind, m.Errors)
	return nil
}

// part decodes the member of raw called kind and lets read fill in. A missing
// part, or one read refuses with a reason, makes the message Unsupported.
func part[P any](in *message.Inbound, kind string, raw json.RawMessage, read func(*message.Inbound, P) string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if member, found := members[kind]; found && string(member) != "null" {
		var p P
		if err := json.Unmarshal(member, &p); err != nil {
			return err
		}
		filled := *in
		if reason := read(&filled, p); reason != "" {
			in.Kind, in.Detail = message.Unsupported, kind+": "+reason
			return nil
		}
		*in = filled
		return nil
	}
	unsupported(in, kind, nil)
	return nil
}

// unsupported keeps what the provider says about a message it does not pass on.
func unsupported(in *message.Inbound, kind string, errs []wireError) {
	in.Kind, in.Detail = message.Unsupported, cut(kind, maxName)
	if len(errs) > 0 {
		in.Detail = fmt.Sprintf("%s: %d %s", in.Detail, errs[0].Code.int(), errs[0].text())
	}
}

func readFile(kind string) func(*message.Inbound, file) string {
	return func(in *message.Inbound, f file) string {
		if f.ID == "" || len(f.ID) > maxID {
			return "it has no usable id"
		}
		a := &message.Attachment{
			ID: string(f.ID), Kind: kind, MIME: cut(string(f.MIME), maxName),
			Filename: cut(string(f.Filename), maxName), Caption: cut(string(f.Caption), maxText),
			SHA256: cut(string(f.SHA256), maxName), Voice: f.Voice,
		}
		if kind == "voice" {
			a.Kind, a.Voice = "audio", true
		}
		in.Kind, in.Attachment, in.Text = message.Media, a, a.Caption
		return ""
	}
}

func readPlace(in *message.Inbound, p struct {
	Latitude  num `json:"latitude"`
	Longitude num `json:"longitude"`
	Name      str `json:"name"`
	Address   str `json:"address"`
},
) string {
	lat, ok := p.Latitude.float()
	lng, fine := p.Longitude.float()
	if !ok || !fine || lat < -90 || lat > 90 || lng < -180 || lng > 180 {
		return "it lies nowhere on earth"
	}
	in.Kind = message.Location
	in.Place = &message.Place{
		Latitude: lat, Longitude: lng,
		Name: cut(string(p.Name), maxName), Address: cut(string(p.Address), maxDetail),
	}
	return ""
}

type card struct {
	Name struct {
		Formatted str `json:"formatted_name"`
		First     str `json:"first_name"`
	} `json:"name"`
	Phones []struct {
		Phone str `json:"phone"`
		WaID  str `json:"wa_id"`
	} `json:"phones"`
}

func readCards(in *message.Inbound, cards []card) string {
	for _, c := range cards[:min(len(cards), maxCards)] {
		out := message.Card{Name: cut(firstOf(c.Name.Formatted, c.Name.First), maxName)}
		for _, p := range c.Phones[:min(len(c.Phones), maxPhones)] {
			if phone := cardPhone(string(p.WaID), string(p.Phone)); phone != "" {
				out.Phones = append(out.Phones, phone)
			}
		}
		in.Cards = append(in.Cards, out)
	}
	if len(in.Cards) == 0 {
		return "it holds no contact"
	}
	in.Kind = message.ContactCard
	return ""
}

// cardPhone prefers the WhatsApp id, which is international. A number written
// with its plus is international too; any other stays as it was written.
func cardPhone(waID, written string) string {
	if phone, ok := e164(waID); ok {
		return phone
	}
	written = cut(strings.TrimSpace(written), maxName)
	if strings.HasPrefix(written, "+") {
		digits := strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, written)
		if phone, ok := e164(digits); ok {
			return phone
		}
	}
	return written
}

func readReaction(in *message.Inbound, r struct {
	MessageID str `json:"message_id"`
	Emoji     str `json:"emoji"`
},
) string {
	if r.MessageID == "" || len(r.MessageID) > maxID {
		return "it names no message"
	}
	in.Kind, in.Target, in.Emoji = message.Reaction, string(r.MessageID), cut(string(r.Emoji), maxName)
	return ""
}

func readInteractive(in *message.Inbound, i struct {
	Type   str     `json:"type"`
	Button *tapped `json:"button_reply"`
	List   *tapped `json:"list_reply"`
	Flow   *tapped `json:"nfm_reply"`
},
) string {
	tap := i.Button
	in.Kind = message.Button
	if tap == nil {
		tap, in.Kind = i.List, message.List
	}
	if tap != nil {
		in.Choice, in.Text = cut(string(tap.ID), maxID), cut(string(tap.Title), maxText)
		return ""
	}
	if i.Flow != nil {
		return "nfm_reply " + cut(string(i.Flow.Name), maxName)
	}
	return cut(string(i.Type), maxName) + " is not known"
}

func readButton(in *message.Inbound, b struct {
	Payload str `json:"payload"`
	Text    str `json:"text"`
},
) string {
	in.Kind, in.Choice, in.Text = message.Button, cut(string(b.Payload), maxID), cut(string(b.Text), maxText)
	return ""
}

func readOrder(in *message.Inbound, o struct {
	Text  str               `json:"text"`
	Items []json.RawMessage `json:"product_items"`
},
) string {
	in.Kind, in.Text, in.Detail = message.Order, cut(string(o.Text), maxText), fmt.Sprintf("%d items", len(o.Items))
	return ""
}

func readSystem(in *message.Inbound, s struct {
	Type   str `json:"type"`
	WaID   str `json:"wa_id"`
	NewID  str `json:"new_wa_id"` // its name before version 12
	UserID str `json:"user_id"`
},
) string {
	phone := s.WaID
	if phone == "" {
		phone = s.NewID
	}
	in.Kind, in.Detail, in.NewIDs = message.System, cut(string(s.Type), maxName), identities(phone, s.UserID)
	return ""
}

func readEdit(in *message.Inbound, e struct {
	Original str                        `json:"original_message_id"`
	Message  map[string]json.RawMessage `json:"message"`
},
) string {
	if e.Original == "" || len(e.Original) > maxID {
		return "it names no message"
	}
	in.Kind, in.Target = message.Edit, string(e.Original)
	for _, kind := range []string{"text", "image", "video", "document"} {
		var now struct {
			Body    str `json:"body"`
			Caption str `json:"caption"`
		}
		if raw, found := e.Message[kind]; found && json.Unmarshal(raw, &now) == nil {
			in.Text = cut(firstOf(now.Body, now.Caption), maxText)
			return ""
		}
	}
	return "it holds no text"
}

func readRevoke(in *message.Inbound, r struct {
	Original str `json:"original_message_id"`
},
) string {
	if r.Original == "" || len(r.Original) > maxID {
		return "it names no message"
	}
	in.Kind, in.Target = message.Revoke, string(r.Original)
	return ""
}
