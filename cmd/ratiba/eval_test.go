package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEvalUnderstand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, lines ...string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := write("good.jsonl", `{"text":"cancel my booking","lang":"en","intent":"cancel"}`)
	// A few of the conversations are enough here: all of them are replayed where they are.
	some, err := os.ReadFile("../../internal/golden/scripts/mixed.txt")
	if err != nil {
		t.Fatal(err)
	}
	write("mixed.txt", string(some))
	var wrong []string
	for range 20 {
		wrong = append(wrong, `{"text":"cancel my booking","lang":"en","intent":"book"}`)
	}
	bad := write("bad.jsonl", wrong...)
	for _, row := range []struct {
		what string
		args []string
		code int
		out  string
	}{
		{"the project's own sets", []string{"--scripts", dir + "/none"}, 0, "test   en"},
		{"one split", []string{"--split", "dev", "--scripts", dir + "/none"}, 0, "dev    en"},
		{"a file", []string{good}, 0, "test   en"},
		{"a file with its misses", []string{"--misses", "--min-precision", "0", "--min-whole", "0", "--min-intent", "0", bad}, 0, `SURE: "cancel my booking"`},
		{"a file below the limits", []string{bad}, 1, "ratiba: below the limits: the precision where code acts alone of test/en is 0.0"},
		{"a faulty line", []string{write("x.jsonl", `{"text":"a","lang":"en"}`, `{"text":"b","intent":"c"}`)}, 1, `x.jsonl:2: unknown intent "c"`},
		{"no such file", []string{dir + "/nothing.jsonl"}, 1, "no such file"},
		{"a split that is empty", []string{"--split", "dev", good}, 1, "no examples in the split dev"},
		{"the conversation scripts", []string{"--split", "dev", "--scripts", dir}, 0, "answered without a model"},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			var out, errOut strings.Builder
			code := run(t.Context(), append([]string{"eval", "understand"}, row.args...), nil, &out, &errOut)
			if said := out.String() + errOut.String(); code != row.code || !strings.Contains(said, row.out) {
				t.Errorf("exit %d:\n%s", code, said)
			}
		})
	}
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		var out, errOut strings.Builder
		if code := run(t.Context(), []string{"eval", "understand", "--json", good}, nil, &out, &errOut); code != 0 {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		var got struct {
			Groups []struct {
				Precision struct{ Value float64 } `json:"precision"`
			} `json:"groups"`
		}
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Groups) != 2 || got.Groups[0].Precision.Value != 1 {
			t.Errorf("%v: %s", err, out.String())
		}
	})
}
