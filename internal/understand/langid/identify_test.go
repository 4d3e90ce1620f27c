package langid_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/understand/langid"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		langid.English: {"I would like a haircut tomorrow", "price?", "Jan 5", "how tall is mount kenya", "sure thing", "put it under Sharon Akinyi", "thx dear"},
		langid.Swahili: {
			"nataka kunyolewa kesho", "mna kuku?", "nakubali", "sawa", "naomba location yenu", "kuna parking hapo?", "Nataka massage ijumaa",
			"je, Will Smith ana watoto wangapi?",
		},
		langid.Mixed: {
			"naomba kureschedule to next week", "can I come kesho asubuhi", "do you have nafasi leo", "how much ni massage ya one hour", "nataka kutalk na manager",
		},
		langid.Other: {
			"Bonjour, je voudrais un massage demain", "Muraho, nshaka gufata gahunda", "abeg how much you dey charge", "Ich möchte einen Termin",
			"أريد موعدا", "waxaan rabaa ballan", "njagala okusala enviiri", "", "👍", "12",
		},
	} {
		for _, text := range texts {
			if got := langid.Identify(lex.Tokens(lex.Clean(text))); got != want {
				t.Errorf("%q: got %s, want %s", text, got, want)
			}
		}
	}
}

func TestIdentifyHoldsForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		toks := lex.Tokens(lex.Clean(rapid.String().Draw(t, "text")))
		switch got := langid.Identify(toks); got {
		case langid.English, langid.Swahili, langid.Mixed, langid.Other:
		default:
			t.Fatalf("got %q", got)
		}
	})
}

func FuzzIdentify(f *testing.F) {
	for _, s := range []string{"kesho at 4", "ĩĩ ũ", "\xff\xfe", "ﷺ", "@user #tag", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { _ = langid.Identify(lex.Tokens(lex.Clean(s))) })
}

func BenchmarkIdentify(b *testing.B) {
	toks := lex.Tokens("Habari, naomba nafasi ya massage kesho saa tisa mchana na Amina tafadhali")
	b.ReportAllocs()
	for b.Loop() {
		_ = langid.Identify(toks)
	}
}
