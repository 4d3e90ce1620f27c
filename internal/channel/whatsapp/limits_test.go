package whatsapp_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/message"
)

func choices(n int) []message.Choice {
	out := make([]message.Choice, 0, n)
	for i := range n {
		out = append(out, message.Choice{ID: fmt.Sprintf("c%d", i), Title: fmt.Sprintf("Choice %d", i)})
	}
	return out
}

func buttons(n int) message.Outbound {
	return message.Outbound{Kind: message.Button, Text: "Which one?", Buttons: choices(n)}
}

func list(sections ...message.Section) message.Outbound {
	return message.Outbound{Kind: message.List, Text: "Which one?", ListLabel: "Times", Sections: sections}
}

func of(kind, caption string) message.Outbound {
	return message.Outbound{Kind: message.Media, Attachment: &message.Attachment{ID: "1", Kind: kind, Caption: caption}}
}

func templated(params, payloads []string) message.Outbound {
	return message.Outbound{Kind: message.Template, Template: &message.TemplateRef{Name: "reminder", Language: "sw", Parameters: params, Payloads: payloads}}
}

func changed(out message.Outbound, change func(*message.Outbound)) message.Outbound {
	change(&out)
	return out
}

func TestCheck(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	row := func(c message.Choice) message.Outbound { return list(message.Section{Rows: []message.Choice{c}}) }
	for _, r := range []struct {
		name string
		out  message.Outbound
		says string // "" when it may be sent
	}{
		{"a text of 4,096", message.Outbound{Kind: message.Text, Text: x(4096)}, ""},
		{"a text of 4,097", message.Outbound{Kind: message.Text, Text: x(4097)}, "text is outside the limit of 4096"},
		{"an emoji counts twice", message.Outbound{Kind: message.Text, Text: x(4095) + "💅"}, "4096"},
		{"a blank text", message.Outbound{Kind: message.Text, Text: " \n"}, "text is empty"},
		{"a text with choices", message.Outbound{Kind: message.Text, Text: "x", Buttons: choices(1)}, "neither choices"},
		{"three buttons", buttons(3), ""},
		{"four buttons", buttons(4), "buttons is outside the limit of 3"},
		{"no buttons", buttons(0), "buttons"},
		{"a body of 1,025", changed(buttons(1), func(o *message.Outbound) { o.Text = x(1025) }), "body is outside the limit of 1024"},
		{"a footer of 61", changed(buttons(1), func(o *message.Outbound) { o.Footer = x(61) }), "footer is outside the limit of 60"},
		{"a button title of 20", changed(buttons(1), func(o *message.Outbound) { o.Buttons[0].Title = x(20) }), ""},
		{"a button title of 21", changed(buttons(1), func(o *message.Outbound) { o.Buttons[0].Title = x(21) }), "button title is outside the limit of 20"},
		{"a button id of 257", changed(buttons(1), func(o *message.Outbound) { o.Buttons[0].ID = x(257) }), "button id is outside the limit of 256"},
		{"a button without an id", changed(buttons(1), func(o *message.Outbound) { o.Buttons[0].ID = "" }), "button id is empty"},
		{"two buttons with one title", changed(buttons(2), func(o *message.Outbound) { o.Buttons[1].Title = o.Buttons[0].Title }), "same id or title"},
		{"ten rows in two sections", list(message.Section{Title: "A", Rows: choices(10)[:5]}, message.Section{Title: "B", Rows: choices(10)[5:]}), ""},
		{"eleven rows", list(message.Section{Rows: choices(11)}), "rows is outside the limit of 10"},
		{"no sections", list(), "sections"},
		{"a section without rows", list(message.Section{Title: "A"}), "no rows"},
		{"two sections, one without a title", list(message.Section{Rows: choices(1)}, message.Section{Title: "B", Rows: choices(2)[1:]}), "section title is empty"},
		{"a section title of 25", list(message.Section{Title: x(25), Rows: choices(1)}), "section title is outside the limit of 24"},
		{"two rows with one id", list(message.Section{Rows: append(choices(1), choices(1)...)}), "same id"},
		{"a row title of 25", row(message.Choice{ID: "a", Title: x(25)}), "row title is outside the limit of 24"},
		{"a description of 73", row(message.Choice{ID: "a", Title: "t", Description: x(73)}), "description is outside the limit of 72"},
		{"a row id of 201", row(message.Choice{ID: x(201), Title: "t"}), "row id is outside the limit of 200"},
		{"a list without a label", changed(list(message.Section{Rows: choices(1)}), func(o *message.Outbound) { o.ListLabel = "" }), "list label is empty"},
		{"a list label of 21", changed(list(message.Section{Rows: choices(1)}), func(o *message.Outbound) { o.ListLabel = x(21) }), "list label is outside the limit of 20"},
		{"a list body of 1,025", changed(list(message.Section{Rows: choices(1)}), func(o *message.Outbound) { o.Text = x(1025) }), "body is outside the limit of 1024"},
		{"a request for the phone", message.Outbound{Kind: message.RequestContact, Text: "Your number, please"}, ""},
		{"a request without words", message.Outbound{Kind: message.RequestContact}, "body is empty"},
		{"a template", templated([]string{"Grace", "15:00"}, []string{"yes"}), ""},
		{"a template without a name", message.Outbound{Kind: message.Template}, "name"},
		{"a parameter with a line break", templated([]string{"a\nb"}, nil), "line break"},
		{"a parameter with a tab", templated([]string{"a\tb"}, nil), "tab"},
		{"a parameter with four spaces", templated([]string{"a    b"}, nil), "four spaces"},
		{"a parameter with three spaces", templated([]string{"a   b"}, nil), ""},
		{"an empty parameter", templated([]string{""}, nil), "parameter is empty"},
		{"an empty payload", templated(nil, []string{""}), "payload is empty"},
		{"eleven payloads", templated(nil, make([]string, 11)), "payloads is outside the limit of 10"},
		{"an image with a caption", of("image", x(1024)), ""},
		{"a caption of 1,025", of("image", x(1025)), "caption is outside the limit of 1024"},
		{"a voice note", of("audio", ""), ""},
		{"a sticker with a caption", of("sticker", "x"), "no caption"},
		{"a file of no known kind", of("tape", ""), `"tape"`},
		{"a file without an id", message.Outbound{Kind: message.Media}, "uploaded"},
		{"a reaction", message.Outbound{Kind: message.Reaction, Target: "w", Emoji: "👍"}, ""},
		{"a reaction taken back", message.Outbound{Kind: message.Reaction, Target: "w"}, ""},
		{"a reaction to nothing", message.Outbound{Kind: message.Reaction, Emoji: "👍"}, "id of a message"},
		{"a kind that only comes in", message.Outbound{Kind: message.Order}, `"order"`},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			err := whatsapp.Check(r.out)
			if r.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || channel.ClassOf(err) != channel.Defect || !strings.Contains(err.Error(), r.says) {
				t.Errorf("err = %v, want a defect that says %q", err, r.says)
			}
		})
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	long := message.Choice{ID: "deep", Title: "Deep tissue massage, 90 minutes", Description: "KES 6,500"}
	for _, r := range []struct {
		name string
		out  message.Outbound
		want message.Outbound
	}{
		{"what fits stays", buttons(3), buttons(3)},
		{
			"four buttons become a list",
			changed(buttons(4), func(o *message.Outbound) { o.ListLabel, o.ReplyTo = "Chagua", "w" }),
			message.Outbound{Kind: message.List, Text: "Which one?", ListLabel: "Chagua", ReplyTo: "w", Sections: []message.Section{{Rows: choices(4)}}},
		},
		{
			"without a label it is the menu sign",
			buttons(4),
			message.Outbound{Kind: message.List, Text: "Which one?", ListLabel: "☰", Sections: []message.Section{{Rows: choices(4)}}},
		},
		{
			"a long button title becomes a row with the whole of it below",
			message.Outbound{Kind: message.Button, Text: "Which?", ListLabel: "Menu", Buttons: []message.Choice{long}},
			message.Outbound{Kind: message.List, Text: "Which?", ListLabel: "Menu", Sections: []message.Section{{Rows: []message.Choice{
				{ID: "deep", Title: "Deep tissue massage, 90…", Description: "Deep tissue massage, 90 minutes · KES 6,500"},
			}}}},
		},
		{
			"labels, section titles and footers are cut",
			message.Outbound{Kind: message.List, Text: "x", Footer: strings.Repeat("f", 70), ListLabel: "Choose one of these times", Sections: []message.Section{{Title: "Thursday afternoon and evening", Rows: choices(1)}}},
			message.Outbound{Kind: message.List, Text: "x", Footer: strings.Repeat("f", 59) + "…", ListLabel: "Choose one of these…", Sections: []message.Section{{Title: "Thursday afternoon and…", Rows: choices(1)}}},
		},
		{
			"a body too long for choices numbers them",
			message.Outbound{Kind: message.Button, Text: strings.Repeat("x", 1100), Footer: "foot", Buttons: []message.Choice{{ID: "a", Title: "Yes"}, {ID: "b", Title: "No", Description: "keep it"}}},
			message.Outbound{Kind: message.Text, Text: strings.Repeat("x", 1100) + "\n\n1. Yes\n2. No, keep it\n\nfoot"},
		},
		{"a text takes its footer in", message.Outbound{Kind: message.Text, Text: "x", Footer: "f"}, message.Outbound{Kind: message.Text, Text: "x\n\nf"}},
		{"a parameter loses its breaks", templated([]string{"a\r\nb\tc     d"}, nil), templated([]string{"a b c d"}, nil)},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got, err := whatsapp.Fit(r.out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("Fit (-want +got):\n%s", diff)
			}
		})
	}
	for _, r := range []struct {
		name string
		out  message.Outbound
	}{
		{"eleven choices are refused", buttons(11)},
		{"no choices are refused", buttons(0)},
		{"eleven rows are refused", list(message.Section{Rows: choices(11)})},
		{"eleven choices under a long body are refused", changed(buttons(11), func(o *message.Outbound) { o.Text = strings.Repeat("x", 1100) })},
		{"a title that cannot be kept whole is refused", changed(buttons(1), func(o *message.Outbound) { o.Buttons[0].Title = strings.Repeat("x", 73) })},
		{"an id is never cut", changed(buttons(4), func(o *message.Outbound) { o.Buttons[0].ID = strings.Repeat("x", 201) })},
		{"a text over the limit is for Split", message.Outbound{Kind: message.Text, Text: strings.Repeat("x", 4097)}},
		{"a template without a name is refused", message.Outbound{Kind: message.Template}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if got, err := whatsapp.Fit(r.out); channel.ClassOf(err) != channel.Defect {
				t.Errorf("Fit = %+v, %v; want a defect", got, err)
			}
		})
	}
}

