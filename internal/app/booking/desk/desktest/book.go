package desktest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/retrieve"
)

// Book is an address book in memory.
type Book struct{ People []people.Person }

// Add puts somebody with a phone into the book.
func (b *Book) Add(id, name, phone string, seen time.Time) {
	b.People = append(b.People, people.Person{LastSeen: seen, Number: "100", Contact: contact.Contact{
		ID: ids.ContactID(id), Name: name, Identities: []contact.Identity{{Kind: contact.Phone, Value: phone}},
	}})
}

// Find implements people.Book.
func (b *Book) Find(_ context.Context, _ db.Q, text string, limit int) (out []people.Person, _ error) {
	for _, p := range b.People {
		if strings.Contains(strings.ToLower(p.Name), strings.ToLower(text)) || strings.Contains(p.Phone(), text) {
			out = append(out, p)
		}
	}
	return out[:min(len(out), limit)], nil
}

// Get implements people.Book.
func (b *Book) Get(_ context.Context, _ db.Q, id ids.ContactID) (people.Person, error) {
	i := slices.IndexFunc(b.People, func(p people.Person) bool { return p.ID == id })
	if i < 0 {
		return people.Person{}, fault.E(fault.NotFound, "nobody")
	}
	return b.People[i], nil
}

// Put implements people.Book.
func (b *Book) Put(ctx context.Context, _ db.Tx, e people.Entry, fresh ids.ContactID, now time.Time) (people.Person, error) {
	id := e.ID
	for _, p := range b.People {
		if e.Phone != "" && p.Phone() == e.Phone {
			id = p.ID
		}
	}
	if id == "" {
		if e.Phone == "" {
			return people.Person{}, fault.E(fault.Invalid, "no phone")
		}
		b.Add(string(fresh), e.Name, e.Phone, time.Time{})
		id = fresh
	}
	for i := range b.People {
		if p := &b.People[i]; p.ID == id {
			if e.Name != "" {
				p.Name = e.Name
			}
			if e.Announcements != nil {
				p.OptedOut = time.Time{}
				if !*e.Announcements {
					p.OptedOut = now
				}
			}
		}
	}
	return b.Get(ctx, nil, id)
}

// Index finds a passage by any of its words.
type Index struct{ Passages []retrieve.Passage }

// Search implements retrieve.Index.
func (x *Index) Search(_ context.Context, _ db.Q, words []string, limit int) (out []retrieve.Passage, _ error) {
	for _, p := range x.Passages {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(p.Text), w) }) && len(out) < limit {
			out = append(out, p)
		}
	}
	return out, nil
}

// Replace implements retrieve.Index.
func (x *Index) Replace(_ context.Context, _ db.Tx, d retrieve.Document, _ time.Time) error {
	x.Passages = append(x.Passages, d.Passages()...)
	return nil
}

// Broadcasts counts what it was told to count.
type Broadcasts struct {
	Reach   broadcast.Counts
	Started []broadcast.Order
}

// Count implements broadcast.Ledger.
func (b *Broadcasts) Count(context.Context, db.Q, broadcast.Order, time.Time) (broadcast.Counts, error) {
	return b.Reach, nil
}

// Start implements broadcast.Ledger.
func (b *Broadcasts) Start(_ context.Context, _ db.Tx, o broadcast.Order, _ time.Time) (broadcast.Counts, bool, error) {
	if b.Reach.Recipients() == 0 || slices.ContainsFunc(b.Started, func(s broadcast.Order) bool { return s.ID == o.ID }) {
		return b.Reach, false, nil
	}
	b.Started = append(b.Started, o)
	return b.Reach, true, nil
}

// Progress implements broadcast.Ledger.
func (b *Broadcasts) Progress(_ context.Context, _ db.Q, id string, _ int) (out []broadcast.Progress, _ error) {
	for _, o := range b.Started {
		if id == "" || o.ID == id {
			out = append(out, broadcast.Progress{ID: o.ID, Text: o.Text, Total: b.Reach.Recipients(), Waiting: b.Reach.Recipients()})
		}
	}
	return out, nil
}
