package golden

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/db"
)

// audit looks at what is stored: the bookings and the tasks.
func (w *world) audit(ctx context.Context, c Check) error {
	var found []string
	query := `SELECT status || ' ' || service_id || ' ' || staff_id, starts_at FROM bookings ORDER BY created_at, id`
	if c.Verb == "task" {
		query = `SELECT kind, created_at FROM tasks ORDER BY created_at, id`
	}
	err := w.tenant.Read(ctx, func(q db.Q) error {
		var err error
		found, err = db.Collect(ctx, q, "audit "+c.Verb, func(row db.Scanner) (string, error) {
			var text string
			var at db.Time
			err := row.Scan(&text, &at)
			if c.Verb != "task" {
				text += " " + at.In(w.business.Tenant.Location()).Format("2006-01-02 15:04")
			}
			return text, err
		}, query)
		return err
	})
	if err != nil {
		return err
	}
	if c.Verb == "bookings" {
		return equal(strconv.Itoa(len(found)), c.Text)
	}
	for _, f := range found {
		if strings.HasPrefix(f, c.Text) {
			return nil
		}
	}
	return fmt.Errorf("want %q among %q", c.Text, found)
}
