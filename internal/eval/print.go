package eval

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// worst is how many confusions a table shows.
const worst = 12

// Table is the report for people.
func (r Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	line("split\tlanguage\trows\tintent\ttopic\tslots\tdate-time\tlanguage\tout of scope\n")
	for _, g := range r.Groups {
		line("%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Split, g.Language, g.Rows, g.Intent, g.Topic, g.Slots, g.When, g.Told, g.Scope)
	}
	line("\nsplit\tlanguage\tacts alone\tintent right\twhole turn alone\tall of it right\n")
	for _, g := range r.Groups {
		line("%s\t%s\t%s\t%s\t%s\t%s\n", g.Split, g.Language, g.Coverage, g.Sure.interval(), g.Alone, g.Whole.interval())
	}
	line("\nsplit\tlanguage\tlength\ttold\n")
	for _, l := range r.Languages {
		line("%s\t%s\t%s\t%s\n", l.Split, l.Language, l.Length, l.Told.interval())
	}
	if len(r.Confusions) > 0 {
		line("\nintent\ttaken for\ttimes\tand acted\n")
		for _, c := range r.Confusions[:min(worst, len(r.Confusions))] {
			line("%s\t%s\t%d\t%d\n", c.Want, c.Got, c.Count, c.Sure)
		}
	}
	_ = w.Flush()
	if r.Turns != nil {
		fmt.Fprintf(&b, "\nTurns of the conversation scripts answered without a model: %s\n", r.Turns.interval())
	}
	return b.String()
}

// List is every example that was not read as labelled.
func (r Report) List() string {
	var b strings.Builder
	for _, m := range r.Misses {
		sure := "unsure"
		if m.Sure {
			sure = "SURE"
		}
		fmt.Fprintf(&b, "%s %s %s: %q\n    want %s\n    got  %s\n", m.ID, m.What, sure, m.Text, m.Want, m.Got)
	}
	return b.String()
}
