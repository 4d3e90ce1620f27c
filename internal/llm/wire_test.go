package llm_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/llm"
)

func TestAppendStringWritesWhatDecodersRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringMatching(`["\\/\x00-\x1f<>&é😀\x7f]{0,12}`),
		).Draw(t, "s")
		raw := llm.AppendString([]byte("x"), s)
		var got string
		if err := json.Unmarshal(raw[1:], &got); err != nil {
			t.Fatalf("%q became %s: %q, %v", s, raw, got, err)
		}
		var again string
		std, err := json.Marshal(s)
		if err != nil || json.Unmarshal(std, &again) != nil || again != got {
			t.Fatalf("%q: %q, encoding/json has %q", s, got, again)
		}
	})
}
