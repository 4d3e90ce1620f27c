// Package contact is the vocabulary for the people who write to a business.
package contact

import (
	"time"

	"github.com/ratiba/ratiba/internal/ids"
)

// Kind is the kind of an identity.
type Kind string

// The kinds of identity a contact may be known by. Any may be missing.
const (
	Phone Kind = "phone" // E.164 with a leading plus: +254700000001
	BSUID Kind = "bsuid" // WhatsApp's business-scoped user id: KE.12345
	Email Kind = "email"
)

// Identity is one way a contact is known.
type Identity struct {
	Kind  Kind   `json:"kind"`
	Value string `json:"value"`
}

// Contact is one customer or admin of one tenant.
type Contact struct {
	ID         ids.ContactID `json:"id"`
	Name       string        `json:"name"`        // what they call themselves, "" when unknown
	Profile    string        `json:"profile"`     // the channel's profile name: a hint, never proof
	Language   string        `json:"language"`    // last language they were answered in, "" when none yet
	PayerPhone string        `json:"payer_phone"` // a phone shared for payment only, never an identity
	Identities []Identity    `json:"identities"`
	OptedOut   time.Time     `json:"opted_out,omitzero"` // since when they want no announcements; zero: they do
}

// Phone returns the contact's own phone, or "".
func (c Contact) Phone() string { return c.find(Phone) }

// BSUID returns the contact's business-scoped user id, or "".
func (c Contact) BSUID() string { return c.find(BSUID) }

// Payer returns the phone a payment prompt goes to: the one shared for
// payment, else the contact's own, else "".
func (c Contact) Payer() string {
	if c.PayerPhone != "" {
		return c.PayerPhone
	}
	return c.Phone()
}

func (c Contact) find(k Kind) string {
	for _, i := range c.Identities {
		if i.Kind == k {
			return i.Value
		}
	}
	return ""
}
