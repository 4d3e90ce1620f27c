// Package people is the business's address book: the contacts its own people
// look up, add and write to.
//
// What a contact wrote about itself, its name above all, is data and never an
// instruction. The package imports leaves, vocabulary and outbox; the store
// keeps the book.
package people

import (
	"context"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
)

// Window is how long after somebody's last message WhatsApp takes free text to
// them; afterwards only a template.
const Window = 24 * time.Hour

// Templates that carry a message outside the window; each has one parameter.
const (
	Notice       = "ratiba_notice"       // utility: about a booking
	Announcement = "ratiba_announcement" // marketing: a broadcast
)

// maxParameter bounds a template's parameter, in runes.
const maxParameter = 900

// Person is one contact as the business's people see it.
type Person struct {
	contact.Contact

	LastSeen time.Time // when they last wrote; zero: never
	Number   string    // the business number they wrote to, "" when none
}

// Reachable reports whether there is a way to write to them.
func (p Person) Reachable() bool { return p.Phone() != "" || p.BSUID() != "" }

// InWindow reports whether free text reaches them.
func (p Person) InWindow(now time.Time) bool {
	return !p.LastSeen.IsZero() && now.Sub(p.LastSeen) < Window
}

// Entry is what is written into the book. Empty fields leave what is there.
type Entry struct {
	ID       ids.ContactID // "": found by Phone, or new
	Phone    string        // E.164
	Name     string
	Language string
	// Announcements switches broadcasts on or off for them; nil leaves it.
	Announcements *bool
}

// Book is a tenant's address book. Errors are fault.NotFound for an id nobody
// has and fault.Conflict for a phone that is another's.
type Book interface {
	// Find looks for a part of a name, or of a phone, most recent first.
	Find(ctx context.Context, q db.Q, text string, limit int) ([]Person, error)
	Get(ctx context.Context, q db.Q, id ids.ContactID) (Person, error)
	// Put writes an entry; the same again changes nothing. fresh is the id of a
	// contact that is made.
	Put(ctx context.Context, tx db.Tx, e Entry, fresh ids.ContactID, now time.Time) (Person, error)
}

// Letter is a text on its way to a person: free text, or the template where the
// window is closed.
func Letter(p Person, number, template, lang, text string, now time.Time) outbox.Send {
	s := outbox.Send{Number: number, To: p.Identities, Out: message.Outbound{Kind: message.Text, Text: text}}
	if !p.InWindow(now) {
		s.Out.Kind = message.Template
		s.Out.Template = &message.TemplateRef{Name: template, Language: lang, Parameters: []string{Parameter(text)}}
	}
	return s
}

// Parameter is a text as a template's parameter: on one line, and bounded.
func Parameter(text string) string {
	flat := []rune(strings.Join(strings.Fields(text), " "))
	if len(flat) > maxParameter {
		return string(flat[:maxParameter-1]) + "…"
	}
	return string(flat)
}
