package admin

import (
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

// outcome is what a command comes to: more to read, something to say, or one
// call to make.
type outcome struct {
	reads, previews []graph.Call
	says            []graph.Say
	action          *Action
}

func tellOf(text string, facts map[string]any) outcome {
	return outcome{says: []graph.Say{note(text, facts)}}
}

// do takes a command as far as what is read so far allows.
func do(i in, c Command) outcome {
	switch c.Verb {
	case day:
		return dayReport(i, c)
	case week:
		return weekReport(i, c)
	case revenue:
		return revenueReport(i, c)
	case free:
		return freeReport(i, c)
	case progress:
		return progressReport(i)
	case find:
		return findContacts(i, c)
	case documents:
		return askDocuments(i, c)
	case save:
		return saveContact(i, c)
	case rename:
		return renameContact(i, c)
	case block:
		return blockTime(i, c)
	case cancel, move, remind:
		return change(i, c)
	case drop:
		return dropService(i, c)
	case tell:
		return tellEveryone(i, c)
	case hello:
		o := office(i)
		return tellOf("hello", map[string]any{"admin": o.Actor.Name, "waiting": o.Waiting})
	case bye, thanks, nothing, help:
		return tellOf(string(c.Verb), nil)
	case many:
		return tellOf("too_many", map[string]any{"most": maxQueue})
	case unknown:
	}
	return tellOf("unknown", nil)
}

// ask makes one read and returns its answer. It reports false while the answer
// is still to come, or is a refusal, which o then tells.
func (o *outcome) ask(i in, tool string, args map[string]any, v any) bool {
	call := graph.Call{Tool: tool, Args: args}
	res, done := i.Results.Get(call)
	if !done {
		if _, known := office(i).Confirms(tool); !known {
			o.says = []graph.Say{note("not_here", nil)}
			return false
		}
		o.reads = append(o.reads, call)
		return false
	}
	return o.took(res, v)
}

// preview is ask about what a call would do.
func (o *outcome) preview(i in, call graph.Call, v any) bool {
	res, done := i.Results.Get(call)
	if !done {
		if _, known := office(i).Confirms(call.Tool); !known {
			o.says = []graph.Say{note("not_here", nil)}
			return false
		}
		o.previews = append(o.previews, call)
		return false
	}
	if len(res.Data) == 0 {
		v = nil
	}
	return o.took(res, v)
}

func (o *outcome) took(res graph.Result, v any) bool {
	if !res.OK {
		o.says = []graph.Say{refusal(res)}
		return false
	}
	if v == nil {
		return true
	}
	if err := res.Decode(v); err != nil {
		o.says = []graph.Say{note("not_here", nil)} // another app's tool of that name
		return false
	}
	return true
}

// stats asks for a report.
func (o *outcome) stats(i in, report, date, staff string, v any) bool {
	args := map[string]any{"report": report, "date": date}
	if staff != "" {
		args["staff_id"] = staff
	}
	return o.ask(i, "query_stats", args, v)
}

func dayReport(i in, c Command) outcome {
	date, ok := dayOf(i, c.Text)
	if !ok {
		return tellOf("which_day", nil)
	}
	var s stats
	var o outcome
	if !o.stats(i, "day", date, staffIn(i, c.Text), &s) {
		return o
	}
	var visits []map[string]any
	for _, v := range s.Visits {
		if v.Status == "cancelled" {
			continue
		}
		visits = append(visits, map[string]any{
			"at": clock(i, v.Start), "name": quote(v.Name), "service": v.Service, "staff": plain(v.StaffName), "code": v.Code, "status": v.Status,
		})
	}
	return tellOf("day", map[string]any{"day": civil(i, date), "visits": visits, "count": len(visits), "more": s.More})
}

func weekReport(i in, c Command) outcome {
	date := i.Now.In(i.Facts.Zone)
	if last.MatchString(c.Text) {
		date = date.AddDate(0, 0, -7)
	} else if following.MatchString(c.Text) {
		date = date.AddDate(0, 0, 7)
	}
	var s stats
	var o outcome
	if !o.stats(i, "week", date.Format(time.DateOnly), staffIn(i, c.Text), &s) || s.Totals == nil {
		return o
	}
	facts := map[string]any{
		"from": civil(i, s.From), "to": civil(i, s.To), "visits": s.Totals.Visits, "waiting": s.Totals.Waiting, "cancelled": s.Totals.Cancelled,
		"noshows": s.Totals.NoShows, "customers": s.Totals.Customers, "booked": "", "paid": "",
	}
	if s.Totals.Booked != nil && s.Totals.Paid != nil {
		facts["booked"], facts["paid"] = s.Totals.Booked.String(), s.Totals.Paid.String()
	}
	busiest, most := "", 0
	for _, d := range s.Days {
		if d.Visits > most {
			busiest, most = d.Date, d.Visits
		}
	}
	facts["busiest"], facts["most"] = civil(i, busiest), most
	return tellOf("week", facts)
}

func revenueReport(i in, c Command) outcome {
	month := monthOf(i, c.Text)
	var s stats
	var o outcome
	if !o.stats(i, "revenue", month.Format(time.DateOnly), staffIn(i, c.Text), &s) {
		return o
	}
	var rows []map[string]any
	for _, r := range s.Revenue {
		rows = append(rows, map[string]any{"staff": plain(r.StaffName), "visits": r.Visits, "booked": r.Booked.String(), "paid": r.Paid.String()})
	}
	return tellOf("revenue", map[string]any{"month": monthName(i.Input.Language, month), "year": month.Year(), "rows": rows})
}

func freeReport(i in, c Command) outcome {
	date, ok := dayOf(i, c.Text)
	if !ok {
		return tellOf("which_day", nil)
	}
	var s stats
	var o outcome
	if !o.stats(i, "free_hours", date, staffIn(i, c.Text), &s) {
		return o
	}
	var rows []map[string]any
	for _, f := range s.Free {
		var spans []string
		for _, p := range f.Spans {
			spans = append(spans, clock(i, p.From)+" - "+clock(i, p.To))
		}
		rows = append(rows, map[string]any{"staff": plain(f.StaffName), "spans": strings.Join(spans, ", ")})
	}
	return tellOf("free", map[string]any{"day": civil(i, date), "rows": rows})
}

func progressReport(i in) outcome {
	var s struct {
		Broadcasts []struct {
			Text      string    `json:"text"`
			CreatedAt time.Time `json:"created_at"`
			Total     int       `json:"total"`
			Waiting   int       `json:"waiting"`
			Sending   int       `json:"sending"`
			Sent      int       `json:"sent"`
			Delivered int       `json:"delivered"`
			Failed    int       `json:"failed"`
		} `json:"broadcasts"`
	}
	var o outcome
	if !o.stats(i, "broadcasts", i.Now.In(i.Facts.Zone).Format(time.DateOnly), "", &s) {
		return o
	}
	if len(s.Broadcasts) == 0 {
		return tellOf("no_broadcast", nil)
	}
	b := s.Broadcasts[0]
	return tellOf("progress", map[string]any{
		"text": quoteLong(b.Text), "at": moment(i, b.CreatedAt), "total": b.Total, "out": b.Sent, "delivered": b.Delivered,
		"left": b.Waiting + b.Sending, "failed": b.Failed,
	})
}

func findContacts(i in, c Command) outcome {
	if who := strings.TrimSpace(c.Rest); len([]rune(who)) < 2 {
		return tellOf("which_customer", nil)
	}
	var found contacts
	var o outcome
	if !o.ask(i, "lookup_contact", map[string]any{"query": clip(possessive.ReplaceAllString(c.Rest, ""), 80), "limit": 5}, &found) {
		return o
	}
	var rows []map[string]any
	for _, p := range found.Contacts {
		rows = append(rows, map[string]any{"name": quote(p.called()), "phone": p.Phone, "announcements": p.Announcements})
	}
	return tellOf("found", map[string]any{"rows": rows, "who": quote(c.Rest)})
}

func askDocuments(i in, c Command) outcome {
	var found struct {
		Passages []struct {
			Title string `json:"title"`
			Text  string `json:"text"`
		} `json:"passages"`
	}
	var o outcome
	if !o.ask(i, "answer_from_knowledge", map[string]any{"question": clip(c.Rest, 500), "limit": 2}, &found) {
		return o
	}
	var rows []map[string]any
	for _, p := range found.Passages {
		rows = append(rows, map[string]any{"title": plain(p.Title), "text": quoteLong(p.Text)})
	}
	return tellOf("documents", map[string]any{"rows": rows})
}

// The words a moment is told in.
func clock(i in, t time.Time) string {
	return wording.Clock(i.Input.Language, t.In(i.Facts.Zone))
}

func moment(i in, t time.Time) string {
	return wording.Date(i.Input.Language, t.In(i.Facts.Zone)) + ", " + clock(i, t)
}

func civil(i in, date string) string {
	t, err := time.ParseInLocation(time.DateOnly, date, i.Facts.Zone)
	if err != nil {
		return ""
	}
	return wording.Date(i.Input.Language, t)
}
