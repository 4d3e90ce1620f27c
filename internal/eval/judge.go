package eval

import (
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/understand/langid"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// Judgement is what one example came to. A part that the example is not
// labelled for is not Judged.
type Judgement struct {
	Row    Row
	Got    graph.Input
	Lang   string // what the text was taken for
	Words  int    // of the text
	Intent Verdict
	Topic  Verdict
	Slots  Verdict // services, staff, name, phone, picks and plain answers, all of them
	When   Verdict
	Spoken Verdict // the language
	Sure   bool    // confidence from which the intent acts alone
	Alone  bool    // no model would be asked for anything
}

// Verdict is whether a part of the meaning was read as labelled.
type Verdict uint8

// Verdicts.
const (
	Skipped Verdict = iota // not labelled
	Right
	Wrong
)

func verdict(right bool) Verdict {
	if right {
		return Right
	}
	return Wrong
}

// Whole reports whether nothing of the reading is wrong but the language.
func (j Judgement) Whole() bool {
	return j.Intent != Wrong && j.Topic != Wrong && j.Slots != Wrong && j.When != Wrong
}

// Judge reads an example by code alone and compares. A detail counts as read
// from the confidence under which a model would be asked for it.
func Judge(row Row) Judgement {
	in, alone := understand.Alone(row.request())
	j := Judgement{Row: row, Got: in, Words: row.words(), Sure: in.Confidence >= understand.Sure, Alone: alone}
	j.Lang = langid.Identify(lex.Tokens(lex.Clean(row.Text)))
	if row.Lang != "" {
		j.Spoken = verdict(j.Lang == row.Lang)
	}
	if row.Intent == "" {
		return j
	}
	j.Intent = verdict(in.Intent == row.Intent)
	if row.Topic != "" && in.Intent == graph.Question {
		j.Topic = verdict(in.Topic == row.Topic)
	}
	if detailed(row.Intent) {
		j.Slots = row.slots(in)
		if !row.open("when") {
			j.When = row.when(in.When)
		}
	}
	return j
}

// words counts the words of the text.
func (r Row) words() int {
	n := 0
	for _, t := range lex.Tokens(lex.Clean(r.Text)) {
		if t.Kind == lex.Word {
			n++
		}
	}
	return n
}

// detailed reports whether an app looks at the details that come with an
// intent.
func detailed(i graph.Intent) bool {
	switch i {
	case graph.Book, graph.Reschedule, graph.Cancel, graph.MyBookings, graph.Question, graph.Affirm, graph.Deny:
		return true
	case graph.Greeting, graph.Thanks, graph.Human, graph.Complaint, graph.Feedback, graph.Unknown:
	}
	return false
}

func (r Row) open(part string) bool { return slices.Contains(r.Open, part) }

// slots compares what was read with the labels. What stands nowhere in the
// labels and was not read is not judged: it would be right every time.
func (r Row) slots(in graph.Input) Verdict {
	read := func(kind string) []string {
		e := in.Entities[kind]
		switch {
		case e.Confidence < understand.Doubt:
			return nil
		case e.ID != "":
			return []string{e.ID}
		}
		return slices.Sorted(slices.Values(e.Candidates))
	}
	found, right := false, true
	compare := func(part string, said, same bool) {
		if said && !r.open(part) {
			found, right = true, right && same
		}
	}
	for _, k := range []struct {
		kind   string
		labels []string
	}{{understand.KindService, r.Slots.Service}, {understand.KindStaff, r.Slots.Staff}} {
		got, want := read(k.kind), slices.Sorted(slices.Values(k.labels))
		compare(k.kind, len(got)+len(want) > 0, slices.Equal(got, want))
	}
	compare("any", r.Slots.Any || in.AnyStaff, r.Slots.Any == in.AnyStaff)
	compare("name", r.Slots.Name != "" || in.Name != "", r.Slots.Name == in.Name)
	compare("phone", r.Slots.Phone != "" || in.Phone != "", r.Slots.Phone == in.Phone)
	compare("choice", r.Choice != "" || in.Choice != "", r.Choice == in.Choice)
	compare("answer", r.Answer != "" || in.Answer != "", r.Answer == in.Answer)
	if !found {
		return Skipped
	}
	return verdict(right)
}

func (r Row) when(got graph.When) Verdict {
	w, want := When{}, r.When
	if got.Confidence >= understand.Doubt {
		w = When{Date: got.Date, DateTo: got.DateTo, Time: got.Time, From: got.From, To: got.To, Options: got.Options, Fault: got.Fault}
	}
	if r.open("date") {
		w.Date, w.DateTo, want.Date, want.DateTo = "", "", "", ""
	}
	if r.open("time") {
		w.Time, w.From, w.To, w.Options, want.Time, want.From, want.To, want.Options = "", "", "", nil, "", "", "", nil
	}
	w.Options = slices.Sorted(slices.Values(w.Options))
	options := slices.Sorted(slices.Values(want.Options))
	switch same := w.Date == want.Date && w.DateTo == want.DateTo && w.Time == want.Time && w.From == want.From && w.To == want.To &&
		w.Fault == want.Fault && slices.Equal(w.Options, options); {
	case w.empty() && want.empty():
		return Skipped
	default:
		return verdict(same)
	}
}

func (w When) empty() bool {
	return w.Date == "" && w.DateTo == "" && w.Time == "" && w.From == "" && w.To == "" && len(w.Options) == 0 && w.Fault == ""
}
