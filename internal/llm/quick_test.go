package llm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/llm"
)

// quickSchemas are schemas in every keyword the one-pass validator knows.
func quickSchemas(tb testing.TB) []*llm.Schema {
	tb.Helper()
	raws := []string{
		moodSchema, intentSeam, slotSeam,
		`{"type":"object","required":["n","list"],"properties":{"n":{"type":"integer","minimum":-3,"maximum":12},
		"list":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","required":["value"],"properties":{"value":{"type":["string","null"],"minLength":2,"maxLength":4},"confidence":{"type":"number"}}}},
		"flag":{"type":["boolean","null"]},"value":{"type":"string"},"confidence":{"type":["number","null"],"minimum":0}}}`,
	}
	seams, err := filepath.Glob("../understand/schema/*.json")
	if err != nil || len(seams) < 3 {
		tb.Fatalf("the product's seams: %v, %v", seams, err)
	}
	for _, path := range seams {
		raw, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		raws = append(raws, string(raw))
	}
	var out []*llm.Schema
	for _, raw := range raws {
		s := compile(tb, raw)
		if _, _, _, has := s.Quick(""); !has {
			tb.Fatalf("the one-pass validator does not know %s", raw)
		}
		out = append(out, s)
	}
	return out
}

// agree fails when the one-pass validator accepts what the full one refuses, or
// finds another confidence.
func agree(t interface{ Fatalf(string, ...any) }, s *llm.Schema, answer string) bool {
	confidence, stated, accepted, _ := s.Quick(answer)
	if !accepted {
		return false
	}
	full, fullStated, err := s.ParseInFull(answer)
	if err != nil {
		t.Fatalf("%q was accepted; the full validator says %v", answer, err)
	}
	if confidence != full || stated != fullStated {
		t.Fatalf("%q: confidence %v (%v), the full validator finds %v (%v)", answer, confidence, stated, full, fullStated)
	}
	return true
}

var good = []string{
	mood, ` {"reasoning":"a \"b\" A é 😀","mood":"bad","confidence":0}` + "\n",
	`{"reasoning":"r","intent":"book","confidence":0.93,"language":"sw","language_confidence":1,"sentiment":"neutral"}`,
	`{"reasoning":"","service":{"value":"Facial","confidence":0.8},"staff":{"value":null,"confidence":0.1},"date":{"value":null,"confidence":0.9},"time":{"confidence":0.4,"value":"09:00"},"time_from":{"value":null,"confidence":0},"time_to":{"value":null,"confidence":0},"name":{"value":null,"confidence":1.0}}`,
	`{"n":3,"list":[{"value":"ab","confidence":7}],"flag":null}`, `{"n":-3,"list":[{"value":null},{"value":"abcd"}],"flag":true,"confidence":0.5}`,
	`{"confidence":null,"value":"x","n":0,"list":[{"value":"ĩĩ"}]}`,
}

func TestTheOnePassValidatorAcceptsPlainGoodAnswers(t *testing.T) {
	t.Parallel()
	schemas := quickSchemas(t)
	for _, answer := range good {
		accepted := false
		for _, s := range schemas {
			accepted = agree(t, s, answer) || accepted
		}
		if !accepted {
			t.Errorf("%s went to the full validator", answer)
		}
	}
}

func TestTheOnePassValidatorNeverAcceptsMoreThanTheFullOne(t *testing.T) {
	t.Parallel()
	schemas := quickSchemas(t)
	pieces := []string{
		`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", `0`, `1`, `-`, `.`, `e9`, `NaN`, `null`, `true`, `"confidence"`, `"value"`, `"mood"`, `"n"`,
		`"list"`, `"good"`, `0.5`, `1.0`, `12`, `13`, `-3`, `-4`, `01`, `7`, `1.00000000000000000001`, `\u0000`, `\u0041`, `\ud800`, "\x00", "\x01", "\u00a0", "é", `""`, `"confidence":1,`, `{"value":"abc","confidence":0.2}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		answer := rapid.SampledFrom(good).Draw(t, "answer")
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			from := rapid.IntRange(0, len(answer)).Draw(t, "from")
			to := min(len(answer), from+rapid.IntRange(0, 12).Draw(t, "length"))
			answer = answer[:from] + rapid.SampledFrom(pieces).Draw(t, "piece") + answer[to:]
		}
		answer = strings.ToValidUTF8(answer, "?")
		for _, s := range schemas {
			agree(t, s, answer)
		}
	})
}

func FuzzQuick(f *testing.F) {
	for _, answer := range good {
		f.Add(answer)
	}
	schemas := quickSchemas(f)
	f.Fuzz(func(t *testing.T, answer string) {
		answer = strings.ToValidUTF8(answer, "?")
		for _, s := range schemas {
			agree(t, s, answer)
		}
	})
}

func TestSchemasThatSayMoreAreValidatedInFull(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"type":"object","properties":{"a":{"type":"string","format":"date"}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^b"}}}`,
		`{"type":"object","properties":{"a":{"enum":[1,2]}}}`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`,
		`{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":0}}}`,
		`{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`,
		`{"type":"object","minProperties":2}`,
	} {
		if _, _, _, has := compile(t, raw).Quick("{}"); has {
			t.Errorf("the one-pass validator believes to know %s", raw)
		}
	}
}
