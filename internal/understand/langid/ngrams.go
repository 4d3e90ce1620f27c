package langid

import (
	_ "embed"
	"strings"
	"sync"
)

// ngrams.txt is what pairs and triples of letters weigh in each language: the
// first line names the languages, the second what an unseen one costs, every
// other line is letters and a cost for each language. A cost is a printable
// character, '!' for 0; it is -8 times the logarithm of the probability. A '^'
// begins a word and a '$' ends it. docs/evaluation.md says what was counted.
//
//go:embed ngrams.txt
var ngramFile string

// languages is how many languages ngrams.txt may hold.
const languages = 24

// English and Swahili stand first in ngrams.txt.
const (
	atEnglish = iota
	atSwahili
	atOthers
)

type costs [languages]uint8

type table struct {
	names  []string
	unseen costs
	grams  map[string]costs
}

// load reads ngrams.txt once.
var load = sync.OnceValue(func() table {
	lines := strings.Split(strings.TrimSpace(ngramFile), "\n")
	t := table{names: strings.Fields(lines[0]), grams: make(map[string]costs, len(lines))}
	for i, line := range lines[1:] {
		at := strings.IndexByte(line, ' ')
		var c costs
		for j := range min(languages, len(line)-at-1) {
			c[j] = line[at+1+j] - '!'
		}
		if i == 0 {
			t.unseen = c
			continue
		}
		t.grams[line[:at]] = c
	}
	return t
})

// spelling is how a text is spelled: what its letters cost in each language.
type spelling struct {
	costs [languages]int
	grams int
}

// add counts one folded word.
func (s *spelling) add(t table, word string) {
	var buf [64]byte
	if len(word) > len(buf)-2 {
		return
	}
	w := append(append(append(buf[:0], '^'), word...), '$')
	var begins [len(buf) + 1]int // where each letter begins
	ends := begins[:0]
	for i := range string(w) {
		ends = append(ends, i)
	}
	ends = append(ends, len(w))
	for n := 2; n <= 3; n++ {
		for i := 0; i+n < len(ends); i++ {
			c, ok := t.grams[string(w[ends[i]:ends[i+n]])]
			if !ok {
				c = t.unseen
			}
			for l := range t.names {
				s.costs[l] += int(c[l])
			}
			s.grams++
		}
	}
}

// foreign is by how much, a pair or triple of letters, the best of the other
// languages spells the text better than English and Swahili do; negative where
// it does not. A short text is pulled towards 0.
func (s *spelling) foreign(t table) float64 {
	if s.grams == 0 || len(t.names) <= atOthers {
		return 0
	}
	ours, theirs := min(s.costs[atEnglish], s.costs[atSwahili]), s.costs[atOthers]
	for l := atOthers; l < len(t.names); l++ {
		theirs = min(theirs, s.costs[l])
	}
	return float64(ours-theirs) / 8 / float64(s.grams+10)
}
