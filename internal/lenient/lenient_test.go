package lenient_test

import (
	"encoding/json"
	"testing"

	"github.com/ratiba/ratiba/internal/lenient"
)

func TestString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want string }{
		{"a string", `"abc"`, "abc"},
		{"a whole number", `254700000001`, "254700000001"},
		{"a negative number", `-1.5`, "-1.5"},
		{"null", `null`, ""},
		{"a string with NUL", "\"a\\u0000b\"", "ab"},
	} {
		var got lenient.String
		if err := json.Unmarshal([]byte(c.raw), &got); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	for _, raw := range []string{`{}`, `[]`, `true`, `"`} {
		var got lenient.String
		if err := json.Unmarshal([]byte(raw), &got); err == nil {
			t.Errorf("%s is taken as %q", raw, got)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, seed := range []string{`"a"`, `1`, `null`, `{}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got lenient.String
		_ = json.Unmarshal(raw, &got)
		for _, r := range string(got) {
			if r == 0 {
				t.Fatal("NUL survives")
			}
		}
	})
}
