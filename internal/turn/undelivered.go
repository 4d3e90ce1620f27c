package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/thread"
)

// windowClosed is WhatsApp's code for free text to somebody who has not written
// for 24 hours. It comes at once, or later as a failed receipt; either way it is
// an event in the receiver's mailbox.
const windowClosed = 131047

// Kinds of task that a failed message leads to.
const (
	TaskUndelivered = "undelivered"
	TaskCallBack    = "callback"
)

// failure is what a receipt_failed event tells.
type failure struct {
	OutboxID string        `json:"outbox_id"`
	Code     int           `json:"code"`
	Detail   string        `json:"detail"`
	Origin   outbox.Origin `json:"origin"`
	Epoch    int64         `json:"epoch"`
	Template string        `json:"template"` // the template that failed, "" for anything else
	Send     *outbox.Send  `json:"send"`     // what failed, where the window is why
}

// failureOf reads a failed receipt's event; one of an older build tells less.
func failureOf(e *mailbox.Event) (f failure, err error) {
	if len(e.Data) == 0 {
		f.Code, err = strconv.Atoi(e.Name)
	} else {
		err = json.Unmarshal(e.Data, &f)
	}
	if err != nil {
		return f, fmt.Errorf("read failed receipt: %w", err)
	}
	return f, nil
}

// undelivered acts on a message that did not arrive. What the closed window
// kept back is said once more as a template; anything else is a task for a
// person, because somebody who should have read it has not. While a human
// drives, they are told at once.
func (r *run) undelivered(ctx context.Context) error {
	e := r.batch.Event()
	f, err := failureOf(e)
	if err != nil {
		return err
	}
	if r.snap.Thread != nil && e.Scope == r.before.ID && r.before.LastAt.Equal(r.before.OpenedAt) {
		r.th.Disclosed = false // the first answer told who speaks, and it never came
	}
	if f.Code == windowClosed && f.Send != nil && f.Send.Out.Kind != message.Template {
		if row := r.again(f, e.Scope); row.Kind != "" {
			r.effects = append(r.effects, row)
		}
		return nil
	}
	r.tasks = append(r.tasks, r.undeliveredTask(f, e.Scope))
	switch {
	case r.snap.Thread != nil && e.Scope == r.before.ID && r.before.Driver == thread.HumanDriving:
		return r.notReached(ctx, e.Name)
	case r.admin != nil && e.Name == FileLost:
		return r.fileLost(ctx, e.Scope)
	}
	return nil
}

// undeliveredTask is what a person has to do about it: somebody who was
// promised a message after a phone call and has no WhatsApp is called back.
func (r *run) undeliveredTask(f failure, scope ids.ThreadID) TaskRow {
	task := TaskRow{
		ID: r.ids.New(), Kind: TaskUndelivered, Key: "undelivered:" + string(r.turnID), Detail: failureText(f),
		Contact: r.snap.Contact.ID, Thread: scope,
	}
	if f.Template == template.Call {
		task.Kind, task.Key = TaskCallBack, CallBackKey(scope, r.snap.Contact.ID)
		task.Detail = "They called, and could not be reached on WhatsApp. " + task.Detail
		task.Due = r.tomorrow()
	}
	return task
}
