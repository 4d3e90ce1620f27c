// Package message is the channel-neutral form of what comes in and what goes
// out. Adapters translate to and from it; nothing else knows a channel's wire.
package message

import (
	"time"

	"github.com/ratiba/ratiba/internal/contact"
)

// Voice is the channel of telephone calls. What is said on it opens no 24-hour
// window anywhere, and is answered by speech.
const Voice = "voice"

// Kind is what an inbound or outbound message is.
type Kind string

// Kinds of message. Inbound only: Reaction (both ways), Edit, Revoke, System,
// Unsupported, Order. Outbound only: Template, RequestContact.
const (
	Text           Kind = "text"
	Button         Kind = "button" // inbound: a tapped reply button; outbound: text with up to three buttons
	List           Kind = "list"   // inbound: a tapped list row; outbound: text with a list
	Media          Kind = "media"
	Location       Kind = "location"
	ContactCard    Kind = "contact_card"
	Reaction       Kind = "reaction"
	Edit           Kind = "edit"
	Revoke         Kind = "revoke"
	Order          Kind = "order"
	System         Kind = "system" // the sender changed number or identity
	Unsupported    Kind = "unsupported"
	Template       Kind = "template"
	RequestContact Kind = "request_contact" // asks for the sender's phone with one tap
)

// Choice is something to tap: an id the product reads and a title people read.
type Choice struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"` // list rows only
}

// Attachment is a file. ID is the provider's handle until it is downloaded.
type Attachment struct {
	ID       string `json:"id,omitempty"`
	Kind     string `json:"kind"` // image, audio, video, document, sticker
	MIME     string `json:"mime,omitempty"`
	Filename string `json:"filename,omitempty"`
	Caption  string `json:"caption,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Voice    bool   `json:"voice,omitempty"` // audio recorded in the chat
}

// Place is a location.
type Place struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name,omitempty"`
	Address   string  `json:"address,omitempty"`
}

// Card is a shared contact card. Phones are E.164 where they could be read.
type Card struct {
	Name   string   `json:"name"`
	Phones []string `json:"phones"`
}

// Inbound is a message that came in. Which fields are set follows from Kind.
// Every string is hostile: it is data, never an instruction.
type Inbound struct {
	Channel    string             `json:"channel"`     // "whatsapp" or Voice
	Number     string             `json:"number"`      // the business number's provider id it was sent to
	ProviderID string             `json:"provider_id"` // the provider's message id: the dedupe key
	From       []contact.Identity `json:"from"`        // at least one
	Profile    string             `json:"profile,omitempty"`
	SentAt     time.Time          `json:"sent_at"` // by the provider, whole seconds
	Kind       Kind               `json:"kind"`
	Text       string             `json:"text,omitempty"`     // body, button or row title, caption, edited body
	Choice     string             `json:"choice,omitempty"`   // id of the tapped button or row
	ReplyTo    string             `json:"reply_to,omitempty"` // provider id of the quoted message
	Target     string             `json:"target,omitempty"`   // provider id a reaction, edit or revoke is about
	Emoji      string             `json:"emoji,omitempty"`    // reaction; "" means removed
	Attachment *Attachment        `json:"attachment,omitempty"`
	Place      *Place             `json:"place,omitempty"`
	Cards      []Card             `json:"cards,omitempty"`
	NewIDs     []contact.Identity `json:"new_ids,omitempty"` // System: the sender's new identities
	Detail     string             `json:"detail,omitempty"`  // Unsupported, System: what the provider says
}

// Status is a delivery state. Order is rank: a later one implies the earlier.
type Status string

// Delivery states as channels report them.
const (
	StatusSent      Status = "sent"
	StatusDelivered Status = "delivered"
	StatusRead      Status = "read"
	StatusFailed    Status = "failed"
)

// Rank orders states so that they only move forward: failed outranks sent but
// not delivered, because a message that was delivered did not fail.
func (s Status) Rank() int {
	switch s {
	case StatusSent:
		return 1
	case StatusFailed:
		return 2
	case StatusDelivered:
		return 3
	case StatusRead:
		return 4
	}
	return 0
}

// Receipt is a provider's word on a message we sent.
type Receipt struct {
	Channel    string    `json:"channel"`
	Number     string    `json:"number"`
	ProviderID string    `json:"provider_id"`
	Opaque     string    `json:"opaque,omitempty"` // our callback data, when the provider echoes it
	Status     Status    `json:"status"`
	At         time.Time `json:"at"`
	ErrorCode  int       `json:"error_code,omitempty"`
	ErrorText  string    `json:"error_text,omitempty"`
}

// Section groups list rows.
type Section struct {
	Title string   `json:"title,omitempty"`
	Rows  []Choice `json:"rows"`
}

// TemplateRef names an approved template and fills its body.
type TemplateRef struct {
	Name       string   `json:"name"`
	Language   string   `json:"language"`
	Parameters []string `json:"parameters,omitempty"`
	Payloads   []string `json:"payloads,omitempty"` // of quick-reply buttons, in order
}

// Outbound is a message that is to go out. Limits are the channel's; it is
// refused before sending when it breaks one.
type Outbound struct {
	Kind       Kind         `json:"kind"`
	Text       string       `json:"text,omitempty"`
	Footer     string       `json:"footer,omitempty"`
	Buttons    []Choice     `json:"buttons,omitempty"`
	ListLabel  string       `json:"list_label,omitempty"` // what the button that opens the list says
	Sections   []Section    `json:"sections,omitempty"`
	Template   *TemplateRef `json:"template,omitempty"`
	Attachment *Attachment  `json:"attachment,omitempty"`
	ReplyTo    string       `json:"reply_to,omitempty"`
	Emoji      string       `json:"emoji,omitempty"`
	Target     string       `json:"target,omitempty"` // Reaction: the message reacted to
}
