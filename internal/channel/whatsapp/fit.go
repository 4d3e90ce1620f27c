package whatsapp

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/ratiba/ratiba/internal/message"
)

// menu stands on the button that opens a list for which nobody chose a label.
const menu = "☰"

// ellipsis marks a cut; it counts as one unit.
const ellipsis = "…"

// Fit returns out in a form that Check accepts, losing nothing that a body, a
// choice or a parameter says:
//
//   - more than three buttons, or a button whose title is too long or used
//     twice, become a list;
//   - the title of a row is cut only where the whole of it fits into the row's
//     description; titles of sections, the list's label and the footer are cut;
//   - a body too long for choices becomes a text with the choices numbered
//     below it in their order;
//   - blanks that a template parameter may not hold become one space.
//
// Ids are never touched. What cannot be made to fit, more than ten choices for
// one, is an error as from Check. Fit leaves out's own slices alone.
func Fit(out message.Outbound) (message.Outbound, error) {
	switch out.Kind { //nolint:exhaustive // nothing of the other kinds can give way.
	case message.Text:
		if out.Footer != "" {
			out.Text, out.Footer = out.Text+"\n\n"+out.Footer, ""
		}
	case message.Button, message.List:
		out = fitChoices(out)
	case message.Template:
		if out.Template != nil {
			t := *out.Template
			t.Parameters = slices.Clone(t.Parameters)
			for i, p := range t.Parameters {
				if badParameter.MatchString(p) {
					t.Parameters[i] = strings.Join(strings.Fields(p), " ")
				}
			}
			out.Template = &t
		}
	}
	if err := Check(out); err != nil {
		return message.Outbound{}, err
	}
	return out, nil
}

func fitChoices(out message.Outbound) message.Outbound {
	out.Footer = shorten(out.Footer, MaxFooter)
	if length(out.Text) > MaxBody {
		return numbered(out)
	}
	if out.Kind == message.Button {
		if checkButtons(out) == nil || len(out.Buttons) == 0 {
			return out
		}
		out.Kind, out.Sections, out.Buttons = message.List, []message.Section{{Rows: out.Buttons}}, nil
	}
	out.ListLabel = shorten(out.ListLabel, MaxListLabel)
	if strings.TrimSpace(out.ListLabel) == "" {
		out.ListLabel = menu
	}
	out.Sections = slices.Clone(out.Sections)
	for i, s := range out.Sections {
		rows := slices.Clone(s.Rows)
		for j, r := range rows {
			rows[j] = fitRow(r)
		}
		out.Sections[i] = message.Section{Title: shorten(s.Title, MaxSection), Rows: rows}
	}
	return out
}

// fitRow moves a title that is too long into the description, if it fits there.
func fitRow(r message.Choice) message.Choice {
	if length(r.Title) <= MaxRowTitle {
		return r
	}
	whole := r.Title
	if r.Description != "" {
		whole += " · " + r.Description
	}
	if length(whole) > MaxDescription {
		return r
	}
	r.Title, r.Description = shorten(r.Title, MaxRowTitle), whole
	return r
}

// numbered writes choices as lines of a text.
func numbered(out message.Outbound) message.Outbound {
	choices := out.Buttons
	for _, s := range out.Sections {
		choices = append(slices.Clone(choices), s.Rows...)
	}
	if len(choices) == 0 || len(choices) > MaxRows {
		return out
	}
	var b strings.Builder
	b.WriteString(out.Text + "\n")
	for i, c := range choices {
		fmt.Fprintf(&b, "\n%d. %s", i+1, c.Title)
		if c.Description != "" {
			b.WriteString(", " + c.Description)
		}
	}
	if out.Footer != "" {
		b.WriteString("\n\n" + out.Footer)
	}
	return message.Outbound{Kind: message.Text, Text: b.String(), ReplyTo: out.ReplyTo}
}

// shorten cuts s to limit units, the ellipsis included.
func shorten(s string, limit int) string {
	if length(s) <= limit {
		return s
	}
	return strings.TrimRightFunc(s[:fitting(s, limit-1)], unicode.IsSpace) + ellipsis
}

// fitting returns how many bytes of s fit into limit units without breaking a
// rune or taking the mark (accent, skin tone, joiner) off the rune it modifies.
func fitting(s string, limit int) int {
	end, units, joined := 0, 0, false
	for i, r := range s {
		if !joined && !modifies(r) {
			end = i
		}
		joined = r == '\u200d'
		if units += max(1, utf16.RuneLen(r)); units > limit {
			return end
		}
	}
	return len(s)
}

// modifies reports whether r belongs to the rune before it.
func modifies(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200d' || r >= 0x1F3FB && r <= 0x1F3FF
}

// Split breaks text into parts that may each be sent as a text, at the end of a
// paragraph, a line, a sentence or a word where one lies in the part's second
// half. No part is blank; blanks around a break are dropped.
func Split(text string) []string {
	var parts []string
	for {
		text = strings.TrimSpace(text)
		if text == "" {
			return parts
		}
		if length(text) <= MaxText {
			return append(parts, text)
		}
		end := fitting(text, MaxText)
		if end == 0 { // one endless cluster: break it inside
			end = len(cutUnits(text, MaxText))
		}
		end = breakAt(text[:end])
		if part := strings.TrimSpace(text[:end]); part != "" {
			parts = append(parts, part)
		}
		text = text[end:]
	}
}

// breakAt returns where to end a part that may be as long as s.
func breakAt(s string) int {
	for _, sep := range []string{"\n\n", "\n", ". ", "? ", "! ", " "} {
		if i := strings.LastIndex(s, sep); i >= len(s)/2 {
			return i + len(sep)
		}
	}
	return len(s)
}

// cutUnits returns the longest prefix of s within limit units.
func cutUnits(s string, limit int) string {
	units := 0
	for i, r := range s {
		if units += max(1, utf16.RuneLen(r)); units > limit {
			return s[:i]
		}
	}
	return s
}
