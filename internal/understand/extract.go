package understand

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/understand/lex"
	"github.com/ratiba/ratiba/internal/understand/when"
)

// slot is one detail as the extractor reports it.
type slot struct {
	Value      *string `json:"value"`
	Confidence float64 `json:"confidence"`
}

type extracted struct {
	Service  slot `json:"service"`
	Staff    slot `json:"staff"`
	Date     slot `json:"date"`
	Time     slot `json:"time"`
	TimeFrom slot `json:"time_from"`
	TimeTo   slot `json:"time_to"`
	Name     slot `json:"name"`
}

// resolved is the most a value may count for that the model worked out itself
// and the text only bears out: under the acting threshold.
const resolved = 0.80

// text returns the value, "" when there is none worth keeping.
func (s slot) text() string {
	if s.Value == nil || !unit(s.Confidence) || s.Confidence < 0.5 {
		return ""
	}
	return strings.TrimSpace(*s.Value)
}

// extract asks for details and takes over those that the text bears out.
func (u *Understander) extract(ctx context.Context, r *reading, belongs IDs) string {
	res, err := u.call(ctx, llm.SlotExtractor, map[string]string{
		"business_name": belongs.Voice.Business, "today": r.today(), "services": list(r.req.Nouns[KindService]),
		"staff": list(r.req.Nouns[KindStaff]), "expecting": r.expecting(),
	}, r.text, u.slots, belongs)
	if err != nil {
		r.in.OverBudget = errors.Is(err, llm.ErrBudget)
		return ""
	}
	var x extracted
	if err := json.Unmarshal(res.JSON, &x); err != nil {
		u.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "understand.answer_refused", belongs.attrs(llm.SlotExtractor)...)
		return res.CallID
	}
	r.in.Tier = max(r.in.Tier, res.Tier)
	r.takeNoun(KindService, x.Service, false)
	r.takeNoun(KindStaff, x.Staff, true)
	r.takeWhen(x)
	r.takeName(x.Name)
	return res.CallID
}

// takeNoun takes over a service or a person the app knows. A person must have
// been named in the text; a service may have been described.
func (r *reading) takeNoun(kind string, s slot, named bool) {
	value := s.text()
	if value == "" {
		return
	}
	have, found := r.in.Entities[kind]
	if found && have.Confidence >= Doubt {
		return
	}
	id := ""
	for _, n := range r.req.Nouns[kind] {
		for _, name := range n.Names {
			if strings.EqualFold(strings.TrimSpace(name), value) {
				id = n.ID
			}
		}
	}
	conf := s.Confidence
	switch {
	case id == "", found && len(have.Candidates) > 0 && !slices.Contains(have.Candidates, id):
		return
	case named && !r.mentions(value):
		return
	case !found:
		conf = min(conf, 0.9)
	}
	if r.in.Entities == nil {
		r.in.Entities = make(map[string]graph.Entity)
	}
	r.in.Entities[kind] = graph.Entity{ID: id, Confidence: conf, Span: have.Span}
}

// mentions reports whether a word of a name stands in the text, typing slips
// allowed.
func (r *reading) mentions(name string) bool {
	for _, want := range lex.Tokens(lex.Clean(name)) {
		if want.Kind != lex.Word || len(want.Text) < 3 {
			continue
		}
		for _, t := range r.toks {
			if t.Kind == lex.Word && lex.Near(t.Text, want.Text, lex.Slips(want.Text)) {
				return true
			}
		}
	}
	return false
}

// takeName takes over a name that stands in the text as it is.
func (r *reading) takeName(s slot) {
	value := s.text()
	if value == "" || r.in.Name != "" || s.Confidence < Doubt {
		return
	}
	at := strings.Index(strings.ToLower(r.text), strings.ToLower(value))
	if at < 0 || len(value) > 2*maxNameRunes {
		return
	}
	for _, t := range lex.Tokens(value) {
		if t.Kind == lex.Number {
			return
		}
	}
	if e := r.in.Entities[KindStaff]; e.ID != "" && !r.req.Expect.wants(SlotName) {
		return
	}
	r.in.Name = value
}

