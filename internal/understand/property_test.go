package understand_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

// fragments are pieces that people's messages are made of, and some that try to
// break what reads them.
var fragments = []string{
	"massage", "kesho", "saa", "tisa", "saa tisa", "at", "3", "3:30", "pm", "and", "na", "ya", "not", "yes", "no", "ndiyo", "hapana", "please", "?",
	"!", ".", "\n", "👍", "👎", "90", "minutes", "dakika", "31/02", "25:00", "0712345678", "+", "-", "/", ":", "Grace", "grace wanjiru", "next", "friday",
	"ijumaa", "ijayo", "wiki", "between", "kati", "after", "baada", "half", "past", "kasoro", "robo", "tarehe", "the", "5th", "december", "cancel",
	"talk to", "a person", "my name is", "naitwa", "second one", "KES", "3,500", "\u202e", "\u200d", "ﷺ", "é", "٣", "🇰🇪", "👩🏾‍🦱", "''", "#", "1e9", "99999999999",
}

func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "free") {
			return rapid.String().Draw(t, "text")
		}
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 14).Draw(t, "words"), " ")
	})
}

func anyRequest(t *rapid.T) understand.Request {
	req := typed(rapid.SliceOfN(anyText(), 0, 3).Draw(t, "messages")...)
	req.Previous = rapid.SampledFrom([]string{"", "en", "sw"}).Draw(t, "previous")
	req.Locale = rapid.SampledFrom([]string{"en", "sw", ""}).Draw(t, "locale")
	req.Expect.Slots = rapid.SliceOfN(rapid.SampledFrom([]string{"time", "date", "service", "staff", "name", "phone", "confirm"}), 0, 3).Draw(t, "slots")
	for _, title := range rapid.SliceOfN(anyText(), 0, 4).Draw(t, "titles") {
		req.Expect.Choices = append(req.Expect.Choices, message.Choice{ID: "c" + title, Title: title})
	}
	req.Now = wednesday().Add(time.Duration(rapid.IntRange(0, 400*24).Draw(t, "hours")) * time.Hour)
	return req
}

// check holds for every input there is.
func check(t interface{ Fatalf(string, ...any) }, req understand.Request, in graph.Input) {
	if in.Language != understand.English && in.Language != understand.Swahili {
		t.Fatalf("language %q", in.Language)
	}
	for _, c := range []float64{in.Confidence, in.LanguageConfidence, in.When.Confidence} {
		if c < 0 || c > 1 {
			t.Fatalf("confidence %v", c)
		}
	}
	checkWhen(t, req, in.When)
	if in.Choice != "" && in.Answer != graph.NoAnswer {
		t.Fatalf("a choice and an answer: %+v", in)
	}
	if in.Intent == graph.Unknown && in.Confidence >= understand.Sure {
		t.Fatalf("sure of nothing: %+v", in)
	}
	for kind, e := range in.Entities {
		known := map[string]bool{}
		for _, n := range req.Nouns[kind] {
			known[n.ID] = true
		}
		for _, id := range append([]string{e.ID}, e.Candidates...) {
			if id != "" && !known[id] {
				t.Fatalf("an unknown %s: %q", kind, id)
			}
		}
	}
}

func checkWhen(t interface{ Fatalf(string, ...any) }, req understand.Request, w graph.When) {
	today := req.Now.In(nairobi).Format(time.DateOnly)
	for _, d := range []string{w.Date, w.DateTo} {
		if d == "" {
			continue
		}
		if day, err := time.Parse(time.DateOnly, d); err != nil || day.Format(time.DateOnly) != d || d < today {
			t.Fatalf("an impossible day %q (today %s): %+v", d, today, w)
		}
	}
	for _, c := range append([]string{w.Time, w.From, w.To}, w.Options...) {
		if c == "" {
			continue
		}
		if at, err := time.Parse("15:04", c); err != nil || at.Format("15:04") != c {
			t.Fatalf("an impossible time %q: %+v", c, w)
		}
	}
	if w.DateTo != "" && w.DateTo <= w.Date || w.From != "" && w.To != "" && w.To <= w.From {
		t.Fatalf("a run that ends before it begins: %+v", w)
	}
	if !w.Empty() && w.Confidence == 0 {
		t.Fatalf("said, and no confidence: %+v", w)
	}
}

