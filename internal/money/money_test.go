package money_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/money"
)

func TestAmountsReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]money.Amount{
		"KES 3,500": money.Major(3500, "KES"), "KES 3,500.50": {Minor: 350050, Currency: "KES"}, "KES 0.05": {Minor: 5, Currency: "KES"},
		"KES -1,000": money.Major(-1000, "KES"), "USD 1,234,567": money.Major(1234567, "USD"), "0": {}, "KES 999": money.Major(999, "KES"),
	} {
		if got := a.String(); got != want {
			t.Errorf("%+v: got %q, want %q", a, got, want)
		}
	}
	if !(money.Amount{Currency: "KES"}).IsZero() || money.Major(1, "KES").IsZero() {
		t.Error("IsZero: want it of nothing alone")
	}
}

func TestParseUSD(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]money.Pico{"0.05": 50_000_000_000, "1": money.USD, "0": 0, "2.": 2 * money.USD, "0.000000000001": 1, "1000000": 1_000_000 * money.USD} {
		if got, err := money.ParseUSD(in); got != want || err != nil {
			t.Errorf("ParseUSD(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".5", "-1", "-0.05", "+1", "0.-5", "0.0000000000001", "cheap", "1000001", "1,5", "1e3", "0x1"} {
		if got, err := money.ParseUSD(in); err == nil {
			t.Errorf("ParseUSD(%q) = %d, want it refused", in, got)
		}
	}
}

func TestDollarsAreExact(t *testing.T) {
	t.Parallel()
	if got := money.Pico(-50_000_000_000).Dollars(); got != "-0.05" {
		t.Errorf("got %s, want -0.05", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := money.Pico(rapid.Int64Range(0, int64(1_000_000*money.USD)).Draw(rt, "pico"))
		if back, err := money.ParseUSD(p.Dollars()); back != p || err != nil {
			rt.Fatalf("%d became %q and %d, %v", p, p.Dollars(), back, err)
		}
	})
}
