package whatsapp

import (
	"cmp"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
)

// object is a JSON object of the wire. Objects are built per kind, because each
// kind has its own few members and an empty one must be absent.
type object map[string]any

// payload returns what is posted for out, or a Defect when out breaks a limit or
// nobody is named that it could go to.
func payload(to []contact.Identity, out message.Outbound, opaque string) (object, error) {
	if err := Check(out); err != nil {
		return nil, err
	}
	if len(opaque) > maxOpaque {
		return nil, over("opaque value", maxOpaque)
	}
	p := object{"messaging_product": "whatsapp", "recipient_type": "individual"}
	for _, id := range to {
		switch id.Kind {
		case contact.Phone:
			if p["to"] == nil {
				p["to"] = id.Value
			}
		case contact.BSUID:
			if p["recipient"] == nil {
				p["recipient"] = id.Value
			}
		case contact.Email: // of no use here
		}
	}
	if p["to"] == nil && p["recipient"] == nil {
		return nil, defect("the message has no receiver with a phone or a user id")
	}
	if opaque != "" {
		p["biz_opaque_callback_data"] = opaque
	}
	if out.ReplyTo != "" && out.Kind != message.Reaction {
		p["context"] = object{"message_id": out.ReplyTo}
	}
	kind, content := typed(out)
	p["type"], p[kind] = kind, content
	return p, nil
}

// typed returns the wire's type of a checked message and its content.
func typed(out message.Outbound) (string, any) {
	switch out.Kind { //nolint:exhaustive // Check has refused every other kind.
	case message.Button, message.List, message.RequestContact:
		return "interactive", interactive(out)
	case message.Template:
		return "template", template(out.Template)
	case message.Media:
		return out.Attachment.Kind, media(out)
	case message.Reaction:
		return "reaction", object{"message_id": out.Target, "emoji": out.Emoji}
	}
	return "text", object{"body": out.Text, "preview_url": false}
}

func interactive(out message.Outbound) object {
	i := object{"body": object{"text": out.Text}}
	if out.Footer != "" {
		i["footer"] = object{"text": out.Footer}
	}
	switch out.Kind { //nolint:exhaustive // the caller passes these three.
	case message.RequestContact:
		i["type"], i["action"] = "contact_request", object{"name": "request_contact_info"}
	case message.Button:
		buttons := make([]object, 0, len(out.Buttons))
		for _, b := range out.Buttons {
			buttons = append(buttons, object{"type": "reply", "reply": object{"id": b.ID, "title": b.Title}})
		}
		i["type"], i["action"] = "button", object{"buttons": buttons}
	case message.List:
		sections := make([]object, 0, len(out.Sections))
		for _, s := range out.Sections {
			sections = append(sections, section(s))
		}
		i["type"], i["action"] = "list", object{"button": out.ListLabel, "sections": sections}
	}
	return i
}

func section(s message.Section) object {
	rows := make([]object, 0, len(s.Rows))
	for _, r := range s.Rows {
		row := object{"id": r.ID, "title": r.Title}
		if r.Description != "" {
			row["description"] = r.Description
		}
		rows = append(rows, row)
	}
	o := object{"rows": rows}
	if s.Title != "" {
		o["title"] = s.Title
	}
	return o
}

func template(t *message.TemplateRef) object {
	var components []object
	if len(t.Parameters) > 0 {
		params := make([]object, 0, len(t.Parameters))
		for _, p := range t.Parameters {
			params = append(params, object{"type": "text", "text": p})
		}
		components = append(components, object{"type": "body", "parameters": params})
	}
	for i, p := range t.Payloads {
		components = append(components, object{
			"type": "button", "sub_type": "quick_reply", "index": i,
			"parameters": []object{{"type": "payload", "payload": p}},
		})
	}
	o := object{"name": t.Name, "language": object{"code": t.Language}}
	if components != nil {
		o["components"] = components
	}
	return o
}

func media(out message.Outbound) object {
	a := out.Attachment
	o := object{"id": a.ID}
	if caption := cmp.Or(a.Caption, out.Text); caption != "" {
		o["caption"] = caption
	}
	if a.Kind == "document" && a.Filename != "" {
		o["filename"] = a.Filename
	}
	return o
}
