package understand_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

// A customer may bear the name of a member of staff: asked for a name, a name
// is what "Amina Otieno" is.
func TestNamesakeOfStaff(t *testing.T) {
	t.Parallel()
	ask := func(text string, slots ...string) (name, staff string) {
		in := understand.Tier0(understand.Request{
			Messages: []message.Inbound{{Kind: message.Text, Text: text}}, Now: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC),
			Nouns:  map[string][]understand.Noun{understand.KindStaff: {{ID: "amina", Names: []string{"Amina"}}, {ID: "grace", Names: []string{"Grace"}}}},
			Expect: understand.Expect{Slots: slots},
		})
		return in.Name, in.Entities[understand.KindStaff].ID
	}
	for _, c := range []struct{ text, name, staff string }{
		{"Amina Otieno", "Amina Otieno", ""},
		{"grace", "Grace", ""},
		{"it's Amina", "Amina", ""},
		{"with Amina please", "", "amina"},
		{"Peter, with Grace", "Peter", "grace"},
	} {
		if name, staff := ask(c.text, understand.SlotName); name != c.name || staff != c.staff {
			t.Errorf("asked for a name, %q is name %q and staff %q, want %q and %q", c.text, name, staff, c.name, c.staff)
		}
	}
	if name, staff := ask("Amina", understand.KindStaff); name != "" || staff != "amina" {
		t.Errorf("asked for staff, Amina is name %q and staff %q", name, staff)
	}
}
