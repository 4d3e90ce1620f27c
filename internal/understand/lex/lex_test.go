package lex_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

func tokens(s string) []lex.Token { return lex.Tokens(lex.Clean(s)) }

func folded(s string) []string {
	var out []string
	for _, t := range tokens(s) {
		out = append(out, t.Text)
	}
	return out
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Don't":             {"dont"},
		"3:30pm":            {"3", ":", "30", "pm"},
		"yesss saaa":        {"yes", "saa"},
		"a\nb":              {"a", "\n", "b"},
		"y\u200be\u202ds":   {"yes"},
		"“ok” – fine’s":     {"\"", "ok", "\"", "-", "fines"},
		"👩🏾‍🦱 ❤️ 🇰🇪":        {"👩🏾‍🦱", "❤️", "🇰", "🇪"},
		"it' s":             {"it", "'", "s"},
		"１２":                {"12"},
		"\tA\u00a0B\x00":    {"a", "b"},
		"\xff ok":           {"ok"},
		"":                  nil,
		"Ünïcode מילה":      {"ünïcode", "מילה"},
		"99999999999 hours": {"99999999999", "hours"},
	} {
		if d := cmp.Diff(want, folded(text)); d != "" {
			t.Errorf("%q, want - got +:\n%s", text, d)
		}
	}
	if toks := tokens("99999999999 7"); toks[0].Value != -1 || toks[1].Value != 7 || toks[1].Glued {
		t.Errorf("got %+v", toks)
	}
}

func TestCleanIsBounded(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("a", 10_000), strings.Repeat("é", 10_000), strings.Repeat("ﷺ", 10_000)} {
		if n := utf8.RuneCountInString(lex.Clean(s)); n > lex.MaxRunes {
			t.Errorf("%d runes", n)
		}
	}
}

func TestTokensCoverTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := lex.Clean(rapid.String().Draw(t, "text"))
		if again := lex.Clean(text); again != text {
			t.Fatalf("cleaning twice differs: %q %q", text, again)
		}
		end := 0
		toks := lex.Tokens(text)
		for i, tok := range toks {
			if tok.Start < end || tok.End <= tok.Start || text[tok.Start:tok.End] != tok.Raw {
				t.Fatalf("token %d of %q: %+v", i, text, tok)
			}
			end = tok.End
			v, next, ok := lex.ReadNumber(toks, i)
			if ok && (next <= i || next > len(toks) || v < 0) {
				t.Fatalf("number at %d of %q: %d %d", i, text, v, next)
			}
		}
		for _, d := range lex.Durations(toks) {
			if d.From >= d.To || d.To > len(toks) || d.Minutes <= 0 {
				t.Fatalf("length %+v of %q", d, text)
			}
		}
		for _, a := range lex.Amounts(toks) {
			if a.From >= a.To || a.From < 0 || a.To > len(toks) {
				t.Fatalf("amount %+v of %q", a, text)
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"7": 7, "twelve": 12, "forty five": 45, "forty-five": 45, "tisa": 9, "kumi": 10, "kumi na mbili": 12, "ishirini na tano": 25,
		"mawili": 2, "twenty": 20, "kumi na nusu": 10, "sixty": 60, "eleven": 11, "twenty na": 20,
	} {
		if got, _, ok := lex.ReadNumber(tokens(text), 0); !ok || got != want {
			t.Errorf("%q: got %d %v", text, got, ok)
		}
	}
	for text, want := range map[string]int{"3rd": 3, "first": 1, "twenty first": 21, "twenty-third": 23, "kwanza": 1, "thirtieth": 30, "22nd": 22} {
		if got, _, ok := lex.ReadOrdinal(tokens(text), 0); !ok || got != want {
			t.Errorf("%q: got %d %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "word", "?", "99999999999"} {
		if _, _, ok := lex.ReadNumber(tokens(text), 0); ok {
			t.Errorf("%q is no number", text)
		}
	}
	for _, text := range []string{"", "3", "twenty", "tatu", "3pm", "?"} {
		if _, _, ok := lex.ReadOrdinal(tokens(text), 0); ok {
			t.Errorf("%q is no ordinal", text)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"90 minutes": 90, "90-minute": 90, "90min": 90, "dakika 90": 90, "dakika tisini": 90, "1 hour": 60, "1.5 hours": 90, "2hrs": 120,
		"an hour": 60, "an hour and a half": 90, "half an hour": 30, "half hour": 30, "1 hour 30 minutes": 90, "saa moja na nusu kwa saa moja": 60,
		"masaa mawili": 120, "masaa mawili na nusu": 150, "muda wa saa moja na nusu": 90, "nusu saa": 30, "saa moja na dakika 30": 30, "two hours": 120,
		"masaa mawili na dakika kumi": 130, "1h": 60,
	} {
		got := lex.Durations(tokens(text))
		if len(got) != 1 || got[0].Minutes != want {
			t.Errorf("%q: got %+v, want %d", text, got, want)
		}
	}
	for _, text := range []string{"saa moja", "1500 hrs", "90", "h", "dakika", "kwa saa tisa", "0 minutes", "masaa", "5 h"} {
		if got := lex.Durations(tokens(text)); len(got) != 0 {
			t.Errorf("%q is no length: %+v", text, got)
		}
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"KES 3,500", "ksh. 500", "500 bob", "500/=", "3,500", "2 people", "watu 2", "20%", "3k", "#7"} {
		if got := lex.Amounts(tokens(text)); len(got) != 1 {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	for _, text := range []string{"3 pm", "at 3", "3:30", "12/12"} {
		if got := lex.Amounts(tokens(text)); len(got) != 0 {
			t.Errorf("%q is no amount: %+v", text, got)
		}
	}
}

func TestPhrases(t *testing.T) {
	t.Parallel()
	rows := []struct {
		pattern, text string
		want          bool
	}{
		{"talk|speak to a? person", "can I talk to a person", true},
		{"talk|speak to a? person", "speak to person", true},
		{"talk|speak to a? person", "talk to a nice person", false},
		{"talk * person", "talk to a nice person", true},
		{"talk * person", "talk to one of the nice person", false},
		{"talk * person", "talk\nto a person", false},
		{"%ongea na mtu", "nataka kuongea na mtu", true},
		{"nipigi% simu", "nipigieni simu", true},
		{"^ agent $", "agent!", true},
		{"^ agent $", "Hi. agent, please", true},
		{"^ agent $", "an agent", false},
		{"^ agent $", "hello\nagent", true},
		{"call me please|$", "call me", true},
		{"call me please|$", "call me, please", true},
		{"call me please|$", "call me john", false},
		{"a b", "a, 👍 b", true},
		{"a b", "a\nb", false},
	}
	for _, r := range rows {
		if _, ok := lex.Compile(r.pattern).Find(tokens(r.text)); ok != r.want {
			t.Errorf("%q in %q: got %v", r.pattern, r.text, ok)
		}
	}
	if _, ok := lex.FindAny(lex.CompileAll("x\n\n y\n"), tokens("y")); !ok {
		t.Error("one of several")
	}
	defer func() {
		if recover() == nil {
			t.Error("a badly written pattern is a programmer's error")
		}
	}()
	lex.Compile("a?|b")
}

func TestNear(t *testing.T) {
	t.Parallel()
	rows := []struct {
		a, b  string
		limit int
		want  bool
	}{
		{"massage", "massage", 0, true},
		{"masage", "massage", 1, true},
		{"massgae", "massage", 1, true},
		{"message", "massage", 1, true},
		{"mssge", "massage", 1, false},
		{"mssage", "massaeg", 2, true},
		{"a", "abc", 1, false},
		{"abc", "xyz", 2, false},
		{"abcd", "xyzw", 2, false},
		{strings.Repeat("a", 40), strings.Repeat("a", 39), 2, false},
	}
	for _, r := range rows {
		if got := lex.Near(r.a, r.b, r.limit); got != r.want {
			t.Errorf("%s %s %d: got %v", r.a, r.b, r.limit, got)
		}
		if lex.Near(r.a, r.b, r.limit) != lex.Near(r.b, r.a, r.limit) {
			t.Errorf("%s %s: not symmetric", r.a, r.b)
		}
	}
	for word, want := range map[string]string{"braiding": "braid", "braids": "braid", "facials": "facial", "massages": "massag", "kiss": "kiss", "nails": "nail"} {
		if got := lex.Stem(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
	if lex.Slips("abc") != 0 || lex.Slips("abcd") != 1 || lex.Slips("abcdefgh") != 2 {
		t.Error("longer words may carry more slips")
	}
	if lex.Join("a b", tokens("a b"), lex.Span{From: 0, To: 2}) != "a b" || lex.Join("a", nil, lex.Span{From: 0, To: 1}) != "" {
		t.Error("a run of tokens is its source text")
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"Don't", "👩🏾‍🦱", "\xff\xfe", "3:30pm", "ﷺ", "''''", "a\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := lex.Clean(s)
		for _, tok := range lex.Tokens(text) {
			if text[tok.Start:tok.End] != tok.Raw {
				t.Fatalf("%q: %+v", s, tok)
			}
		}
	})
}
