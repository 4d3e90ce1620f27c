package demo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db"
)

func TestPaymentsAreComparedEveryDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.paid("+254700000041", "Hi, I'd like a 90 minute massage tomorrow afternoon", "Mary Wambui")
	report := func(day string) string {
		var out strings.Builder
		if err := w.Server.ReconcileTenant(t.Context(), "serenity", day, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := report("2026-11-23"); got != "1 payments and 1 entries compared, 0 disagreements\n" {
		t.Errorf("before: %q", got)
	}
	if got := report("2026-11-22"); got != "0 payments and 1 entries compared, 0 disagreements\n" { // what a day's payments are for may be noted on the next
		t.Errorf("the day before: %q", got)
	}
	w.advance(24 * time.Hour)
	if n := w.openTasks(spa, "reconcile"); n != 0 {
		t.Fatalf("%d disagreements where there is none", n)
	}
	for _, s := range w.Server.Tenants() {
		if s.Slug != "serenity" {
			continue
		}
		st, err := w.Server.Store(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Write(t.Context(), func(tx db.Tx) error {
			return db.Exec(t.Context(), tx, "lose money", "UPDATE bookings SET paid_minor = paid_minor - 100 WHERE paid_minor > 0")
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := report(""); !strings.Contains(got, "other_amount") || !strings.Contains(got, "1 disagreements") {
		t.Errorf("after: %q", got)
	}
	for range 2 { // found twice, it is one task
		w.advance(12 * time.Hour)
		ctxIdle(t, w)
	}
	if n := w.openTasks(spa, "reconcile"); n != 1 {
		t.Errorf("%d tasks for one disagreement", n)
	}
	if err := w.Server.ReconcileTenant(t.Context(), "nobody", "", &strings.Builder{}); err == nil {
		t.Error("payments of nobody were compared")
	}
	if err := w.Server.ReconcileTenant(t.Context(), "serenity", "23/11", &strings.Builder{}); err == nil {
		t.Error("a day that is none was compared")
	}
}
