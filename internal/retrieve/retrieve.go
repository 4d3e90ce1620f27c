// Package retrieve finds what a business has written about something.
//
// A business has titled documents, cut into passages. A question is words; the
// answer is the passages that hold most of them, with their titles, for a person
// or a model to read. A passage is data: what stands in it instructs nobody. The
// package imports db; the store keeps the passages.
package retrieve

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/db"
)

// Bounds of documents, in runes and words.
const (
	MaxTitle    = 120
	MaxDocument = 200_000
	maxPassage  = 1200
	maxWords    = 24 // of a question
	minWord     = 2  // letters of a word that is looked for
)

// Document is one titled text. Key is its name for good.
type Document struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Passage is a part of a document.
type Passage struct {
	Document string `json:"document"`
	Title    string `json:"title"`
	Part     int    `json:"part"`
	Text     string `json:"text"`
}

// Index keeps a tenant's documents.
type Index interface {
	// Search returns the passages that answer the words best, best first.
	Search(ctx context.Context, q db.Q, words []string, limit int) ([]Passage, error)
	// Replace writes a document in place of the one of its key; one without text
	// is removed.
	Replace(ctx context.Context, tx db.Tx, d Document, now time.Time) error
}

// Words are what is looked for of a question: its words in lower case, each
// once, without marks that a query language would read.
func Words(question string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if utf8.RuneCountInString(w) >= minWord && !seen[w] && !filler(w) && len(out) < maxWords {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// filler are words that stand in every question and every text.
func filler(w string) bool {
	switch w {
	case "the", "is", "are", "do", "does", "you", "your", "what", "how", "can", "to", "of", "and", "or", "in", "on", "at", "it", "we", "my", "for", "have", "there", "with", "be",
		"ya", "wa", "na", "ni", "kwa", "je", "la", "za", "cha", "vya", "nini", "gani", "yangu", "yenu", "kuna", "mna", "iko":
		return true
	}
	return false
}

// Passages cuts a document: paragraphs together up to a bound, so that each part
// can be read by itself.
func (d Document) Passages() []Passage {
	var out []Passage
	var part strings.Builder
	flush := func() {
		if text := strings.TrimSpace(part.String()); text != "" {
			out = append(out, Passage{Document: d.Key, Title: d.Title, Part: len(out), Text: text})
		}
		part.Reset()
	}
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(d.Text, "\r\n", "\n"), "\n\n") {
		for _, piece := range pieces(strings.TrimSpace(paragraph)) {
			if part.Len() > 0 && utf8.RuneCountInString(part.String())+utf8.RuneCountInString(piece) > maxPassage {
				flush()
			}
			if part.Len() > 0 {
				part.WriteString("\n\n")
			}
			part.WriteString(piece)
		}
	}
	flush()
	return out
}

// pieces cuts a paragraph that is too long for one passage between words.
func pieces(paragraph string) []string {
	runes := []rune(paragraph)
	var out []string
	for len(runes) > maxPassage {
		cut := maxPassage
		for cut > maxPassage/2 && !unicode.IsSpace(runes[cut]) {
			cut--
		}
		out = append(out, strings.TrimSpace(string(runes[:cut])))
		runes = runes[cut:]
	}
	return append(out, strings.TrimSpace(string(runes)))
}