// takeWhen takes over a day and a time where code found none, or doubted what it
// found. Our own parser reads the value; the text must bear it out.
func (r *reading) takeWhen(x extracted) {
	w := &r.in.When
	if w.Fault != "" || w.Confidence >= Doubt && w.Date != "" && (w.Time != "" || len(w.Options) > 0 || w.From != "" || w.To != "") {
		return
	}
	sure := w.Confidence >= Doubt
	conf := w.Confidence
	lower := func(c float64) {
		if conf == 0 || c < conf {
			conf = c
		}
	}
	if day, ok := r.day(x.Date); ok && (w.Date == "" || !sure) {
		switch {
		case day == w.Date:
			conf = max(conf, min(x.Date.Confidence, Sure))
		default:
			if !sure {
				conf = 0
			}
			w.Date, w.DateTo = day, ""
			lower(min(x.Date.Confidence, resolved))
		}
	}
	if w.Time == "" && len(w.Options) == 0 && w.From == "" && w.To == "" {
		if at, ok := r.clock(x.Time); ok {
			w.Time = at
			lower(min(x.Time.Confidence, resolved))
		} else {
			from, okFrom := r.clock(x.TimeFrom)
			to, okTo := r.clock(x.TimeTo)
			if okFrom {
				w.From = from
			}
			if okTo && (!okFrom || to > from) {
				w.To = to
			}
			if okFrom || okTo {
				lower(min(max(x.TimeFrom.Confidence, x.TimeTo.Confidence), resolved))
			}
		}
	}
	w.Confidence = conf
	if w.Empty() {
		r.in.When = graph.When{}
	}
}

// day checks a day the model worked out: it exists, is not over, and the text
// names its weekday or its number, or a word of time that our parser knows.
func (r *reading) day(s slot) (string, bool) {
	value := s.text()
	if value == "" {
		return "", false
	}
	if r.spelled(value) {
		w := when.Parse(value, r.req.Now, r.req.Zone, when.Expect{Date: true})
		return w.Date, w.Date != ""
	}
	day, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return "", false
	}
	zone := r.req.Zone
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := r.req.Now.In(zone).Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if day.Before(today) || day.After(today.AddDate(2, 0, 0)) {
		return "", false
	}
	for i, t := range r.toks {
		if n, _, ok := lex.ReadNumber(r.toks, i); ok && n == day.Day() {
			return value, true
		}
		if n, _, ok := lex.ReadOrdinal(r.toks, i); ok && n == day.Day() {
			return value, true
		}
		if t.Kind != lex.Word {
			continue
		}
		if w := when.Parse(t.Raw, r.req.Now, zone, when.Expect{}); w.Date != "" && w.DateTo == "" {
			named, err := time.Parse(time.DateOnly, w.Date)
			if err == nil && (named.Equal(day) || named.Weekday() == day.Weekday()) {
				return value, true
			}
		}
	}
	return "", false
}

// spelled reports whether a value stands in the text word for word.
func (r *reading) spelled(value string) bool {
	return strings.Contains(strings.ToLower(r.text), strings.ToLower(value))
}

// clock checks a time the model worked out: the text names its hour on one of
// the clocks people use, or a part of the day it lies in.
func (r *reading) clock(s slot) (string, bool) {
	value := s.text()
	if value == "" {
		return "", false
	}
	at, err := time.Parse("15:04", value)
	if err != nil {
		return "", false
	}
	h := at.Hour()
	spoken := []int{h, h % 12, (h + 6) % 12, h + 1, (h + 1) % 12, (h + 7) % 12} // the hour, and the next one for "quarter to"
	for i := range r.toks {
		if r.toks[i].Kind == lex.Word {
			if w := when.Parse(r.toks[i].Raw, r.req.Now, r.req.Zone, when.Expect{}); w.From != "" && w.From <= value && value <= w.To {
				return value, true
			}
		}
		if n, _, ok := lex.ReadNumber(r.toks, i); ok && n <= 24 && (slices.Contains(spoken, n) || slices.Contains(spoken, n%12)) {
			return value, true
		}
	}
	return "", false
}
