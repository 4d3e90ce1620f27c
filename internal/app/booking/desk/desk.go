// Package desk is what the booking tools share: who is calling, and how the
// calendar's refusals become results. It imports the calendar, its database
// and the tool contract.
package desk

import (
	"errors"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tool"
)

// Caller returns who a tool acts for.
func Caller(env tool.Env) bookingsql.Caller {
	return bookingsql.Caller{Zone: env.Tenant.Location(), Now: env.Now, Contact: string(env.Contact.ID), Thread: string(env.Thread), Turn: string(env.Turn)}
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
