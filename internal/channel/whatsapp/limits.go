package whatsapp

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/message"
)

// Limits of a message. Lengths are in UTF-16 code units: Meta says "characters",
// and of all readings this one is never too generous. Sources: facebook/openapi
// v23; for the parameters of templates Meta's template pages.
const (
	MaxText        = 4096 // body of a text
	MaxBody        = 1024 // body of a message with buttons or a list, caption, template parameter
	MaxFooter      = 60
	MaxButtons     = 3
	MaxButtonTitle = 20
	MaxListLabel   = 20
	MaxSections    = 10
	MaxRows        = 10 // in all sections together
	MaxRowTitle    = 24
	MaxDescription = 72
	MaxSection     = 24 // title of a section
	MaxButtonID    = 256
	MaxRowID       = 200
)

const (
	maxOpaque   = 512
	maxPayloads = 10 // quick-reply buttons of a template
)

// Check reports whether out may be sent as it is. The error is an
// *channel.Error of class Defect that names the limit.
func Check(out message.Outbound) error {
	switch out.Kind { //nolint:exhaustive // every other kind only comes in.
	case message.Text:
		if len(out.Buttons) > 0 || len(out.Sections) > 0 || out.Footer != "" {
			return defect("a text has neither choices nor a footer")
		}
		return within("text", out.Text, 1, MaxText)
	case message.Button:
		return checkButtons(out)
	case message.List:
		return checkList(out)
	case message.RequestContact:
		return first(within("body", out.Text, 1, MaxBody), within("footer", out.Footer, 0, MaxFooter))
	case message.Template:
		return checkTemplate(out.Template)
	case message.Media:
		return checkMedia(out)
	case message.Reaction:
		if out.Target == "" {
			return defect("a reaction needs the id of a message")
		}
		return within("emoji", out.Emoji, 0, 32)
	}
	return defect(fmt.Sprintf("a message of kind %q cannot be sent", out.Kind))
}

func checkButtons(out message.Outbound) error {
	err := first(within("body", out.Text, 1, MaxBody), within("footer", out.Footer, 0, MaxFooter))
	if err != nil {
		return err
	}
	if len(out.Buttons) == 0 || len(out.Buttons) > MaxButtons {
		return over("number of buttons", MaxButtons)
	}
	ids, titles := map[string]bool{}, map[string]bool{}
	for _, b := range out.Buttons {
		err := first(within("button id", b.ID, 1, MaxButtonID), within("button title", b.Title, 1, MaxButtonTitle))
		if err != nil {
			return err
		}
		if ids[b.ID] || titles[b.Title] {
			return defect("two buttons have the same id or title")
		}
		ids[b.ID], titles[b.Title] = true, true
	}
	return nil
}

func checkList(out message.Outbound) error {
	err := first(
		within("body", out.Text, 1, MaxBody),
		within("footer", out.Footer, 0, MaxFooter),
		within("list label", out.ListLabel, 1, MaxListLabel),
	)
	if err != nil {
		return err
	}
	if len(out.Sections) == 0 || len(out.Sections) > MaxSections {
		return over("number of sections", MaxSections)
	}
	least := 0 // a single section needs no title
	if len(out.Sections) > 1 {
		least = 1
	}
	ids, rows := map[string]bool{}, 0
	for _, s := range out.Sections {
		if err := within("section title", s.Title, least, MaxSection); err != nil {
			return err
		}
		if len(s.Rows) == 0 {
			return defect("a section has no rows")
		}
		if rows += len(s.Rows); rows > MaxRows {
			return over("number of rows", MaxRows)
		}
		for _, r := range s.Rows {
			if err := checkRow(r); err != nil {
				return err
			}
			if ids[r.ID] {
				return defect("two rows have the same id")
			}
			ids[r.ID] = true
		}
	}
	return nil
}

func checkRow(r message.Choice) error {
	return first(
		within("row id", r.ID, 1, MaxRowID),
		within("row title", r.Title, 1, MaxRowTitle),
		within("row description", r.Description, 0, MaxDescription),
	)
}

// badParameter matches what Meta refuses inside a template parameter.
var badParameter = regexp.MustCompile(`[\r\n\t]| {4,}`)

func checkTemplate(t *message.TemplateRef) error {
	if t == nil || t.Name == "" || t.Language == "" {
		return defect("a template needs a name and a language")
	}
	for _, p := range t.Parameters {
		if err := within("template parameter", p, 1, MaxBody); err != nil {
			return err
		}
		if badParameter.MatchString(p) {
			return defect("a template parameter has a line break, a tab or four spaces in a row")
		}
	}
	if len(t.Payloads) > maxPayloads {
		return over("number of template payloads", maxPayloads)
	}
	for _, p := range t.Payloads {
		if err := within("template payload", p, 1, MaxButtonID); err != nil {
			return err
		}
	}
	return nil
}

func checkMedia(out message.Outbound) error {
	a := out.Attachment
	if a == nil || a.ID == "" {
		return defect("a media message needs the id of an uploaded file")
	}
	caption := cmp.Or(a.Caption, out.Text)
	switch a.Kind {
	case "image", "video", "document":
		return within("caption", caption, 0, MaxBody)
	case "audio", "sticker":
		if caption != "" {
			return defect("audio and stickers have no caption")
		}
		return nil
	}
	return defect(fmt.Sprintf("media of kind %q cannot be sent", a.Kind))
}

// first returns the first of errs that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// within checks a length. Where something is needed, blanks alone are nothing.
func within(what, s string, least, most int) error {
	if least > 0 && strings.TrimSpace(s) == "" {
		return defect(what + " is empty")
	}
	if length(s) > most {
		return over(what, most)
	}
	return nil
}

func over(what string, limit int) error {
	return &channel.Error{Class: channel.Defect, Detail: fmt.Sprintf("%s is outside the limit of %d", what, limit)}
}

// length counts UTF-16 code units.
func length(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
