package whatsapp

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/ratiba/ratiba/internal/sim/face"
)

// draft is a message on its way from a person's phone to a number: the
// platform's form of it, and our note. Its methods are called with mu held.
type draft struct {
	sim    *Simulator
	number Number
	by     *person
	quoted string         // id of the message it answers, if any
	form   map[string]any // element of the webhook's messages
	note   *Sent
}

// draft begins a message with what all kinds share. Callers hold mu.
func (s *Simulator) draft(in *inbound, n Number, p *person, id string) *draft {
	now := s.clock.Now()
	d := &draft{
		sim: s, number: n, by: p, quoted: in.ReplyTo,
		form: map[string]any{"id": id, "timestamp": strconv.FormatInt(now.Unix(), 10)},
		note: &Sent{ID: id, At: now, To: "+" + face.Digits(n.DisplayPhone), Number: n.PhoneNumberID, by: p},
	}
	if in.From != "" {
		d.form["from"] = in.From
	}
	if p.bsuid != "" {
		d.form["from_user_id"] = p.bsuid
	}
	return d
}

// set gives the draft its type, our note's text and the content.
func (d *draft) set(kind, text, key string, content any) {
	d.note.Type, d.note.Text = kind, text
	d.form[key] = content
}

// write fills in what the person writes. file is the stored one of a media
// message.
func (d *draft) write(in *inbound, file *mediaFile) {
	switch {
	case in.Text != nil:
		d.set("text", *in.Text, "text", map[string]any{"body": *in.Text})
	case in.Button != nil:
		d.tapButton(in.Button)
	case in.List != nil:
		d.tapRow(in.List)
	case file != nil:
		d.set(file.kind, in.Media.Caption, file.kind, file.element(in.Media))
	case in.Contact != nil:
		d.set("contacts", in.Contact.Name, "contacts", []any{in.Contact.element()})
	case in.Location != nil:
		d.set("location", in.Location.Name, "location", in.Location.element())
	case in.Reaction != nil:
		d.set("reaction", in.Reaction.Emoji, "reaction", map[string]any{"message_id": in.Reaction.ID, "emoji": in.Reaction.Emoji})
	case in.Edit != nil:
		d.set("edit", in.Edit.Text, "edit", map[string]any{
			"original_message_id": in.Edit.ID,
			"message":             map[string]any{"type": "text", "text": map[string]any{"body": in.Edit.Text}},
		})
	case in.Revoke != nil:
		d.set("revoke", "", "revoke", map[string]any{"original_message_id": in.Revoke.ID})
	case in.Unsupported:
		d.set("unsupported", "", "errors", []any{unsupportedError()})
	default:
		maps.Copy(d.form, in.Raw)
		d.note.Type, _ = in.Raw["type"].(string)
	}
	if d.note.Type != "" {
		d.form["type"] = d.note.Type
	}
	if d.quoted != "" {
		d.form["context"] = d.context()
	}
}

// context names the message that is answered, and who wrote it.
func (d *draft) context() map[string]any {
	from := face.Digits(d.number.DisplayPhone)
	if d.sim.sent[d.quoted] != nil {
		from = d.by.phone
	}
	out := map[string]any{"id": d.quoted}
	if from != "" {
		out["from"] = from
	}
	return out
}

// tapButton makes a tap on a reply button. A template's quick reply has a form
// of its own.
func (d *draft) tapButton(tap *Choice) {
	offer, choice := d.offered(tap.ID)
	title := cmp.Or(tap.Title, choice.Title, tap.ID)
	if offer != nil && offer.Template != nil {
		d.set("button", title, "button", map[string]any{"payload": tap.ID, "text": title})
		return
	}
	d.set("interactive", title, "interactive", map[string]any{
		"type": "button_reply", "button_reply": map[string]any{"id": tap.ID, "title": title},
	})
}

func (d *draft) tapRow(tap *Choice) {
	_, choice := d.offered(tap.ID)
	title := cmp.Or(tap.Title, choice.Title, tap.ID)
	reply := map[string]any{"id": tap.ID, "title": title}
	if detail := cmp.Or(tap.Description, choice.Description); detail != "" {
		reply["description"] = detail
	}
	d.set("interactive", title, "interactive", map[string]any{"type": "list_reply", "list_reply": reply})
}

// offered finds the message whose choice is tapped, and quotes it: the one
// quoted already, or the newest of the number with such a choice.
func (d *draft) offered(id string) (*Received, Choice) {
	if m := d.sim.received[d.quoted]; m != nil {
		c, _ := m.offers(id)
		return m, c
	}
	for _, m := range slices.Backward(d.by.received) {
		if m.Number != d.number.PhoneNumberID {
			continue
		}
		if c, ok := m.offers(id); ok {
			d.quoted = cmp.Or(d.quoted, m.ID)
			return m, c
		}
	}
	return nil, Choice{}
}

func unsupportedError() map[string]any {
	return map[string]any{
		"code": 131051, "title": "Message type unknown", "message": "Message type unknown",
		"error_data": map[string]any{"details": "Message type is currently not supported."},
	}
}

func (c *inboundContact) element() map[string]any {
	all := c.Phones
	if c.Phone != "" {
		all = append([]string{c.Phone}, all...)
	}
	phones := []any{}
	for _, phone := range all {
		entry := map[string]any{"phone": phone, "type": "CELL"}
		if digits := face.Digits(phone); digits != "" {
			entry["wa_id"] = digits
		}
		phones = append(phones, entry)
	}
	name := cmp.Or(c.Name, c.Phone)
	return map[string]any{
		"name":   map[string]any{"formatted_name": name, "first_name": name},
		"phones": phones,
	}
}

func (l *inboundLocation) element() map[string]any {
	out := map[string]any{
		"latitude":  cmp.Or(l.Latitude, l.Lat),
		"longitude": cmp.Or(l.Longitude, l.Lng),
	}
	if l.Name != "" {
		out["name"] = l.Name
	}
	if l.Address != "" {
		out["address"] = l.Address
	}
	return out
}