func TestTier0Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		in := understand.Tier0(req)
		check(t, req, in)
		if d := cmp.Diff(in, understand.Tier0(req)); d != "" {
			t.Fatalf("two readings of one burst differ: %s", d)
		}
	})
}

func TestAnswerIsEmptyWhenMoreIsSaid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"tomorrow", "kesho", "massage", "Grace", "3", "how", "but", "lakini", "cheaper", "mapema", "friend's", "9pm"}).Draw(t, "more")
		yes := rapid.SampledFrom([]string{"yes", "ndiyo", "sawa", "ok", "no", "hapana", "👍"}).Draw(t, "answer")
		parts := []string{yes, word}
		if rapid.Bool().Draw(t, "swap") {
			parts[0], parts[1] = parts[1], parts[0]
		}
		if got := understand.Tier0(typed(strings.Join(parts, " "))).Answer; got != graph.NoAnswer {
			t.Fatalf("%v: got %q", parts, got)
		}
	})
}

func TestTier0HostileTexts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ten thousand letters":    strings.Repeat("a", 10_000),
		"ten thousand words":      strings.Repeat("kesho saa tisa ", 3000),
		"ten thousand digits":     strings.Repeat("7", 10_000),
		"ten thousand marks":      strings.Repeat("?!", 5_000),
		"only emoji":              strings.Repeat("😀👩🏾‍🦱", 800),
		"right to left":           "\u202eشعر \u200fمرحبا أريد موعدا غدا",
		"zero width":              "y\u200be\u200bs",
		"invalid bytes":           "\xff\xfe yes \xc3",
		"a ligature that expands": strings.Repeat("ﷺ", 4000),
		"full width digits":       "１５：００",
		"combining marks":         "z" + strings.Repeat("\u0301", 5000),
		"optional words":          strings.Repeat("are you a the really just or some kind a an the ", 300),
		"greetings":               strings.Repeat("hi ", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := typed(text)
			check(t, req, understand.Tier0(req))
		})
	}
	if understand.Tier0(typed("y\u200be\u200bs")).Answer != graph.Yes {
		t.Error("zero-width characters hide nothing")
	}
	if got := understand.Tier0(typed("１５：００")).When.Time; got != "15:00" {
		t.Errorf("full-width digits are digits, got %q", got)
	}
}

func FuzzTier0(f *testing.F) {
	for _, s := range []string{
		"massage kesho saa tisa na Grace", "yes please", "31/02 at 25:00", "my name is Ann-Marie O'Neil", "0712 345 678", "the second one",
		"between 2 and 4pm on Friday", "saa kumi na mbili kasorobo", "👍", "a\nb\nc", "\xff", strings.Repeat("na ", 400),
	} {
		f.Add(s, "time", "15:00")
	}
	f.Fuzz(func(t *testing.T, text, slot, title string) {
		req := asked(text, slot)
		req.Expect.Choices = []message.Choice{{ID: "a", Title: title}, {ID: "b", Title: "16:00"}}
		in := understand.Tier0(req)
		check(t, req, in)
		_ = understand.HumanRequest(text)
	})
}

func BenchmarkTier0(b *testing.B) {
	for name, text := range map[string]string{
		"english": "Hi, I'd like a 90 minute massage tomorrow afternoon with Grace please",
		"swahili": "Habari, naomba nafasi ya massage kesho saa tisa mchana na Amina tafadhali",
		"yes":     "yes please",
		"long":    strings.Repeat("I would like to know about your lovely place ", 220),
	} {
		b.Run(name, func(b *testing.B) {
			req := typed(text)
			b.ReportAllocs()
			for b.Loop() {
				_ = understand.Tier0(req)
			}
		})
	}
}
