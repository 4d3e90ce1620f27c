package langid_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/understand/langid"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

func detect(s string) (string, float64) { return langid.Detect(lex.Tokens(lex.Clean(s))) }

func TestDetect(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		langid.English: {
			"I would like a massage tomorrow", "how much is it", "can you move my booking", "what time do you close", "running ten minutes late, sorry",
		},
		langid.Swahili: {
			"nataka massage kesho", "Habari za asubuhi, naomba kuuliza bei", "mko wapi", "nimechelewa kidogo tafadhali", "nitakuja na rafiki yangu",
			"Nataka kubook facial ya kesho asubuhi", "wananisubiri hapa nje", "asante sana, nimefurahi",
		},
	} {
		for _, text := range texts {
			if got, c := detect(text); got != want || c < 0.7 {
				t.Errorf("%q: got %s %.2f, want %s", text, got, c, want)
			}
		}
	}
	for _, text := range []string{"ok", "hi", "sawa", "2", "", "Nyambura", "👍", "massage", "Bonjour, je voudrais un massage", "أريد موعدا", "Xyzzy qqq wvut prst"} {
		if got, c := detect(text); (got == langid.English || got == langid.Swahili) && c >= 0.7 {
			t.Errorf("%q does not say enough: got %s %.2f", text, got, c)
		}
	}
	if got, c := detect("أريد موعدا"); got != langid.Other || c == 0 {
		t.Errorf("another script: got %s %.2f", got, c)
	}
}

func TestCommon(t *testing.T) {
	t.Parallel()
	if !langid.Common("the") || !langid.Common("kesho") || langid.Common("wanjiku") {
		t.Error("everyday words are common, names are not")
	}
}

func TestDetectHoldsForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lang, c := detect(rapid.String().Draw(t, "text"))
		if c < 0 || c > 1 || lang != langid.English && lang != langid.Swahili && lang != langid.Other {
			t.Fatalf("got %q %v", lang, c)
		}
	})
}
