package demo_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/store"
)

// operate does what the command of that name does.
func (w world) operate(operation string, args, into any) error {
	w.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := w.Server.Operate(w.t.Context(), "serenity", operation, raw)
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	return err
}

// calendarOf reads a calendar as a program does.
func (w world) calendarOf(address, tag string) (status int, newTag, body string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("If-None-Match", tag)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Etag"), string(raw)
}

// A calendar program sees a visit come, move on and go, at an address that only
// who was given it knows.
func TestACalendarProgramFollowsTheBookings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	p.say("a facial tomorrow at 3 pm with Njeri please")
	book(t, p, "Mary Wambui")
	p.tap("yes")
	p.pin("1234")
	mustSay(t, p.hear(), "confirmed")
	var made struct{ URL string }
	if err := w.operate(booking.Link, booking.LinkArgs{Staff: "njeri"}, &made); err != nil {
		t.Fatal(err)
	}
	address := w.URL + made.URL[strings.Index(made.URL, "/ics/"):]
	status, tag, body := w.calendarOf(address, "")
	if status != http.StatusOK || !strings.Contains(body, "SUMMARY:Facial: Mary W.") || !strings.Contains(body, "DTSTART:20261124T120000Z") ||
		!strings.Contains(body, "STATUS:CONFIRMED") || strings.Contains(body, "Wambui") || strings.Contains(body, mary) {
		t.Fatalf("%d %s", status, body)
	}
	uid := body[strings.Index(body, "UID:") : strings.Index(body, "UID:")+40]
	if again, _, _ := w.calendarOf(address, tag); again != http.StatusNotModified {
		t.Errorf("what has not changed is sent again: %d", again)
	}
	p.say("cancel my booking")
	p.tapYes()
	status, _, body = w.calendarOf(address, tag)
	if status != http.StatusOK || !strings.Contains(body, "STATUS:CANCELLED") || !strings.Contains(body, uid) {
		t.Errorf("after the cancellation: %d %s", status, body)
	}
	if err := w.operate(booking.Link, booking.LinkArgs{Staff: "njeri"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{address, w.URL + "/ics/x.ics", w.URL + "/ics/a.b.ics", w.URL + "/ics/a.b"} {
		if status, _, _ := w.calendarOf(gone, ""); status != http.StatusNotFound {
			t.Errorf("%s answers %d", gone, status)
		}
	}
}

func TestTheOfficeBlocksTimeAndMarksNoShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	p.say("a facial tomorrow at 3 pm with Njeri please")
	book(t, p, "Mary Wambui")
	p.tap("yes")
	p.pin("1234")
	h := p.hear()
	mustSay(t, h, "confirmed")
	code := h.Text[strings.Index(h.Text, "*")+1:][:6]
	var off struct{ ID, From, To string }
	if err := w.operate(booking.Block, booking.BlockArgs{Staff: "njeri", From: "2026-11-24", Note: "ill"}, &off); err != nil {
		t.Fatal(err)
	}
	if off.From != "2026-11-24 00:00" || off.To != "2026-11-25 00:00" {
		t.Errorf("blocked %+v", off)
	}
	ctxIdle(t, w)
	st, err := w.Server.Store(w.Server.Tenants()[tenantOf(w, "serenity")].ID)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, st, "SELECT COUNT(*) FROM tasks WHERE kind = 'misfit' AND detail LIKE $1", "booking "+code+"%outside_hours"); n != 1 {
		t.Errorf("%d tasks for the visit nobody will be there for", n)
	}
	other := w.phone("+254700000002")
	mustSay(t, other.say("a facial tomorrow at 11 am with Njeri please"), "Njeri doesn't work")
	if err := w.operate(booking.Unblock, booking.UnblockArgs{ID: off.ID}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.operate(booking.Unblock, booking.UnblockArgs{ID: off.ID}, nil); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("unblocked twice: %v", err)
	}
	var left []any
	if err := w.operate(booking.Blocks, struct{}{}, &left); err != nil || len(left) != 0 {
		t.Errorf("blocked still: %v, %v", left, err)
	}
	if err := w.operate(booking.NoShow, booking.NoShowArgs{Code: code}, nil); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("a no-show before the visit: %v", err)
	}
	w.advance(30 * time.Hour)
	for len(p.poll(0)) > 0 { // reminders
		p.hear()
	}
	var marked struct{ Status string }
	if err := w.operate(booking.NoShow, booking.NoShowArgs{Code: strings.ToLower(code)}, &marked); err != nil || marked.Status != "no_show" {
		t.Errorf("marked %+v, %v", marked, err)
	}
	w.advance(10 * time.Hour)
	p.quiet() // nobody asks how it was
	for name, err := range map[string]error{
		"an unknown operation": w.operate("dance", struct{}{}, nil), "unknown arguments": w.operate(booking.Link, map[string]int{"x": 1}, nil),
		"nobody": w.operate(booking.Link, booking.LinkArgs{Staff: "x"}, nil), "no date": w.operate(booking.Block, booking.BlockArgs{From: "soon"}, nil),
	} {
		if fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// count runs a query for one number over the tenant's rows.
func count(t *testing.T, st *store.Tenant, query string, args ...any) (n int) {
	t.Helper()
	if err := st.Read(t.Context(), func(q db.Q) error { return q.QueryRowContext(t.Context(), query, args...).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}