// TestFitLosesNothing: what Fit accepts passes Check, keeps every id in order,
// says every title whole, and does not touch what it was given.
func TestFitLosesNothing(t *testing.T) {
	t.Parallel()
	words := rapid.StringOfN(rapid.SampledFrom([]rune("aé💅 🏽ß…x9")), 1, 90, -1)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "choices")
		given := make([]message.Choice, 0, n)
		for i := range n {
			given = append(given, message.Choice{ID: fmt.Sprintf("id-%d", i), Title: words.Draw(t, "title"), Description: rapid.OneOf(rapid.Just(""), words).Draw(t, "description")})
		}
		out := message.Outbound{Kind: message.Button, Text: strings.Repeat("b", rapid.IntRange(1, 1200).Draw(t, "body")), Buttons: given, ListLabel: words.Draw(t, "label")}
		if rapid.Bool().Draw(t, "as a list") {
			out.Kind, out.Buttons, out.Sections = message.List, nil, []message.Section{{Title: words.Draw(t, "section"), Rows: given}}
		}
		before := append([]message.Choice(nil), given...)
		got, err := whatsapp.Fit(out)
		if diff := cmp.Diff(before, given); diff != "" {
			t.Fatalf("Fit changed what it was given:\n%s", diff)
		}
		if err != nil {
			return
		}
		if err := whatsapp.Check(got); err != nil {
			t.Fatalf("Fit returned what Check refuses: %v", err)
		}
		again, err := whatsapp.Fit(got)
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Fatalf("Fit is not at rest: %v\n%s", err, diff)
		}
		if got.Kind == message.Text {
			for _, c := range given {
				if !strings.Contains(got.Text, c.Title) || !strings.Contains(got.Text, c.Description) {
					t.Fatalf("the text lost %+v", c)
				}
			}
			return
		}
		kept := got.Buttons
		for _, s := range got.Sections {
			kept = append(kept, s.Rows...)
		}
		if len(kept) != len(given) {
			t.Fatalf("%d choices became %d", len(given), len(kept))
		}
		for i, c := range kept {
			if c.ID != given[i].ID || c.Title != given[i].Title && !strings.HasPrefix(c.Description, given[i].Title) || !utf8.ValidString(c.Title) {
				t.Fatalf("choice %+v became %+v", given[i], c)
			}
		}
	})
}

