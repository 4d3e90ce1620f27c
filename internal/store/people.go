package store

import (
	"context"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/people"
)

// People is a tenant's address book inside the caller's transaction. It
// implements people.Book.
type People struct{}

// someone holds for contacts that are a person: merged and erased ones have no
// identity any more.
const someone = "EXISTS (SELECT 1 FROM contact_identities i WHERE i.contact_id = c.id)"

// Find implements people.Book.
func (b People) Find(ctx context.Context, q db.Q, text string, limit int) ([]people.Person, error) {
	name := containing(strings.ToLower(strings.TrimSpace(text)))
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	digits = strings.TrimLeft(digits, "0") // a local form begins with what E.164 leaves out
	number := containing(digits)
	if len(digits) < shortestNumber {
		number = "" // matches nothing
	}
	found, err := db.Collect(ctx, q, "find people", func(row db.Scanner) (id ids.ContactID, err error) { return id, row.Scan(&id) },
		`SELECT c.id FROM contacts c WHERE (LOWER(c.name) LIKE $1 ESCAPE '!' OR LOWER(c.profile) LIKE $1 ESCAPE '!'
			OR EXISTS (SELECT 1 FROM contact_identities n WHERE n.contact_id = c.id AND n.kind = 'phone' AND n.value LIKE $2 ESCAPE '!'))
			AND `+someone+` ORDER BY COALESCE(c.last_inbound_at, c.created_at) DESC, c.id LIMIT $3`, name, number, limit)
	if err != nil {
		return nil, err
	}
	out := make([]people.Person, len(found))
	var asks []db.Ask
	for i, id := range found {
		asks = append(asks, askPerson(id, &out[i])...)
	}
	return out, db.Gather(ctx, q, asks...)
}

// shortestNumber is the fewest digits that are looked for in phones.
const shortestNumber = 4

func askPerson(id ids.ContactID, p *people.Person) []db.Ask {
	return []db.Ask{
		db.Each("load person", func(row db.Scanner) error {
			var seen, opted db.Time
			err := row.Scan(&p.ID, &p.Name, &p.Profile, &p.Language, &p.PayerPhone, &seen, &p.Number, &opted)
			p.LastSeen, p.OptedOut = seen.Time, opted.Time
			return err
		}, "SELECT id, name, profile, language, payer_phone, last_inbound_at, last_number, opted_out_at FROM contacts WHERE id = $1", string(id)),
		askIdentities(id, &p.Identities),
	}
}

// Get implements people.Book.
func (People) Get(ctx context.Context, q db.Q, id ids.ContactID) (people.Person, error) {
	var p people.Person
	if err := db.Gather(ctx, q, askPerson(id, &p)...); err != nil {
		return p, err
	}
	if p.ID == "" || len(p.Identities) == 0 {
		return p, fault.E(fault.NotFound, "There is no such customer.")
	}
	return p, nil
}

// Put implements people.Book.
func (b People) Put(ctx context.Context, tx db.Tx, e people.Entry, fresh ids.ContactID, now time.Time) (people.Person, error) {
	phone := contact.Identity{Kind: contact.Phone, Value: e.Phone}
	var owner ids.ContactID
	var err error
	if e.Phone != "" {
		if owner, err = contactBy(ctx, tx, phone); err != nil {
			return people.Person{}, err
		}
	}
	id := e.ID
	switch {
	case id == "" && owner != "":
		id = owner
	case id == "" && e.Phone == "":
		return people.Person{}, fault.E(fault.Invalid, "A new customer needs a phone.")
	case id == "":
		id = fresh
		if err := db.Exec(ctx, tx, "make contact", "INSERT INTO contacts (id, created_at) VALUES ($1, $2)", string(id), db.At(now)); err != nil {
			return people.Person{}, err
		}
	case owner != "" && owner != id:
		return people.Person{}, fault.E(fault.Conflict, "That phone is another customer's.")
	}
	if e.Phone != "" && owner == "" {
		if err := identify(ctx, tx, phone, id); err != nil {
			return people.Person{}, err
		}
	}
	if err := db.Exec(ctx, tx, "write contact", `UPDATE contacts SET name = CASE WHEN $2 = '' THEN name ELSE $2 END,
		language = CASE WHEN $3 = '' THEN language ELSE $3 END WHERE id = $1`, string(id), e.Name, e.Language); err != nil {
		return people.Person{}, err
	}
	if e.Announcements != nil {
		out := db.At(now)
		if *e.Announcements {
			out = db.Time{}
		}
		if err := db.Exec(ctx, tx, "note opt-out", "UPDATE contacts SET opted_out_at = $2 WHERE id = $1 AND (opted_out_at IS NULL) = $3",
			string(id), out, !*e.Announcements); err != nil {
			return people.Person{}, err
		}
	}
	return b.Get(ctx, tx, id)
}
