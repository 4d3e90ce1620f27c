// Package desk is what the booking tools share: who is calling, and how the
// calendar's refusals become results. It imports the calendar, its database
// and the tool contract.
package desk

import (
	"errors"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tool"
)

// Caller returns who a tool acts for.
func Caller(env tool.Env) bookingsql.Caller {
	return bookingsql.Caller{Zone: env.Tenant.Location(), Now: env.Now, Contact: string(env.Contact.ID)}
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

// Refuse makes the result of a conflict without alternatives.
func Refuse(code string) (graph.Result, error) {
	return Answer(nil, &calendar.Refusal{Code: code})
}
