package whatsapp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// window is how long after a user's message the business may write freely.
const window = 24 * time.Hour

// person is somebody with WhatsApp: a customer or an admin. The phone or the
// BSUID may be unknown. The maps are keyed by phone number id.
type person struct {
	phone    string // digits
	bsuid    string
	name     string
	received []*Received
	sent     []*Sent
	wrote    map[string]time.Time // the latest message, by the product's clock
	typing   map[string]time.Time // until when the business is shown as typing
	pair     map[string]*bucket
}

func (p *person) windowOpen(number string, now time.Time) bool {
	at, ok := p.wrote[number]
	return ok && now.Sub(at) < window
}

// people finds persons by either identity.
type people struct {
	all     []*person
	byPhone map[string]*person
	byBSUID map[string]*person
}

func newPeople() people {
	return people{byPhone: map[string]*person{}, byBSUID: map[string]*person{}}
}

func (pp *people) add() *person {
	p := &person{wrote: map[string]time.Time{}, typing: map[string]time.Time{}, pair: map[string]*bucket{}}
	pp.all = append(pp.all, p)
	return p
}

func (pp *people) byPhoneOrNew(phone string) *person { return pp.get(phone, "") }

// find returns the person known by phone or, failing that, by bsuid, or nil.
func (pp *people) find(phone, bsuid string) *person {
	if p := pp.byPhone[phone]; phone != "" && p != nil {
		return p
	}
	if bsuid == "" {
		return nil
	}
	return pp.byBSUID[bsuid]
}

// get returns the person with these identities, making or joining as needed:
// naming a phone and a BSUID together says that they are one person.
func (pp *people) get(phone, bsuid string) *person {
	a, b := pp.byPhone[phone], pp.byBSUID[bsuid]
	p := a
	switch {
	case a == nil && b == nil:
		p = pp.add()
	case a == nil:
		p = b
	case b != nil && a != b:
		pp.join(a, b)
	}
	if phone != "" {
		p.phone = phone
		pp.byPhone[phone] = p
	}
	if bsuid != "" {
		p.bsuid = bsuid
		pp.byBSUID[bsuid] = p
	}
	return p
}

// join moves what b holds to a.
func (pp *people) join(a, b *person) {
	a.received = append(a.received, b.received...)
	slices.SortFunc(a.received, func(x, y *Received) int { return cmp.Compare(x.Seq, y.Seq) })
	for _, m := range b.sent {
		m.by = a
	}
	a.sent = append(a.sent, b.sent...)
	slices.SortStableFunc(a.sent, func(x, y *Sent) int { return x.At.Compare(y.At) })
	for number, at := range b.wrote {
		if at.After(a.wrote[number]) {
			a.wrote[number] = at
		}
	}
	if a.name == "" {
		a.name = b.name
	}
	pp.all = slices.DeleteFunc(pp.all, func(p *person) bool { return p == b })
	for id, p := range pp.byBSUID {
		if p == b {
			pp.byBSUID[id] = a
		}
	}
	for phone, p := range pp.byPhone {
		if p == b {
			pp.byPhone[phone] = a
		}
	}
}

// profile returns the name WhatsApp shows for the person. Everybody has one;
// somebody nobody named gets one by their identity and keeps it.
func (p *person) profile() string {
	if p.name == "" {
		names := [...]string{
			"Achieng", "Baraka", "Chebet", "Daudi", "Esther", "Faraja", "Gathoni", "Hamisi",
			"Imani", "Jelimo", "Kamau", "Lulu", "Makena", "Neema", "Otieno", "Pendo",
		}
		sum := sha256.Sum256([]byte(p.phone + "/" + p.bsuid))
		p.name = names[int(sum[0])%len(names)]
	}
	return p.name
}

// scopedID makes the BSUID that belongs to a phone.
func scopedID(phone string) string {
	sum := sha256.Sum256([]byte("bsuid/" + phone))
	return "KE." + strings.ToUpper(hex.EncodeToString(sum[:10]))
}
