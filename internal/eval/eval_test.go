package eval_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/eval"
	"github.com/ratiba/ratiba/internal/graph"
)

func own(tb testing.TB) []eval.Row {
	tb.Helper()
	var all []eval.Row
	for _, name := range eval.Sets() {
		rows, err := eval.Own(name)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// TestUnderstandingHoldsItsLimits is what `ratiba eval understand` holds, in
// both splits and every language.
func TestUnderstandingHoldsItsLimits(t *testing.T) {
	t.Parallel()
	rows := own(t)
	r := eval.Measure(append(rows, eval.Mixes(rows)...))
	for _, miss := range r.Below(eval.Defaults()) {
		t.Error(miss)
	}
	for _, m := range r.Misses {
		if m.What == "intent" && m.Sure {
			t.Errorf("wrong and sure: %s %q is %s, taken for %s", m.ID, m.Text, m.Want, m.Got)
		}
	}
}

// TestSetsAreWideEnough keeps the sets from shrinking to what is easy.
func TestSetsAreWideEnough(t *testing.T) {
	t.Parallel()
	by := map[string]map[graph.Intent]int{}
	splits := map[string]int{}
	english, swahili := 0, 0
	for _, r := range own(t) {
		switch r.Lang {
		case eval.English:
			english++
		case eval.Swahili, eval.Mixed:
			swahili++
		}
		splits[r.Split]++
		set := r.ID[:2]
		if by[set] == nil {
			by[set] = map[graph.Intent]int{}
		}
		by[set][r.Intent]++
	}
	if english < 400 || swahili < 400 {
		t.Errorf("%d English and %d Swahili or mixed utterances, want 400 each", english, swahili)
	}
	if s := float64(splits[eval.Test]) / float64(splits[eval.Test]+splits[eval.Dev]); s < 0.33 || s > 0.45 {
		t.Errorf("%.2f of the utterances are for testing", s)
	}
	for _, set := range []string{"en", "sw"} {
		for _, i := range []graph.Intent{
			graph.Book, graph.Reschedule, graph.Cancel, graph.MyBookings, graph.Question, graph.Greeting, graph.Thanks, graph.Affirm, graph.Deny,
			graph.Human, graph.Complaint, graph.Feedback, graph.Unknown,
		} {
			if by[set][i] < 9 {
				t.Errorf("%s has %d utterances of %s", set, by[set][i], i)
			}
		}
	}
}

func TestWilson(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		right, of int
		low, high float64
	}{
		{0, 0, 0, 1}, {10, 10, 0.7225, 1}, {0, 10, 0, 0.2775}, {50, 100, 0.4038, 0.5962}, {99, 100, 0.9455, 0.9982}, {81, 263, 0.2553, 0.3662},
	} {
		s := eval.NewShare(row.right, row.of)
		if math.Abs(s.Low-row.low) > 5e-5 || math.Abs(s.High-row.high) > 5e-5 {
			t.Errorf("%d of %d: [%.4f, %.4f], want [%.4f, %.4f]", row.right, row.of, s.Low, s.High, row.low, row.high)
		}
	}
}

func load(t *testing.T, lines ...string) []eval.Row {
	t.Helper()
	rows, err := eval.Load("x.jsonl", strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ what, line, want string }{
		{"an unfinished object", `{"text":"hi"`, "not finished"},
		{"no JSON", `text: hi`, "no valid JSON at byte 2"},
		{"a wrong type", `{"text":7,"intent":"book"}`, `the field "text" takes no number`},
		{"a field nobody knows", `{"text":"hi","intnet":"book"}`, `there is no field "intnet"`},
		{"an unknown intent", `{"text":"hi","intent":"buy"}`, `unknown intent "buy": use book, reschedule`},
		{"an unknown language", `{"text":"hi","lang":"xx"}`, `unknown lang "xx": use en, sw, mixed, other`},
		{"an unknown split", `{"text":"hi","lang":"en","split":"train"}`, `unknown split "train"`},
		{"an unknown business", `{"text":"hi","intent":"book","business":"zoo"}`, `unknown business "zoo": use barber, clinic, spa, tutor`},
		{"no text", `{"intent":"book"}`, "the text is empty"},
		{"no label", `{"text":"hi"}`, "nothing to measure"},
		{"a topic of no question", `{"text":"hi","intent":"book","topic":"price"}`, "belongs to the intent question"},
		{"no day", `{"text":"hi","intent":"book","when":{"date":"31/12"}}`, `the date "31/12" is no day`},
		{"no time", `{"text":"hi","intent":"book","when":{"options":["9:00"]}}`, `the options "9:00" is no time`},
		{"two values in a line", `{"text":"hi","lang":"en"} {}`, "more than one JSON value"},
		{"a list", `[1]`, "takes no array"},
		{"an open part nobody knows", `{"text":"hi","intent":"book","open":["all"]}`, `unknown open part "all"`},
		{"a line without end", `{"text":"` + strings.Repeat("a", 70<<10) + `","lang":"en"}`, "x.jsonl:2: the line is longer than 65536 bytes"},
	} {
		_, err := eval.Load("x.jsonl", strings.NewReader("\n"+row.line+"\n"))
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.HasPrefix(err.Error(), "x.jsonl:2: ") {
			t.Errorf("%s: got %v, want %q", row.what, err, row.want)
		}
	}
	if _, err := eval.Load("x.jsonl", strings.NewReader("\n\n")); err == nil || !strings.Contains(err.Error(), "no examples") {
		t.Errorf("an empty file: %v", err)
	}
	twice := `{"id":"a","text":"hi","lang":"en"}` + "\n"
	if _, err := eval.Load("x.jsonl", strings.NewReader(twice+twice)); err == nil || !strings.Contains(err.Error(), `x.jsonl:2: the id "a" is taken by line 1`) {
		t.Errorf("an id twice: %v", err)
	}
	_, err := eval.Load("x.jsonl", strings.NewReader(strings.Repeat("{\n", 50)))
	if n := strings.Count(err.Error(), "\n") + 1; n != 10 {
		t.Errorf("%d faults at once, want 10", n)
	}
}

func TestLoadTakesWhatOthersWrite(t *testing.T) {
	t.Parallel()
	rows := load(t, "\ufeff"+`{"text":"hello","lang":"en","source":"elsewhere"}`, "", `{"text":"niko","lang":"sw","split":"dev"}`)
	if rows[0].Split != eval.Test || rows[0].ID != "line-1" || rows[1].ID != "line-3" || rows[1].Split != eval.Dev {
		t.Errorf("got %+v", rows)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const spa = `"business":"spa","now":"2026-11-25T10:00:00+03:00"`
	for _, row := range []struct {
		what, line          string
		intent, slots, when eval.Verdict
		whole               bool
	}{
		{
			"all right", `{` + spa + `,"text":"book a facial tomorrow 3pm","intent":"book","slots":{"service":["facial"]},"when":{"date":"2026-11-26","time":"15:00"}}`,
			eval.Right, eval.Right, eval.Right, true,
		},
		{
			"another day", `{` + spa + `,"text":"book a facial tomorrow","intent":"book","slots":{"service":["facial"]},"when":{"date":"2026-11-27"}}`,
			eval.Right, eval.Right, eval.Wrong, false,
		},
		{"a day nobody labelled", `{` + spa + `,"text":"book a facial tomorrow","intent":"book","slots":{"service":["facial"]}}`, eval.Right, eval.Right, eval.Wrong, false},
		{
			"a day left open", `{` + spa + `,"text":"book a facial tomorrow","intent":"book","slots":{"service":["facial"]},"open":["date"]}`,
			eval.Right, eval.Right, eval.Skipped, true,
		},
		{"a service nobody labelled", `{` + spa + `,"text":"book a facial","intent":"book"}`, eval.Right, eval.Wrong, eval.Skipped, false},
		{"several services fit", `{` + spa + `,"text":"book a massage","intent":"book","slots":{"service":["m90","m60"]}}`, eval.Right, eval.Right, eval.Skipped, true},
		{"another intent", `{` + spa + `,"text":"book a facial","intent":"cancel","slots":{"service":["facial"]}}`, eval.Wrong, eval.Right, eval.Skipped, false},
		{"an answer in its place", `{"text":"3","intent":"book","expect":{"slots":["time"]},"when":{"options":["03:00","15:00"]}}`, eval.Right, eval.Skipped, eval.Right, true},
		{"a tap", `{"text":"Yes","tap":"yes","intent":"book","choice":"yes","expect":{"choices":[{"id":"yes","title":"Yes"}]}}`, eval.Right, eval.Right, eval.Skipped, true},
		{
			"its own services", `{"text":"book a tattoo","intent":"book","slots":{"service":["t"]},"nouns":{"service":[{"id":"t","names":["Tattoo"]}]}}`,
			eval.Right, eval.Right, eval.Skipped, true,
		},
		{"the language alone", `{"text":"book a facial","lang":"en"}`, eval.Skipped, eval.Skipped, eval.Skipped, true},
	} {
		j := eval.Judge(load(t, row.line)[0])
		if j.Intent != row.intent || j.Slots != row.slots || j.When != row.when || j.Whole() != row.whole {
			t.Errorf("%s: intent %d slots %d when %d whole %v, of %+v", row.what, j.Intent, j.Slots, j.When, j.Whole(), j.Got)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	rows := load(t,
		`{"id":"1","text":"cancel my booking","lang":"en","intent":"cancel"}`,
		`{"id":"2","text":"cancel my booking","lang":"en","intent":"reschedule"}`,
		`{"id":"3","text":"my cousin sold his motorbike","lang":"sw","intent":"unknown"}`,
	)
	r := eval.Measure(rows)
	all := r.Groups[len(r.Groups)-1]
	if all.Language != eval.All || all.Rows != 3 || all.Intent.Right != 2 || all.Sure.Right != 1 || all.Sure.Of != 2 || all.Scope.Right != 1 || all.Told.Right != 2 {
		t.Errorf("got %+v", all)
	}
	if d := cmp.Diff([]eval.Confusion{{Want: graph.Reschedule, Got: graph.Cancel, Count: 1, Sure: 1}}, r.Confusions); d != "" {
		t.Errorf("confusions: %s", d)
	}
	if !strings.Contains(r.Table(), "50.0 [9.5, 90.5] of 2") || !strings.Contains(r.List(), `2 intent SURE: "cancel my booking"`) {
		t.Errorf("got\n%s\n%s", r.Table(), r.List())
	}
	if below := r.Below(eval.Limits{Precision: 0.99}); len(below) != 0 {
		t.Errorf("two examples are held to no limit: %v", below)
	}
	var many []eval.Row
	for range 10 {
		many = append(many, rows...)
	}
	if below := eval.Measure(many).Below(eval.Limits{Precision: 0.99}); len(below) != 2 || !strings.Contains(below[0], "the precision where code acts alone of test/en is 50.0") {
		t.Errorf("got %v", below)
	}
}

func TestMixes(t *testing.T) {
	t.Parallel()
	rows := load(t, `{"text":"can I come tomorrow morning","lang":"en"}`, `{"text":"hello","lang":"en"}`, `{"text":"nataka kuja kesho asubuhi","lang":"sw"}`,
		`{"text":"do you have parking there","lang":"en"}`, `{"text":"naomba nafasi ya kesho","lang":"sw","split":"dev"}`)
	got := eval.Mixes(rows)
	if len(got) != 2 || got[0].Text != "can I come tomorrow morning, nataka kuja kesho asubuhi" || got[1].Text != "nataka kuja kesho asubuhi, do you have parking there" {
		t.Errorf("got %+v", got)
	}
	r := eval.Measure(got)
	if len(r.Groups) != 0 || len(r.Languages) != 1 || r.Languages[0].Length != eval.Generated {
		t.Errorf("got %+v", r)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{`{"text":"hi","lang":"en"}`, `{"text":"3","intent":"book","expect":{"slots":["time"],"about":{"date":"2026-11-25","time":"10:00"}}}`, "{", "[]", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		if rows, err := eval.Load("f", strings.NewReader(s)); err == nil {
			_ = eval.Measure(rows).Table()
		}
	})
}

// BenchmarkTier0 reads the project's own utterances one after another.
func BenchmarkTier0(b *testing.B) {
	rows := own(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = eval.Judge(rows[i%len(rows)])
	}
}
