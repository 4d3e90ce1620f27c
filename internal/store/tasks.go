package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/turn"
)

// TaskState is where a task stands.
type TaskState string

// The states of a task.
const (
	TaskOpen  TaskState = "open"
	TaskTaken TaskState = "taken" // somebody does it
	TaskDone  TaskState = "done"
)

// taskTime is by when somebody should see to a task for which nobody said when.
const taskTime = 24 * time.Hour

// Bounds of a page of tasks, and of an owner's name in bytes.
const (
	TaskPage    = 50 // when nobody says how many
	MaxTaskPage = 200
	maxOwner    = 80
)

// Task is work for a person of the business.
type Task struct {
	ID      string        `json:"id"`
	Kind    string        `json:"kind"` // callback, refund, mismatch, poison, undelivered, stale, ...
	Detail  string        `json:"detail"`
	State   TaskState     `json:"state"`
	Owner   string        `json:"owner,omitempty"` // who has taken it
	Thread  ids.ThreadID  `json:"thread_id,omitempty"`
	Contact ids.ContactID `json:"contact_id,omitempty"`
	Due     time.Time     `json:"due_at"`
	Created time.Time     `json:"created_at"`
	Taken   time.Time     `json:"taken_at,omitzero"`
	Done    time.Time     `json:"done_at,omitzero"`
	DoneBy  string        `json:"done_by,omitempty"`
}

// TaskQuery asks for a page of tasks, the first due first. A field that is empty
// asks for nothing in particular.
type TaskQuery struct {
	State TaskState `json:"state,omitempty"`
	Kind  string    `json:"kind,omitempty"`
	Owner string    `json:"owner,omitempty"`
	After string    `json:"after,omitempty"` // what the page before named as the next
	Limit int       `json:"limit,omitempty"` // TaskPage when zero, at most MaxTaskPage
}

const taskColumns = "id, kind, detail, state, owner, thread_id, contact_id, due_at, created_at, taken_at, done_at, done_by"

func scanTask(row db.Scanner) (t Task, err error) {
	var due, created, taken, done db.Time
	err = row.Scan(&t.ID, &t.Kind, &t.Detail, &t.State, &t.Owner, &t.Thread, &t.Contact, &due, &created, &taken, &done, &t.DoneBy)
	t.Due, t.Created, t.Taken, t.Done = due.Time, created.Time, taken.Time, done.Time
	return t, err
}

// insertTask raises a task, once per key.
func insertTask(ctx context.Context, tx db.Tx, r turn.TaskRow, now time.Time) error {
	if r.Due.IsZero() {
		r.Due = now.Add(taskTime)
	}
	return db.Exec(ctx, tx, "raise task", `
		INSERT INTO tasks (id, kind, task_key, thread_id, contact_id, detail, due_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (task_key) DO NOTHING`,
		r.ID, r.Kind, r.Key, string(r.Thread), string(r.Contact), r.Detail, db.At(r.Due), db.At(now))
}

// RaiseTask raises a task outside a turn, once per key.
func (t *Tenant) RaiseTask(ctx context.Context, r turn.TaskRow, now time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error { return insertTask(ctx, tx, r, now) })
}

// Tasks returns a page of tasks, and where the next begins, "" when there is
// none. A query that means nothing is fault.Invalid.
func (t *Tenant) Tasks(ctx context.Context, q TaskQuery) (page []Task, next string, err error) {
	if q.State != "" && q.State != TaskOpen && q.State != TaskTaken && q.State != TaskDone {
		return nil, "", fault.E(fault.Invalid, fmt.Sprintf("A task is open, taken or done, not %q.", q.State))
	}
	if q.Limit < 0 || q.Limit > MaxTaskPage {
		return nil, "", fault.E(fault.Invalid, fmt.Sprintf("A page has 1 to %d tasks.", MaxTaskPage))
	}
	limit := cmp.Or(q.Limit, TaskPage)
	var due db.Time
	id := ""
	if q.After != "" {
		if due, id, err = openCursor(q.After); err != nil {
			return nil, "", err
		}
	}
	err = t.Read(ctx, func(rows db.Q) error {
		page, err = db.Collect(ctx, rows, "list tasks", scanTask, "SELECT "+taskColumns+` FROM tasks
			WHERE ($1 = '' OR state = $1) AND ($2 = '' OR kind = $2) AND ($3 = '' OR owner = $3)
				AND ($5 = '' OR due_at > $4 OR due_at = $4 AND id > $5) ORDER BY due_at, id LIMIT $6`,
			string(q.State), q.Kind, q.Owner, due, id, limit+1)
		return err
	})
	if page == nil {
		page = []Task{}
	}
	if err == nil && len(page) > limit {
		page = page[:limit]
		next = cursor(page[limit-1])
	}
	return page, next, err
}

// cursor names a place between two tasks.
func cursor(t Task) string {
	return base64.RawURLEncoding.EncodeToString([]byte(t.Due.UTC().Format(time.RFC3339Nano) + " " + t.ID))
}

func openCursor(s string) (db.Time, string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	at, id, ok := strings.Cut(string(raw), " ")
	due, e := time.Parse(time.RFC3339Nano, at)
	if err != nil || e != nil || !ok || id == "" {
		return db.Time{}, "", fault.E(fault.Invalid, "That is no place in the list of tasks.")
	}
	return db.At(due), id, nil
}

// TakeTask makes an open task its owner's. Of two who take it at once one gets
// it; the other is answered with fault.Conflict. Taking it again changes nothing.
func (t *Tenant) TakeTask(ctx context.Context, id, owner string, now time.Time) (Task, error) {
	return t.changeTask(ctx, id, owner, TaskTaken, `UPDATE tasks SET state = 'taken', owner = $2, taken_at = COALESCE(taken_at, $3)
		WHERE id = $1 AND (state = 'open' OR state = 'taken' AND owner = $2)`, now)
}

// DoneTask ends a task that is open or its owner's. One that somebody else has
// taken is fault.Conflict. Ending it again changes nothing.
func (t *Tenant) DoneTask(ctx context.Context, id, owner string, now time.Time) (Task, error) {
	return t.changeTask(ctx, id, owner, TaskDone, `UPDATE tasks SET state = 'done', owner = $2, done_by = $2, done_at = COALESCE(done_at, $3)
		WHERE id = $1 AND (state = 'open' OR owner = $2)`, now)
}

func (t *Tenant) changeTask(ctx context.Context, id, owner string, to TaskState, query string, now time.Time) (task Task, err error) {
	owner = strings.Join(strings.Fields(owner), " ")
	if owner == "" || len(owner) > maxOwner {
		return task, fault.E(fault.Invalid, fmt.Sprintf("Say who: a name of at most %d bytes.", maxOwner))
	}
	err = t.Write(ctx, func(tx db.Tx) error {
		n, err := db.Changed(ctx, tx, "change task", query, id, owner, db.At(now))
		if err != nil {
			return err
		}
		task, err = scanTask(tx.QueryRowContext(ctx, "SELECT "+taskColumns+" FROM tasks WHERE id = $1", id))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fault.E(fault.NotFound, "There is no such task.")
		case err != nil:
			return fmt.Errorf("read task: %w", err)
		case n > 0:
			return nil
		case task.State == TaskDone:
			return fault.E(fault.Conflict, fmt.Sprintf("%s has done it already.", task.DoneBy))
		}
		return fault.E(fault.Conflict, fmt.Sprintf("%s has taken it.", task.Owner))
	})
	if err == nil && task.State != to {
		err = fmt.Errorf("change task: it is %s", task.State)
	}
	return task, err
}
