// Package desk is what the booking tools share: who is calling, and how the
// calendar's refusals become results, and what they write to customers. It
// imports the calendar, its database and the tool contract.
package desk

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/wording"
)

// nobody is the calendar of staff who have none.
const nobody = "-"

// Caller returns who a tool acts for. Staff have their own calendar alone.
func Caller(env tool.Env) bookingsql.Caller {
	c := bookingsql.Caller{Zone: env.Tenant.Location(), Now: env.Now, Contact: string(env.Contact.ID), Thread: string(env.Thread), Turn: string(env.Turn)}
	if env.Actor.Role == tenant.Staff {
		c.Staff = cmp.Or(env.Actor.Staff, nobody)
	}
	return c
}

// Answer makes a result of data, or of a refusal in err. Any other error is a
// failure and stays one.
func Answer(data any, err error) (graph.Result, error) {
	if r, refused := errors.AsType[*calendar.Refusal](err); refused {
		sentence, next := calendar.Advice(r.Code)
		return tool.Conflict(r.Code, sentence, next, calendar.Alternatives{Slots: append([]calendar.Slot{}, r.Alternatives...)})
	}
	if err != nil {
		return graph.Result{}, err
	}
	return tool.OK(data)
}

// Changed makes a result of a booking that was changed, or of a refusal in err,
// and keeps the booking's timer.
func Changed(env tool.Env, b calendar.Booking, err error) (graph.Result, error) {
	if err == nil {
		Keep(env, b)
	}
	return Answer(b, err)
}

// Keep sets a booking's timer to what is to be done about it next, or removes
// it. The timer of somebody else's booking is in a mailbox that is not the
// turn's: whoever changed it there keeps it.
func Keep(env tool.Env, b calendar.Booking) {
	if string(env.Contact.ID) != b.ContactID {
		return
	}
	if t, due := calendar.NextTouch(b, env.Now); due {
		env.SetTimer(calendar.VisitTimer+b.ID, t.At, t)
	} else {
		env.SetTimer(calendar.VisitTimer+b.ID, time.Time{}, nil)
	}
}

// Refuse makes the result of a conflict without alternatives.
func Refuse(code string) (graph.Result, error) {
	return Answer(nil, &calendar.Refusal{Code: code})
}

// Contact is a person of the address book as tools answer one.
func Contact(p people.Person) calendar.Contact {
	return calendar.Contact{
		ID: string(p.ID), Name: p.Name, Profile: p.Profile, Phone: p.Phone(), Language: p.Language, LastSeen: p.LastSeen,
		Announcements: p.OptedOut.IsZero(),
	}
}

// Number is the business number that a message leaves from: the one its reader
// knows, while it is the business's, else the first.
func Number(env tool.Env, known string) string {
	numbers := env.Tenant.Numbers
	if slices.ContainsFunc(numbers, func(n tenant.Number) bool { return n.ID == known }) {
		return known
	}
	if len(numbers) == 0 {
		return ""
	}
	return numbers[0].ID
}

//go:embed texts/*.yaml
var texts embed.FS

// Say writes what a tool tells a customer, in their language.
func Say(lang, key string, env tool.Env, facts map[string]any) (string, error) {
	sub, err := fs.Sub(texts, "texts")
	if err != nil {
		return "", fmt.Errorf("read texts: %w", err)
	}
	c, err := wording.Load(sub)
	if err != nil {
		return "", fmt.Errorf("read texts: %w", err)
	}
	all := map[string]any{"business": env.Tenant.Name, "now": env.Now}
	maps.Copy(all, facts)
	return c.Render(lang, key, env.Tenant.Location(), all)
}
