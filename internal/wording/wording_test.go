package wording_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/wording"
)

var nairobi = time.FixedZone("EAT", 3*60*60)

type name map[string]string

func (n name) In(lang string) string { return n[lang] }

func files(en, sw string) fstest.MapFS {
	return fstest.MapFS{"en.yaml": {Data: []byte(en)}, "sw.yaml": {Data: []byte(sw)}}
}

func load(t *testing.T, en, sw string) *wording.Catalogue {
	t.Helper()
	c, err := wording.Load(files(en, sw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoadNamesEveryDefect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		en, sw string
		want   error
	}{
		{"a text that one language lacks", "a: x\nb: y\n", "a: x\n", wording.ErrMissingKey},
		{"languages that use different facts", "a: '{{.X}}'\n", "a: '{{.Y}}'\n", wording.ErrFacts},
		{"a fact used only inside a condition", "a: '{{if .X}}{{.Y}}{{end}}'\n", "a: '{{if .X}}y{{end}}'\n", wording.ErrFacts},
		{"an empty text", "a: ''\n", "a: x\n", wording.ErrEmpty},
		{"a template that does not parse", "a: '{{.X'\n", "a: x\n", nil},
		{"a key that stands twice", "a: x\na: y\n", "a: x\n", nil},
		{"a value that is no text", "a: [1, 2]\n", "a: x\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := wording.Load(files(row.en, row.sw))
			if err == nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
	if _, err := wording.Load(fstest.MapFS{}); err == nil {
		t.Error("a catalogue without files was loaded")
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	text := `'{{.What}}: {{.Price}}, {{fullday .Start .Now}}, {{spell .Start}}, {{duration .Long}}, {{list .With}}{{range .Rows}}; {{.N}} {{date .At}}{{end}}'`
	c := load(t, "a: "+text+"\n", "a: "+text+"\n")
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	facts := map[string]any{
		"What": name{"en": "Massage", "sw": "Masaji"}, "Price": money.Major(3500, "KES"), "Start": now.Add(29 * time.Hour), "Now": now,
		"Long": 90 * time.Minute, "With": []any{name{"en": "one", "sw": "moja"}, "two", "three"},
		"Rows": []map[string]any{{"N": 1, "At": now}},
	}
	for lang, want := range map[string]string{
		"en": "Massage: KES 3,500, tomorrow, Sunday 22 November, 3:00 pm, 90 minutes, one, two and three; 1 Saturday 21 November",
		"sw": "Masaji: KES 3,500, kesho, Jumapili, 22 Novemba, saa tisa mchana (3:00 pm), dakika 90, moja, two na three; 1 Jumamosi, 21 Novemba",
		"fr": "Massage: KES 3,500, tomorrow, Sunday 22 November, 3:00 pm, 90 minutes, one, two and three; 1 Saturday 21 November",
	} {
		got, err := c.Render(lang, "a", nairobi, facts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", lang, diff)
		}
	}
	if !c.Has("a") || c.Has("b") {
		t.Error("Has is wrong")
	}
	if _, err := c.Render("en", "b", nil, nil); !errors.Is(err, wording.ErrUnknownKey) {
		t.Errorf("an unknown key answers %v", err)
	}
	delete(facts, "Price")
	if got, err := c.Render("sw", "a", nil, facts); err == nil {
		t.Errorf("a missing fact renders %q", got)
	}
}

func TestListsOfWhatIsNoTextAreRefused(t *testing.T) {
	t.Parallel()
	c := load(t, "a: '{{list .X}}'\n", "a: '{{list .X}}'\n")
	if _, err := c.Render("en", "a", nil, map[string]any{"X": 3}); err == nil {
		t.Error("a number was listed")
	}
	got, err := c.Render("en", "a", nil, map[string]any{"X": []string{"one"}})
	if err != nil || got != "one" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSwahiliClock(t *testing.T) {
	t.Parallel()
	for clock, want := range map[string][2]string{
		"00:00": {"saa sita usiku", "6:00 usiku"},
		"05:00": {"saa kumi na moja alfajiri", "11:00 asubuhi"},
		"06:00": {"saa kumi na mbili asubuhi", "12:00 asubuhi"},
		"07:00": {"saa moja asubuhi", "1:00 asubuhi"},
		"09:15": {"saa tatu na robo asubuhi", "3:15 asubuhi"},
		"11:45": {"saa sita kasorobo asubuhi", "5:45 asubuhi"},
		"12:00": {"saa sita mchana", "6:00 mchana"},
		"15:00": {"saa tisa mchana", "9:00 mchana"},
		"15:30": {"saa tisa na nusu mchana", "9:30 mchana"},
		"16:10": {"saa kumi na dakika 10 jioni", "10:10 jioni"},
		"18:00": {"saa kumi na mbili jioni", "12:00 jioni"},
		"19:00": {"saa moja usiku", "1:00 usiku"},
		"23:45": {"saa sita kasorobo usiku", "5:45 usiku"},
	} {
		at, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := wording.Clock(wording.Swahili, at); got != want[0] {
			t.Errorf("%s is %q, want %q", clock, got, want[0])
		}
		if got := wording.ShortClock(wording.Swahili, at); got != want[1] {
			t.Errorf("%s is %q, want %q", clock, got, want[1])
		}
	}
}

func TestDaysAndLengths(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, nairobi)
	for _, row := range []struct{ got, want string }{
		{wording.Day("en", now, now), "today"},
		{wording.Day("sw", now.Add(time.Hour), now.UTC()), "kesho"},
		{wording.Day("en", now.AddDate(0, 0, 2), now), "Monday 23 November"},
		{wording.FullDay("sw", now, now), "leo, Jumamosi, 21 Novemba"},
		{wording.ShortDate("en", now), "Sat 21 Nov"},
		{wording.ShortDate("sw", now), "Jmo 21 Nov"},
		{wording.Weekday("sw", time.Friday), "Ijumaa"},
		{wording.Weekday("en", time.Friday), "Friday"},
		{wording.Duration("en", time.Hour), "1 hour"},
		{wording.Duration("en", 2*time.Hour), "2 hours"},
		{wording.Duration("en", time.Minute), "1 minute"},
		{wording.Duration("sw", time.Hour), "dakika 60"},
		{wording.Spell("en", now), "11:30 pm"},
		{wording.List("sw", []string{"a", "b"}), "a na b"},
		{wording.List("en", nil), ""},
	} {
		if row.got != row.want {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}

// Titles stand in places of 20 and 24 characters.
func TestShortFormsAreShort(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, nairobi)
	for m := 0; m < 366*24*60; m += 15*37 + 15 {
		at := start.Add(time.Duration(m) * time.Minute)
		for _, lang := range []string{wording.English, wording.Swahili} {
			if s := wording.ShortMoment(lang, at); len(s) > 24 || strings.Contains(s, "%") {
				t.Fatalf("%q is too long", s)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("a: x\n", "a: x\n")
	f.Add("a: '{{.X}}'\n", "a: '{{range .X}}{{.Y}}{{end}}'\n")
	f.Add("- 1\n", "a: {b: c}\n")
	f.Fuzz(func(t *testing.T, en, sw string) {
		c, err := wording.Load(files(en, sw))
		if err != nil {
			return
		}
		for _, key := range c.Keys() {
			if !c.Has(key) {
				t.Errorf("%q is listed and missing", key)
			}
		}
	})
}
