package lex

import "strings"

// Phrase is a compiled pattern over folded words. Its elements stand in a row:
//
//	talk|speak   one of these words
//	a|the?       the same, or nothing
//	*            up to three words of any kind
//	%ongea       a word that ends like this
//	nipigi%      a word that begins like this
//	%sogez%      a word that holds this
//	^            the text or the message begins here
//	$            it ends here, or a mark follows; also among words: please|$
//
// Marks inside the text are stepped over, ends of messages are not.
type Phrase struct{ elems []element }

type element struct {
	words    map[string]bool
	shapes   []string // words with a "%"
	optional bool
	gap      bool
	anchor   byte
	end      bool // a "$" among the words
}

// Compile reads a pattern. It panics on one that is badly written.
func Compile(pattern string) Phrase {
	var p Phrase
	for f := range strings.FieldsSeq(pattern) {
		e := element{words: map[string]bool{}}
		switch f {
		case "*":
			e.gap = true
		case "^", "$":
			e.anchor = f[0]
		default:
			if rest, found := strings.CutSuffix(f, "?"); found {
				e.optional, f = true, rest
			}
			for w := range strings.SplitSeq(f, "|") {
				switch {
				case w == "$":
					e.end = true
				case w == "" || strings.ContainsAny(w, "?*^$"):
					panic("lex: a pattern's mark stands inside an element: " + f)
				case strings.Contains(w, "%"):
					e.shapes = append(e.shapes, w)
				default:
					e.words[w] = true
				}
			}
		}
		p.elems = append(p.elems, e)
	}
	return p
}

// CompileAll reads several patterns, one a line; empty lines are skipped.
func CompileAll(patterns string) []Phrase {
	var out []Phrase
	for line := range strings.Lines(patterns) {
		if strings.TrimSpace(line) != "" {
			out = append(out, Compile(line))
		}
	}
	return out
}

// Find returns the first place where the phrase occurs.
func (p Phrase) Find(toks []Token) (Span, bool) {
	for i := range toks {
		if toks[i].Kind != Word && toks[i].Kind != Number {
			continue
		}
		if end, ok := match(p.elems, toks, i); ok && end > i {
			return Span{From: i, To: end}, true
		}
	}
	return Span{}, false
}

// FindAny returns the first place where one of the phrases occurs, trying them
// in order.
func FindAny(ps []Phrase, toks []Token) (Span, bool) {
	for _, p := range ps {
		if s, ok := p.Find(toks); ok {
			return s, true
		}
	}
	return Span{}, false
}

func match(elems []element, toks []Token, i int) (int, bool) {
	if len(elems) == 0 {
		return i, true
	}
	e, rest := elems[0], elems[1:]
	switch {
	case e.anchor == '^':
		if !begins(toks, i) {
			return 0, false
		}
		return match(rest, toks, i)
	case e.anchor == '$':
		if !ends(toks, i) {
			return 0, false
		}
		return match(rest, toks, i)
	case e.gap:
		j := i
		for range 4 {
			if end, ok := match(rest, toks, j); ok {
				return end, true
			}
			j = skipMarks(toks, j)
			if j >= len(toks) || toks[j].Kind == Break {
				return 0, false
			}
			j++
		}
		return 0, false
	}
	if e.end && ends(toks, i) {
		if end, ok := match(rest, toks, i); ok {
			return end, true
		}
	}
	at := skipMarks(toks, i)
	if at < len(toks) && toks[at].Kind <= Number && e.has(toks[at].Text) {
		if end, ok := match(rest, toks, at+1); ok {
			return end, true
		}
	}
	if e.optional {
		return match(rest, toks, i)
	}
	return 0, false
}

func ends(toks []Token, i int) bool {
	return i >= len(toks) || toks[i].Kind != Word && toks[i].Kind != Number
}

func skipMarks(toks []Token, i int) int {
	for i < len(toks) && (toks[i].Kind == Mark || toks[i].Kind == Emoji) {
		i++
	}
	return i
}

func begins(toks []Token, i int) bool {
	for j := i - 1; j >= 0; j-- {
		switch toks[j].Kind {
		case Word, Number:
			return false
		case Break:
			return true
		case Mark:
			if toks[j].Raw != "," && toks[j].Raw != "'" && toks[j].Raw != "\"" {
				return true
			}
		case Emoji:
		}
	}
	return true
}

func (e element) has(word string) bool {
	if e.words[word] {
		return true
	}
	for _, w := range e.shapes {
		switch begins, ends := w[len(w)-1] == '%', w[0] == '%'; {
		case begins && ends:
			if strings.Contains(word, w[1:len(w)-1]) {
				return true
			}
		case ends && strings.HasSuffix(word, w[1:]), begins && strings.HasPrefix(word, w[:len(w)-1]):
			return true
		}
	}
	return false
}
