package eval

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand"
)

// Report is what examples came to.
type Report struct {
	Groups     []Group     `json:"groups"`    // by split and language, then each split whole
	Languages  []Language  `json:"languages"` // by split, language and length of the text
	Confusions []Confusion `json:"confusions"`
	Misses     []Miss      `json:"misses"`
	Turns      *Share      `json:"turns,omitempty"` // of conversations, answered without a model
}

// Group is the figures of one language in one split. All stands for every
// language.
type Group struct {
	Split    string `json:"split"`
	Language string `json:"language"`
	Rows     int    `json:"rows"`
	Intent   Share  `json:"intent"` // the first guess, however sure
	Topic    Share  `json:"topic"`
	Slots    Share  `json:"slots"` // every detail of the utterance exact, time apart
	When     Share  `json:"when"`  // day and time exact
	Told     Share  `json:"language_told"`
	Scope    Share  `json:"out_of_scope"` // of what is out of scope, not acted on
	Coverage Share  `json:"coverage"`     // of all: the intent acts alone
	Sure     Share  `json:"precision"`    // of those: the intent is right
	Alone    Share  `json:"alone"`        // of all: the intent acts alone and no detail is asked of a model
	Whole    Share  `json:"whole"`        // of those: intent, topic, details and time are all right
}

// Groups beside the languages: All holds every language, None the texts
// without one, such as "2".
const (
	All  = "all"
	None = "none"
)

// Language is how many texts of one language and length were told for it.
type Language struct {
	Split    string `json:"split"`
	Language string `json:"language"`
	Length   string `json:"length"` // short: 3 words at most; medium: 8 at most; long; generated: by Mixes
	Told     Share  `json:"told"`
}

// Confusion is an intent that was taken for another one.
type Confusion struct {
	Want  graph.Intent `json:"want"`
	Got   graph.Intent `json:"got"`
	Count int          `json:"count"`
	Sure  int          `json:"sure"` // of those: it would have acted
}

// Miss is one example that was not read as labelled.
type Miss struct {
	ID    string `json:"id"`
	Split string `json:"split"`
	What  string `json:"what"` // intent, topic, slots, when, language
	Sure  bool   `json:"sure"`
	Text  string `json:"text"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// tally collects one group.
type tally struct {
	rows                                                                    int
	intent, topic, slots, when, spoken, scope, coverage, sure, alone, whole counter
}

func (t *tally) add(j Judgement) {
	t.rows++
	t.spoken.judge(j.Spoken)
	if j.Intent == Skipped {
		return
	}
	t.intent.judge(j.Intent)
	t.topic.judge(j.Topic)
	t.slots.judge(j.Slots)
	t.when.judge(j.When)
	if j.Row.Intent == graph.Unknown {
		t.scope.add(!j.Sure)
	}
	t.coverage.add(j.Sure)
	if j.Sure {
		t.sure.add(j.Intent == Right)
	}
	t.alone.add(j.Sure && j.Alone)
	if j.Sure && j.Alone {
		t.whole.add(j.Whole())
	}
}

func (t *tally) group(split, language string) Group {
	return Group{
		Split: split, Language: language, Rows: t.rows, Intent: t.intent.share(), Topic: t.topic.share(), Slots: t.slots.share(),
		When: t.when.share(), Told: t.spoken.share(), Scope: t.scope.share(), Coverage: t.coverage.share(), Sure: t.sure.share(),
		Alone: t.alone.share(), Whole: t.whole.share(),
	}
}

// place is a cell of a table.
type place struct{ split, language, length string }

// Measure judges every example and adds up.
func Measure(rows []Row) Report {
	groups := map[place]*tally{}
	told := map[place]*counter{}
	confused := map[[2]graph.Intent]*Confusion{}
	var r Report
	for _, row := range rows {
		j := Judge(row)
		for _, language := range languages(row) {
			at(groups, place{split: row.Split, language: language}).add(j)
		}
		if j.Spoken != Skipped {
			at(told, place{row.Split, row.Lang, j.length()}).judge(j.Spoken)
		}
		if j.Intent == Wrong {
			c := at(confused, [2]graph.Intent{row.Intent, j.Got.Intent})
			c.Count++
			if j.Sure {
				c.Sure++
			}
		}
		r.Misses = append(r.Misses, j.misses()...)
	}
	for p, t := range groups {
		r.Groups = append(r.Groups, t.group(p.split, p.language))
	}
	for p, c := range told {
		r.Languages = append(r.Languages, Language{p.split, p.language, p.length, c.share()})
	}
	for pair, c := range confused {
		c.Want, c.Got = pair[0], pair[1]
		r.Confusions = append(r.Confusions, *c)
	}
	r.sort()
	return r
}

// at is the value of a key, made on first use.
func at[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// languages are the groups a row counts in. Generated texts are no utterances
// and count by their language alone.
func languages(row Row) []string {
	if row.Source == Generated {
		return nil
	}
	return []string{cmp.Or(row.Lang, None), All}
}

func (j Judgement) length() string {
	switch {
	case j.Row.Source == Generated:
		return Generated
	case j.Words <= 3:
		return "short"
	case j.Words <= 8:
		return "medium"
	}
	return "long"
}

// sort brings a report into the one order it is told in.
func (r Report) sort() {
	rank := func(language string) int {
		return slices.Index([]string{English, Swahili, Mixed, Other, None, All}, language)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Split, b.Split), rank(a.Language)-rank(b.Language))
	})
	slices.SortFunc(r.Languages, func(a, b Language) int {
		return cmp.Or(cmp.Compare(a.Split, b.Split), rank(a.Language)-rank(b.Language), -cmp.Compare(a.Length, b.Length))
	})
	slices.SortFunc(r.Confusions, func(a, b Confusion) int {
		return cmp.Or(b.Sure-a.Sure, b.Count-a.Count, cmp.Compare(a.Want, b.Want), cmp.Compare(a.Got, b.Got))
	})
}

// misses lists what was read wrong.
func (j Judgement) misses() []Miss {
	var out []Miss
	miss := func(v Verdict, what, want, got string) {
		if v == Wrong {
			out = append(out, Miss{ID: j.Row.ID, Split: j.Row.Split, What: what, Sure: j.Sure, Text: j.Row.Text, Want: want, Got: got})
		}
	}
	in := j.Got
	miss(j.Intent, "intent", string(j.Row.Intent), fmt.Sprintf("%s %.2f", in.Intent, in.Confidence))
	miss(j.Topic, "topic", j.Row.Topic, in.Topic)
	miss(j.Slots, "slots", fmt.Sprintf("%+v choice=%q answer=%q", j.Row.Slots, j.Row.Choice, j.Row.Answer),
		fmt.Sprintf("service=%+v staff=%+v any=%v name=%q phone=%q choice=%q answer=%q", in.Entities[understand.KindService],
			in.Entities[understand.KindStaff], in.AnyStaff, in.Name, in.Phone, in.Choice, in.Answer))
	miss(j.When, "when", fmt.Sprintf("%+v", j.Row.When), fmt.Sprintf("%+v", in.When))
	miss(j.Spoken, "language", j.Row.Lang, j.Lang)
	return out
}
