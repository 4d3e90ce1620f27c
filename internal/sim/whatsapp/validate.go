package whatsapp

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/sim/face"
)

// Limits of the Cloud API, in characters unless said otherwise (Graph API v23).
const (
	maxText          = 4096
	maxBody          = 1024
	maxListBody      = 4096
	maxHeader        = 60
	maxFooter        = 60
	maxButtons       = 3 // buttons
	maxButtonTitle   = 20
	maxButtonID      = 256
	maxListButton    = 20
	maxSections      = 10 // sections
	maxRows          = 10 // rows of all sections together
	maxRowTitle      = 24
	maxRowDetail     = 72
	maxRowID         = 200
	maxSectionTitle  = 24
	maxCaption       = 1024
	maxLinkTitle     = 20
	maxOpaque        = 512
	minPhone         = 7  // digits
	maxPhone         = 15 // digits
	maxBSUID         = 131
	maxTemplateName  = 512
	maxTemplateParam = 1024
)

func length(s string) int { return utf8.RuneCountInString(s) }

// fits reports whether there is a text and it is not too long.
func fits(s string, limit int) bool { return s != "" && length(s) <= limit }

// validate checks what does not depend on who receives.
func (r *sendRequest) validate() *apiError {
	if r.Product != "whatsapp" {
		return misshaped("The parameter messaging_product is required.")
	}
	if r.RecipientType != "" && r.RecipientType != "individual" {
		return misshaped("Param recipient_type must be individual.")
	}
	if r.To == "" && r.Recipient == "" {
		return misshaped("The parameter to is required.")
	}
	if digits := face.Digits(r.To); r.To != "" && (len(digits) < minPhone || len(digits) > maxPhone) {
		return misshaped("Param to must be a phone number.")
	}
	if r.To == "" && !validBSUID(r.Recipient) {
		return misshaped("Param recipient must be a business-scoped user id.")
	}
	if length(r.Opaque) > maxOpaque {
		return misshaped("Param biz_opaque_callback_data must be at most %d characters long.", maxOpaque)
	}
	return r.validateContent()
}

func (r *sendRequest) validateContent() *apiError {
	switch r.Type {
	case "text":
		return r.Text.validate()
	case "interactive":
		if r.Interactive == nil {
			return misshaped("The parameter interactive is required.")
		}
		return r.Interactive.validate()
	case "template":
		return r.Template.validate()
	case "reaction":
		if r.Reaction == nil || r.Reaction.MessageID == "" {
			return misshaped("The parameter reaction['message_id'] is required.")
		}
	case "location":
		if r.Location == nil || r.Location.Latitude < -90 || r.Location.Latitude > 90 ||
			r.Location.Longitude < -180 || r.Location.Longitude > 180 {
			return misshaped("The parameter location needs a latitude and a longitude.")
		}
	case "contacts":
		if len(r.Contacts) == 0 {
			return misshaped("The parameter contacts is required.")
		}
	case "image", "audio", "video", "document", "sticker":
		return r.validateMedia()
	default:
		return misshaped("Param type must be one of the message types; got %q.", r.Type)
	}
	return nil
}

func (t *textSend) validate() *apiError {
	if t == nil || strings.TrimSpace(t.Body) == "" {
		return misshaped("The parameter text['body'] is required.")
	}
	if length(t.Body) > maxText {
		return misshaped("Param text['body'] must be at most %d characters long.", maxText)
	}
	return nil
}

func (t *templateSend) validate() *apiError {
	if t == nil || !fits(t.Name, maxTemplateName) {
		return misshaped("The parameter template['name'] is required.")
	}
	if t.Language.Code == "" {
		return misshaped("The parameter template['language']['code'] is required.")
	}
	return nil
}

func (r *sendRequest) validateMedia() *apiError {
	m := r.mediaPart()
	if m == nil || (m.ID == "") == (m.Link == "") {
		return misshaped("The parameter %s needs either id or link.", r.Type)
	}
	if length(m.Caption) > maxCaption {
		return invalid("Caption length invalid. Max length: %d", maxCaption)
	}
	return nil
}

func (r *sendRequest) mediaPart() *mediaSend {
	switch r.Type {
	case "image":
		return r.Image
	case "audio":
		return r.Audio
	case "video":
		return r.Video
	case "document":
		return r.Document
	case "sticker":
		return r.Sticker
	}
	return nil
}

