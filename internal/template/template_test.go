package template_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/template"
)

func TestTheDocumentShowsEveryTemplateAsItIs(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	all, err := template.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		shown := []string{"### `" + x.Name + "`", x.Use, strings.Join(x.Parameters, ", ")}
		for _, lang := range template.Languages() {
			shown = append(shown, "| "+lang+" | "+x.Body[lang]+" | "+strings.Join(x.Buttons[lang], ", "))
		}
		for _, want := range shown {
			if !strings.Contains(page, want) {
				t.Errorf("docs/templates.md does not show %q of %s", want, x.Name)
			}
		}
	}
}

// Whatever is filled in, the message may be sent, and what Meta makes of it is
// within its bound.
func TestAFilledTemplateMayAlwaysBeSent(t *testing.T) {
	t.Parallel()
	set, err := template.Load()
	if err != nil {
		t.Fatal(err)
	}
	all, _ := template.All()
	words := rapid.StringOfN(rapid.SampledFrom([]rune("ab \n\té💅")), 0, 3000, -1)
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SampledFrom(all).Draw(t, "template")
		lang := rapid.SampledFrom([]string{"en", "sw", "fr", ""}).Draw(t, "language")
		values := map[string]string{}
		for _, p := range x.Parameters {
			values[p] = words.Draw(t, p)
		}
		ref := set.Fill(x.Name, lang, values)
		if err := whatsapp.Check(message.Outbound{Kind: message.Template, Template: ref}); channel.ClassOf(err) != "" {
			t.Fatal(err)
		}
		if x.Body[ref.Language] == "" || len(ref.Parameters) != len(x.Parameters) {
			t.Fatalf("filled %+v", ref)
		}
		if n := len([]rune(x.Body[ref.Language])) + len([]rune(strings.Join(ref.Parameters, ""))); n > 1024 {
			t.Fatalf("%d characters", n)
		}
	})
}
