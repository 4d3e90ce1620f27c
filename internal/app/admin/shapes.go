package admin

import (
	"cmp"
	"time"

	"github.com/ratiba/ratiba/internal/money"
)

// What the tools answer, as far as it is told here.

type stats struct {
	From   string `json:"from"`
	To     string `json:"to"`
	More   bool   `json:"more"`
	Totals *struct {
		Visits    int           `json:"visits"`
		Waiting   int           `json:"waiting"`
		Cancelled int           `json:"cancelled"`
		NoShows   int           `json:"no_shows"`
		Customers int           `json:"customers"`
		Booked    *money.Amount `json:"booked"`
		Paid      *money.Amount `json:"paid"`
	} `json:"totals"`
	Days []struct {
		Date   string `json:"date"`
		Visits int    `json:"visits"`
	} `json:"days"`
	Visits  []visit `json:"visits"`
	Revenue []struct {
		StaffName string       `json:"staff_name"`
		Visits    int          `json:"visits"`
		Booked    money.Amount `json:"booked"`
		Paid      money.Amount `json:"paid"`
	} `json:"revenue"`
	Free []struct {
		StaffName string `json:"staff_name"`
		Spans     []struct {
			From time.Time `json:"from"`
			To   time.Time `json:"to"`
		} `json:"spans"`
	} `json:"free"`
}

// text reads differently per language.
type text map[string]string

// In implements wording.Localized.
func (t text) In(lang string) string { return cmp.Or(t[lang], t["en"], t["sw"]) }

type visit struct {
	Code      string    `json:"code"`
	Name      string    `json:"name"`
	Service   text      `json:"service"`
	StaffName string    `json:"staff_name"`
	Start     time.Time `json:"start"`
	Status    string    `json:"status"`
}

type booking struct {
	ID        string       `json:"id"`
	Code      string       `json:"code"`
	Name      string       `json:"name"`
	ServiceID string       `json:"service_id"`
	StaffID   string       `json:"staff_id"`
	StaffName string       `json:"staff_name"`
	Start     time.Time    `json:"start"`
	Status    string       `json:"status"`
	Paid      money.Amount `json:"paid"`
	Version   int64        `json:"version"`
}

type contacts struct {
	Contacts []person `json:"contacts"`
}

type person struct {
	ID            string `json:"contact_id"`
	Name          string `json:"name"`
	Profile       string `json:"profile"`
	Phone         string `json:"phone"`
	Announcements bool   `json:"announcements"`
}

func (p person) called() string { return cmp.Or(p.Name, p.Profile, p.Phone) }
