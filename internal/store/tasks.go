package store

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// Task is work that waits for a person.
type Task struct {
	ID, Kind, Key, Detail string
	Contact               ids.ContactID
	Due                   time.Time
}

// maxTasks bounds a list of tasks.
const maxTasks = 500

// OpenTasks lists the open tasks of a kind, "" being all, oldest first.
func (t *Tenant) OpenTasks(ctx context.Context, kind string) (tasks []Task, err error) {
	err = t.Read(ctx, func(q db.Q) error {
		tasks, err = db.Collect(ctx, q, "list tasks", func(row db.Scanner) (k Task, err error) {
			var due db.Time
			err = row.Scan(&k.ID, &k.Kind, &k.Key, &k.Detail, &k.Contact, &due)
			k.Due = due.Time
			return k, err
		}, `SELECT id, kind, task_key, detail, contact_id, due_at FROM tasks WHERE state = 'open' AND ($1 = '' OR kind = $1)
			ORDER BY created_at, id LIMIT $2`, kind, maxTasks)
		return err
	})
	return tasks, err
}
