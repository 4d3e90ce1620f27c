package eval

import "fmt"

// Generated is the source of what Mixes makes.
const Generated = "generated"

// Mixes makes texts in both languages: every English utterance of four words
// and more, joined with a Swahili one of the same split, in turn before and
// behind it. They are labelled for the language alone.
func Mixes(rows []Row) []Row {
	swahili := map[string][]Row{}
	for _, r := range rows {
		if r.Lang == Swahili && r.words() >= 4 {
			swahili[r.Split] = append(swahili[r.Split], r)
		}
	}
	var out []Row
	for _, r := range rows {
		other := swahili[r.Split]
		if r.Lang != English || r.words() < 4 || len(other) == 0 {
			continue
		}
		n := len(out)
		a, b := r.Text, other[n%len(other)].Text
		if n%2 == 1 {
			a, b = b, a
		}
		out = append(out, Row{ID: fmt.Sprintf("mix-%03d", n+1), Split: r.Split, Lang: Mixed, Source: Generated, Text: a + ", " + b})
	}
	return out
}
