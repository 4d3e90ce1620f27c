package whatsapp

import (
	"slices"
	"time"
)

// Received is a message on somebody's phone, as GET /sim/whatsapp/messages
// tells it. Which fields are set follows from Type: text, buttons, list,
// template, image, audio, video, document, sticker, location, contacts,
// reaction, contact_request, link.
type Received struct {
	Seq        int64           `json:"seq"` // grows over the whole simulator
	ID         string          `json:"id"`
	At         time.Time       `json:"at"`     // by the product's clock
	From       string          `json:"from"`   // the business's display phone
	Number     string          `json:"number"` // the business's phone number id
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"` // body, caption, or a template's text
	Header     string          `json:"header,omitempty"`
	Footer     string          `json:"footer,omitempty"`
	Buttons    []Choice        `json:"buttons,omitempty"`
	ListButton string          `json:"list_button,omitempty"`
	List       []Section       `json:"list,omitempty"`
	Template   *FilledTemplate `json:"template,omitempty"`
	Media      *ReceivedMedia  `json:"media,omitempty"`
	Location   *Place          `json:"location,omitempty"`
	Contacts   []Card          `json:"contacts,omitempty"`
	Reaction   *Reaction       `json:"reaction,omitempty"`
	Link       *Link           `json:"link,omitempty"`
	ReplyTo    string          `json:"reply_to,omitempty"`

	read bool
	via  *accepted // how it was sent: statuses echo it
}

// Choice is something to tap.
type Choice struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// Section groups the rows of a list.
type Section struct {
	Title string   `json:"title,omitempty"`
	Rows  []Choice `json:"rows"`
}

// FilledTemplate is a template as it was sent. A button's id is its payload.
type FilledTemplate struct {
	Name       string   `json:"name"`
	Language   string   `json:"language"`
	Parameters []string `json:"parameters"`
	Buttons    []Choice `json:"buttons,omitempty"`
}

// ReceivedMedia is a file the business sent: by id when it was uploaded, by
// link otherwise.
type ReceivedMedia struct {
	ID       string `json:"id,omitempty"`
	Link     string `json:"link,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// Place is a location.
type Place struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name,omitempty"`
	Address   string  `json:"address,omitempty"`
}

// Card is a contact card.
type Card struct {
	Name   string   `json:"name"`
	Phones []string `json:"phones"`
}

// Reaction is an emoji on a message; an empty one takes it back.
type Reaction struct {
	ID    string `json:"id"`
	Emoji string `json:"emoji"`
}

// Link is a button that opens an address.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// render turns a valid send into what the phone shows. Templates are filled
// by fill.
func (r *sendRequest) render() *Received {
	m := &Received{Type: r.Type}
	if r.Context != nil {
		m.ReplyTo = r.Context.MessageID
	}
	switch r.Type {
	case "text":
		m.Text = r.Text.Body
	case "interactive":
		r.Interactive.render(m)
	case "reaction":
		m.Reaction = &Reaction{ID: r.Reaction.MessageID, Emoji: r.Reaction.Emoji}
	case "location":
		m.Location = r.Location
	case "contacts":
		for _, c := range r.Contacts {
			card := Card{Name: c.Name.FormattedName, Phones: []string{}}
			for _, p := range c.Phones {
				card.Phones = append(card.Phones, p.Phone)
			}
			m.Contacts = append(m.Contacts, card)
		}
	case "image", "audio", "video", "document", "sticker":
		part := r.mediaPart()
		m.Text = part.Caption
		m.Media = &ReceivedMedia{ID: part.ID, Link: part.Link, Filename: part.Filename}
	}
	return m
}

func (i *interactive) render(m *Received) {
	m.Text = i.Body.Text
	if i.Header != nil {
		m.Header = i.Header.Text
	}
	if i.Footer != nil {
		m.Footer = i.Footer.Text
	}
	switch i.Type {
	case "button":
		m.Type = "buttons"
		for _, b := range i.Action.Buttons {
			m.Buttons = append(m.Buttons, Choice{ID: b.Reply.ID, Title: b.Reply.Title})
		}
	case "list":
		m.Type = "list"
		m.ListButton, m.List = i.Action.Button, i.Action.Sections
	case "contact_request":
		m.Type = "contact_request"
	case "cta_url":
		m.Type = "link"
		m.Link = &Link{Title: i.Action.Parameters.DisplayText, URL: i.Action.Parameters.URL}
	}
}

// offers returns the title of a tappable choice of m. ok is false when m has
// no such choice.
func (m *Received) offers(id string) (c Choice, ok bool) {
	choices := m.Buttons
	if m.Template != nil {
		choices = m.Template.Buttons
	}
	for _, section := range m.List {
		choices = append(slices.Clip(choices), section.Rows...)
	}
	for _, c := range choices {
		if c.ID == id {
			return c, true
		}
	}
	return Choice{}, false
}