// validBSUID reports whether s has the form CC.XXXX: two letters, a dot, up
// to 128 letters and digits (a further dotted part marks an enterprise id).
func validBSUID(s string) bool {
	country, rest, found := strings.Cut(s, ".")
	if !found || len(country) != 2 || rest == "" || len(s) > maxBSUID {
		return false
	}
	for _, c := range country + rest {
		letter := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return true
}

func (i *interactive) validate() *apiError {
	limit := maxBody
	if i.Type == "list" {
		limit = maxListBody
	}
	if i.Body == nil || strings.TrimSpace(i.Body.Text) == "" {
		return coded(131008, "The body of an interactive message is required.")
	}
	if length(i.Body.Text) > limit {
		return invalid("Body text length invalid. Min length: 1, Max length: %d", limit)
	}
	if i.Header != nil && i.Header.Type == "text" && !fits(i.Header.Text, maxHeader) {
		return invalid("Header text length invalid. Min length: 1, Max length: %d", maxHeader)
	}
	if i.Footer != nil && !fits(i.Footer.Text, maxFooter) {
		return invalid("Footer text length invalid. Min length: 1, Max length: %d", maxFooter)
	}
	if i.Action == nil {
		return coded(131008, "The action of an interactive message is required.")
	}
	switch i.Type {
	case "button":
		return i.Action.validateButtons()
	case "list":
		return i.Action.validateList()
	case "contact_request":
		if i.Action.Name != "request_contact_info" {
			return invalid("Action name of a contact request must be request_contact_info")
		}
	case "cta_url":
		link, err := url.Parse(i.Action.Parameters.URL)
		if i.Action.Name != "cta_url" || err != nil || (link.Scheme != "https" && link.Scheme != "http") || link.Host == "" {
			return invalid("Action of a link button needs the name cta_url and an absolute url")
		}
		if !fits(i.Action.Parameters.DisplayText, maxLinkTitle) {
			return invalid("Display text length invalid. Min length: 1, Max length: %d", maxLinkTitle)
		}
	default:
		return misshaped("Param interactive['type'] has the unknown value %q.", i.Type)
	}
	return nil
}

func (a *action) validateButtons() *apiError {
	if n := len(a.Buttons); n < 1 || n > maxButtons {
		return misshaped("Invalid buttons count. Min allowed buttons: 1, Max allowed buttons: %d", maxButtons)
	}
	ids, titles := map[string]bool{}, map[string]bool{}
	for _, b := range a.Buttons {
		switch {
		case b.Type != "reply":
			return misshaped("Param type of a button must be reply.")
		case !fits(b.Reply.Title, maxButtonTitle):
			return invalid("Button title length invalid. Min length: 1, Max length: %d", maxButtonTitle)
		case !fits(b.Reply.ID, maxButtonID):
			return invalid("Button id length invalid. Min length: 1, Max length: %d", maxButtonID)
		case ids[b.Reply.ID]:
			return invalid("Duplicate button id: %s", b.Reply.ID)
		case titles[b.Reply.Title]:
			return invalid("Duplicate button title: %s", b.Reply.Title)
		}
		ids[b.Reply.ID], titles[b.Reply.Title] = true, true
	}
	return nil
}

func (a *action) validateList() *apiError {
	if !fits(a.Button, maxListButton) {
		return invalid("List button length invalid. Min length: 1, Max length: %d", maxListButton)
	}
	if n := len(a.Sections); n < 1 || n > maxSections {
		return invalid("Invalid sections count. Min allowed sections: 1, Max allowed sections: %d", maxSections)
	}
	ids, rows := map[string]bool{}, 0
	for _, section := range a.Sections {
		switch {
		case len(a.Sections) > 1 && section.Title == "":
			return coded(131008, "Section title is required when there is more than one section.")
		case length(section.Title) > maxSectionTitle:
			return invalid("Section title length invalid. Max length: %d", maxSectionTitle)
		case len(section.Rows) == 0:
			return invalid("Invalid rows count. A section needs at least one row")
		}
		for _, row := range section.Rows {
			rows++
			switch {
			case !fits(row.Title, maxRowTitle):
				return invalid("Row title length invalid. Min length: 1, Max length: %d", maxRowTitle)
			case length(row.Description) > maxRowDetail:
				return invalid("Row description length invalid. Max length: %d", maxRowDetail)
			case !fits(row.ID, maxRowID):
				return invalid("Row id length invalid. Min length: 1, Max length: %d", maxRowID)
			case ids[row.ID]:
				return invalid("Duplicate row id: %s", row.ID)
			}
			ids[row.ID] = true
		}
	}
	if rows > maxRows {
		return invalid("Total row count exceeds the maximum allowed count: %d", maxRows)
	}
	return nil
}
