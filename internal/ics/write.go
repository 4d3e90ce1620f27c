// Package ics writes and reads calendars as RFC 5545 has them: what a calendar
// program subscribes to, and when somebody is busy.
//
// It is pure and imports nothing of the product. What it reads is hostile: it
// is bounded in size and in how many times it may come to, and what it cannot
// read is an error, never a guess.
package ics

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Status of an event.
const (
	Confirmed = "CONFIRMED"
	Cancelled = "CANCELLED"
)

// Event is one entry of a calendar that is written.
type Event struct {
	UID         string // for life
	Sequence    int64  // raised by each change
	Start, End  time.Time
	Changed     time.Time
	Summary     string
	Description string
	Location    string
	Status      string
}

// foldAt is how many octets a line may have, its end left out.
const foldAt = 75

const utc = "20060102T150405Z"

// Write writes a calendar of a name. The same events give the same bytes.
func Write(name string, events []Event) []byte {
	var b strings.Builder
	line := func(key, value string) { fold(&b, key+":"+value) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//Ratiba//Bookings//EN")
	line("CALSCALE", "GREGORIAN")
	line("METHOD", "PUBLISH")
	line("X-WR-CALNAME", escape(name))
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT15M")
	for _, e := range events {
		line("BEGIN", "VEVENT")
		line("UID", escape(e.UID))
		line("SEQUENCE", strconv.FormatInt(e.Sequence, 10))
		line("DTSTAMP", e.Changed.UTC().Format(utc))
		line("LAST-MODIFIED", e.Changed.UTC().Format(utc))
		line("DTSTART", e.Start.UTC().Format(utc))
		line("DTEND", e.End.UTC().Format(utc))
		line("SUMMARY", escape(e.Summary))
		if e.Description != "" {
			line("DESCRIPTION", escape(e.Description))
		}
		if e.Location != "" {
			line("LOCATION", escape(e.Location))
		}
		line("STATUS", e.Status)
		if e.Status == Cancelled {
			line("TRANSP", "TRANSPARENT")
		}
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	return []byte(b.String())
}

// escape writes a text value: RFC 5545, 3.3.11. Control characters are dropped.
func escape(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\uFFFD") {
		switch {
		case r == '\\' || r == ';' || r == ',':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' && r != '\t' || r == 0x7f:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fold writes a line in pieces of at most foldAt octets, none of which splits a
// character.
func fold(b *strings.Builder, line string) {
	room := foldAt
	for len(line) > room {
		cut := room
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		b.WriteString(line[:cut] + "\r\n ")
		line, room = line[cut:], foldAt-1
	}
	b.WriteString(line + "\r\n")
}
