package booking

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ics"
)

// busyEvery is how often somebody's own calendar is asked for.
const busyEvery = 15 * time.Minute

// busy keeps the time that members of staff are busy by calendars of their own
// out of what is offered. What cannot be read is a task for a person, once; what
// was read last goes on to count.
func busy() app.Job { return app.Job{Name: "busy", Run: readBusy} }

func readBusy(ctx context.Context, w app.Work) (app.Piece, error) {
	settings, err := calendar.ParseSettings(w.Tenant.Settings)
	if err != nil {
		return app.Piece{}, err
	}
	var known []bookingsql.BusyCalendar
	if err := w.Read(ctx, func(q db.Q) (err error) {
		known, err = bookingsql.BusyCalendars(ctx, q)
		return err
	}); err != nil {
		return app.Piece{}, fmt.Errorf("list busy calendars: %w", err)
	}
	last := map[string]bookingsql.BusyCalendar{}
	for _, b := range known {
		if settings.Feeds[b.StaffID] == "" {
			return app.Piece{Again: w.Now, Write: func(ctx context.Context, tx db.Tx) error {
				return bookingsql.ForgetBusy(ctx, tx, b.StaffID)
			}}, nil
		}
		last[b.StaffID] = b
	}
	staff := slices.Collect(maps.Keys(settings.Feeds))
	slices.SortFunc(staff, func(a, b string) int { return cmp.Or(last[a].Checked.Compare(last[b].Checked), strings.Compare(a, b)) })
	if len(staff) == 0 {
		return app.Piece{}, nil
	}
	next := last[staff[0]]
	if due := next.Checked.Add(busyEvery); due.After(w.Now) && !next.Checked.After(w.Now) {
		return app.Piece{Again: due}, nil
	}
	next.StaffID = staff[0]
	return ask(ctx, w, next, settings.Feeds[staff[0]]), nil
}

// ask asks for one calendar and keeps what it says.
func ask(ctx context.Context, w app.Work, b bookingsql.BusyCalendar, env string) app.Piece {
	var times []calendar.Interval
	before := b.Problem
	b.Checked = w.Now
	body, tag, err := fetched(ctx, w, env, b.Tag)
	switch {
	case err != nil:
		b.Problem = err.Error()
	case body != nil:
		read, problems, err := ics.Read(body, w.Tenant.Location(), w.Now.Add(-24*time.Hour), w.Now.AddDate(0, 0, calendar.MaxHorizon+2))
		if err != nil {
			b.Problem, b.Tag = err.Error(), ""
			break
		}
		b.Tag, b.Read, b.Problem = tag, w.Now, strings.Join(problems[:min(len(problems), 5)], "; ")
		times = []calendar.Interval{}
		for _, t := range read {
			times = append(times, calendar.Interval{From: t.From, To: t.To})
		}
	}
	p := app.Piece{Again: w.Now, Write: func(ctx context.Context, tx db.Tx) error { return bookingsql.NoteBusy(ctx, tx, b, times) }}
	if b.Problem != "" && b.Problem != before {
		p.Tasks = []graph.Task{{
			Kind: "calendar", Key: "calendar:" + b.StaffID + ":" + w.Now.UTC().Format(time.RFC3339), Due: w.Now,
			Detail: fmt.Sprintf("calendar of %s: %s", b.StaffID, b.Problem),
		}}
	}
	return p
}

func fetched(ctx context.Context, w app.Work, env, tag string) (body []byte, newTag string, err error) {
	address := w.Secret(env)
	if address == "" {
		return nil, "", fmt.Errorf("%s is not set", env)
	}
	return w.Fetch(ctx, address, tag)
}
