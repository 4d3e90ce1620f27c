package voice_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/channel/voice"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/message"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const to = `"to":"+254711000001","from":"+254700000001"`
	for _, r := range []struct {
		name, id, body string
		says           string // "" when it may pass
	}{
		{"a start", "c1", `{"seq":1,"event":"start",` + to + `,"language":"sw"}`, ""},
		{"a start of somebody hidden", "c1", `{"seq":1,"event":"start","to":"+254711000001"}`, ""},
		{"words", "c1", `{"seq":2,"event":"heard",` + to + `,"text":" ndiyo "}`, ""},
		{"silence", "c1", `{"seq":2,"event":"heard",` + to + `}`, ""},
		{"keys", "c1", `{"seq":3,"event":"key",` + to + `,"key":"1*#"}`, ""},
		{"an end", "c1", `{"seq":4,"event":"end",` + to + `}`, ""},
		{"no JSON", "c1", `seq`, "one JSON object"},
		{"two objects", "c1", `{"seq":1,"event":"start",` + to + `}{}`, "one JSON object"},
		{"an id with a path in it", "../c1", `{"seq":1,"event":"start",` + to + `}`, "the call's id"},
		{"no number", "c1", `{"seq":1,"event":"start"}`, "to wants"},
		{"a caller that is no phone", "c1", `{"seq":1,"event":"start","to":"+254711000001","from":"anonymous"}`, "from wants"},
		{"a start later on", "c1", `{"seq":2,"event":"start",` + to + `}`, "start is event 1"},
		{"words first", "c1", `{"seq":1,"event":"heard",` + to + `}`, "start is event 1"},
		{"no number of its own", "c1", `{"event":"heard",` + to + `}`, "seq wants"},
		{"a negative one", "c1", `{"seq":-1,"event":"heard",` + to + `}`, "seq wants"},
		{"something else", "c1", `{"seq":2,"event":"hold",` + to + `}`, "start, heard, key or end"},
		{"another language", "c1", `{"seq":1,"event":"start",` + to + `,"language":"fr"}`, "en or sw"},
		{"no keys", "c1", `{"seq":2,"event":"key",` + to + `}`, "key wants"},
		{"letters", "c1", `{"seq":2,"event":"key",` + to + `,"key":"a"}`, "key wants"},
		{"a speech", "c1", `{"seq":2,"event":"heard",` + to + `,"text":"` + strings.Repeat("é", 2001) + `"}`, "2000"},
	} {
		e, err := voice.Parse(r.id, []byte(r.body))
		if r.says == "" && (err != nil || strings.TrimSpace(e.Text) != e.Text) {
			t.Errorf("%s: %+v, %v", r.name, e, err)
		}
		if r.says != "" && (fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), r.says)) {
			t.Errorf("%s: %v, want a refusal that says %q", r.name, err, r.says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("c1", []byte(`{"seq":2,"event":"heard","to":"+254711000001","from":"+254700000001","text":"ndiyo"}`))
	f.Add("c1", []byte(`{"seq":1e9,"event":null,"to":[]}`))
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		e, err := voice.Parse(id, body)
		if err != nil {
			if fault.CodeOf(err) != fault.Invalid {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		if len([]rune(e.Text)) > voice.MaxText || e.Seq < 1 || e.To == "" {
			t.Fatalf("%+v passed", e)
		}
	})
}

func TestASignatureIsOfOneCallAndOneBody(t *testing.T) {
	t.Parallel()
	body := []byte(`{"seq":1}`)
	good := voice.Sign("secret", "c1", body)
	if !voice.Verify("secret", "c1", body, good) {
		t.Error("the right signature is refused")
	}
	for name, ok := range map[string]bool{
		"another call":     voice.Verify("secret", "c2", body, good),
		"another body":     voice.Verify("secret", "c1", []byte(`{"seq":2}`), good),
		"another secret":   voice.Verify("secrets", "c1", body, good),
		"no signature":     voice.Verify("secret", "c1", body, ""),
		"no secret at all": voice.Verify("", "c1", body, voice.Sign("", "c1", body)),
	} {
		if ok {
			t.Errorf("%s is taken", name)
		}
	}
}

func option(n int, title string) string { return fmt.Sprintf("For %s, press %d.", title, n) }

func TestSpeech(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name    string
		out     message.Outbound
		want    string
		choices int
	}{
		{"marks and pictures are not said", message.Outbound{Text: "*Karibu!* 💆🏽‍♀️ See https://spa.example/x?y=1 now"}, "Karibu! See now", 0},
		{"lines become sentences", message.Outbound{Text: "Open:\n- Mon 9-5\n- Tue 9-5\n\nSee you"}, "Open: Mon 9-5. Tue 9-5. See you.", 0},
		{
			"buttons are read out",
			message.Outbound{Text: "Which?", Buttons: []message.Choice{{ID: "a", Title: "Yes."}, {ID: "b", Title: "No", Description: "keep it"}}},
			"Which? For Yes, press 1. For No, keep it, press 2.", 2,
		},
		{
			"and lists",
			message.Outbound{Text: "When?", Sections: []message.Section{{Rows: []message.Choice{{ID: "a", Title: "9:00"}}}, {Rows: []message.Choice{{ID: "b", Title: "10:00"}}}}},
			"When? For 9:00, press 1. For 10:00, press 2.", 2,
		},
		{"nothing is nothing", message.Outbound{}, "", 0},
	} {
		got, choices := voice.Speech(r.out, option)
		if got != r.want || len(choices) != r.choices {
			t.Errorf("%s: %q with %d choices, want %q with %d", r.name, got, len(choices), r.want, r.choices)
		}
	}
}

func TestSpeechHasOnlyWhatCanBeSaid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := message.Outbound{Text: rapid.String().Draw(t, "text")}
		for i := range rapid.IntRange(0, 10).Draw(t, "n") {
			out.Buttons = append(out.Buttons, message.Choice{ID: strconv.Itoa(i), Title: rapid.String().Draw(t, "title")})
		}
		got, choices := voice.Speech(out, option)
		if strings.ContainsAny(got, "*_~`\n\r\t\x00") || len([]rune(got)) > 1200 || len(choices) != len(out.Buttons) {
			t.Fatalf("%q with %d choices", got, len(choices))
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatal(err)
		}
	})
}
