package voice

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/ratiba/ratiba/internal/message"
)

// maxSpoken bounds what is said at once, in runes: nobody listens longer.
const maxSpoken = 1200

var (
	links   = regexp.MustCompile(`https?://\S+`)
	listing = regexp.MustCompile(`(?m)^\s*[-•▸◂]\s*`)
)

// Speech makes of a message what can be said aloud, and returns what can be
// chosen, in the order in which it is said: the first is key 1. option words one
// choice.
func Speech(out message.Outbound, option func(n int, title string) string) (string, []message.Choice) {
	text := out.Text
	choices := append([]message.Choice(nil), out.Buttons...)
	for _, s := range out.Sections {
		choices = append(choices, s.Rows...)
	}
	said := []string{plain(text)}
	for i, c := range choices {
		title := plain(c.Title)
		if c.Description != "" {
			title += ", " + plain(c.Description)
		}
		said = append(said, option(i+1, strings.TrimRight(title, ".")))
	}
	return cutWords(strings.TrimSpace(strings.Join(said, " ")), maxSpoken), choices
}

// plain takes from a text what is for eyes: marks of emphasis, pictures, links;
// lines become sentences.
func plain(text string) string {
	text = listing.ReplaceAllString(links.ReplaceAllString(text, ""), "")
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("*_~`", r):
			return -1
		case r == '\n':
			return r
		case unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, text)
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		if last := line[len(line)-1]; !strings.ContainsRune(".!?:,;", rune(last)) {
			line += "."
		}
		lines = append(lines, line)
	}
	out := strings.Join(lines, " ")
	if !strings.Contains(text, "\n") && !strings.HasSuffix(strings.TrimSpace(text), ".") {
		out = strings.TrimSuffix(out, ".")
	}
	return out
}

// cutWords ends a text at a word within limit runes.
func cutWords(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	text = string(runes[:limit])
	if i := strings.LastIndex(text, " "); i > 0 {
		text = text[:i]
	}
	return strings.TrimRight(text, ",;: ")
}
