package ids_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

// draw takes something of everything from a source.
func draw(s *ids.Source) []string {
	return []string{s.New(), s.Token(16), s.Code(8), s.New(), s.Token(5)}
}

func TestP12TheSameSeedDrawsTheSame(t *testing.T) {
	t.Parallel()
	seed := ids.NewSeed()
	first := ids.NewSource(seed, noon)
	second := ids.NewSource(seed, noon)
	for range 3 {
		a, b := draw(first), draw(second)
		clone := first.Clone()
		for i := range a {
			if a[i] != b[i] {
				t.Errorf("draw %d: %s and %s", i, a[i], b[i])
			}
		}
		if c, d := draw(clone), draw(first); c[0] != d[0] || c[1] != d[1] || c[4] != d[4] {
			t.Errorf("a clone draws %v, its origin %v", c, d)
		}
		draw(second)
	}
	if ids.NewSeed() == seed {
		t.Error("two seeds are one")
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := ids.NewSource(ids.NewSeed(), noon)
	for _, f := range []struct{ name, got, form string }{
		{"id", s.New(), `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`}, {"token", s.Token(16), `^[A-Za-z0-9_-]{22}$`}, {"code", s.Code(200), `^[A-HJKMNP-Z2-9]{200}$`},
	} {
		if !regexp.MustCompile(f.form).MatchString(f.got) {
			t.Errorf("%s %q has not the form %s", f.name, f.got, f.form)
		}
	}
	if a, b := ids.New(noon), ids.New(noon.Add(time.Millisecond)); a >= b {
		t.Errorf("%s does not sort before %s", a, b)
	}
}
