package prompt

import (
	"regexp"
	"strings"
	"unicode"
)

// customerTag delimits a customer's words in a message of their own.
const customerTag = "customer_message"

// Delimit wraps what a customer wrote, for a message of its own. The text can
// neither end the delimiter nor open another, and invisible control characters
// are taken out; nothing else is changed.
func Delimit(customerText string) string { return delimit(customerTag, customerText) }

// tagOpening finds what could be read as the start of a tag, also one written
// with spaces, with invisible characters or with the wide forms of the sign.
var tagOpening = regexp.MustCompile(`[<＜﹤]([\s\p{Z}\p{Cf}/]*[\p{L}_])`)

func delimit(tag, text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = tagOpening.ReplaceAllString(text, "‹$1")
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}
