// Package recordfeedback is the tool record_feedback: what a customer says of a visit.
package recordfeedback

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Tool returns the tool.
func Tool() tool.Tool {
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.RecordFeedbackArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.RecordFeedbackArgs) (graph.Result, error) {
	c := desk.Caller(env)
	thread, _, err := bookingsql.Origin(ctx, env.Tx, c, a.BookingID)
	if err != nil {
		return desk.Answer(nil, err)
	}
	models := []tool.Answered{}
	if thread != "" {
		if models, err = env.Answered(ctx, ids.ThreadID(thread)); err != nil {
			return graph.Result{}, err
		}
	}
	return desk.Answer(struct{}{}, bookingsql.RecordFeedback(ctx, env.Tx, c, a, models))
}