func TestSplit(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, r := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", " \n ", nil},
		{"a short text", "  Habari  ", []string{"Habari"}},
		{"at a paragraph", x(3000) + "\n\n" + x(800) + "\n" + x(800), []string{x(3000), x(800) + "\n" + x(800)}},
		{"at a line", x(2100) + "\n" + x(1500) + ". " + x(1500), []string{x(2100), x(1500) + ". " + x(1500)}},
		{"at a sentence", x(3000) + "? " + x(500) + " " + x(2000), []string{x(3000) + "?", x(500) + " " + x(2000)}},
		{"at a word", x(4000) + " " + x(200), []string{x(4000), x(200)}},
		{"anywhere, if need be", x(5000), []string{x(4096), x(904)}},
		{"not inside an emoji with its skin tone", x(4094) + "👍🏽" + "y", []string{x(4094), "👍🏽y"}},
		{"inside one endless cluster", "e" + strings.Repeat("\u0301", 5000), []string{"e" + strings.Repeat("\u0301", 4095), strings.Repeat("\u0301", 905)}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(r.want, whatsapp.Split(r.text)); diff != "" {
				t.Errorf("Split (-want +got):\n%s", diff)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringOfN(rapid.SampledFrom([]rune("ab .?\n💅🏽\u200dé")), 1, 300, -1).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.IntRange(1, 60).Draw(t, "times"))
		parts := whatsapp.Split(text)
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(strings.Join(parts, "")) != squeeze(text) {
			t.Fatal("the parts are not the text")
		}
		for _, p := range parts {
			if err := whatsapp.Check(message.Outbound{Kind: message.Text, Text: p}); err != nil {
				t.Fatalf("a part of %d bytes: %v", len(p), err)
			}
		}
	})
}
