package booking

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ics"
)

// feed writes the calendar of a member of staff, for the program they look at.
// Whoever has the address reads it, so that of customers it says a first name and
// an initial, and nothing of money.
func feed(ctx context.Context, w app.Work, secret string) ([]byte, error) {
	var name string
	var entries []bookingsql.Entry
	var found bool
	if err := w.Read(ctx, func(q db.Q) (err error) {
		name, entries, found, err = bookingsql.Diary(ctx, q, callerOf(w), hashed(secret))
		return err
	}); err != nil {
		return nil, fmt.Errorf("read calendar: %w", err)
	}
	if !found {
		return nil, fault.E(fault.NotFound, "No such calendar.")
	}
	settings, err := calendar.ParseSettings(w.Tenant.Settings)
	if err != nil {
		return nil, err
	}
	events := make([]ics.Event, len(entries))
	for i, e := range entries {
		status := ics.Confirmed
		if e.Status == calendar.Cancelled {
			status = ics.Cancelled
		}
		events[i] = ics.Event{
			UID: e.ID + "@ratiba", Sequence: e.Version, Start: e.Start, End: e.End, Changed: e.Changed, Status: status,
			Summary: serviceName(settings, e.ServiceID, w.Tenant.Locale) + ": " + shortName(e.Name), Description: description(settings, e.Booking),
			Location: settings.Address,
		}
	}
	return ics.Write(w.Tenant.Name+": "+name, events), nil
}

func serviceName(s calendar.Settings, id, lang string) string {
	for _, sv := range s.Services {
		if sv.ID == id {
			return sv.Name.In(lang)
		}
	}
	return id
}

// shortName is a first name and the initial of the last one.
func shortName(name string) string {
	parts := strings.Fields(name)
	if len(parts) < 2 {
		return strings.Join(parts, " ")
	}
	initial, _ := utf8.DecodeRuneInString(parts[len(parts)-1])
	return parts[0] + " " + string(initial) + "."
}

func description(s calendar.Settings, b calendar.Booking) string {
	lines := []string{b.Code}
	for _, id := range b.Resources {
		for _, r := range s.Resources {
			if r.ID == id {
				lines = append(lines, r.Name)
			}
		}
	}
	if b.Status == calendar.NoShow {
		lines = append(lines, "no show")
	}
	return strings.Join(lines, "\n")
}
