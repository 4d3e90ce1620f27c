// Package money holds amounts as integers: customers' money in minor units,
// model cost in pico-dollars. Nothing here is a float. Arithmetic that would
// overflow is a programmer's error. The package imports only leaves.
package money

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is a sum in a currency's minor units (cents for KES).
type Amount struct {
	Minor    int64  `json:"minor" yaml:"minor"`
	Currency string `json:"currency" yaml:"currency"`
}

// Major makes an amount of whole units: Major(500, "KES") is KES 500.
func Major(units int64, currency string) Amount {
	return Amount{Minor: units * 100, Currency: currency}
}

// IsZero reports whether nothing is due.
func (a Amount) IsZero() bool { return a.Minor == 0 }

// String writes the amount as people in the trade do: "KES 3,500", or
// "KES 3,500.50" when there are cents.
func (a Amount) String() string {
	minor, sign := a.Minor, ""
	if minor < 0 {
		minor, sign = -minor, "-"
	}
	out := a.Currency + " " + sign + group(minor/100)
	if cents := minor % 100; cents != 0 {
		out += fmt.Sprintf(".%02d", cents)
	}
	return strings.TrimSpace(out)
}

func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Pico is a cost in pico-dollars: 10^-12 US dollars. A classification costs
// about 60,000,000 of them.
type Pico int64

// USD is one US dollar.
const USD Pico = 1_000_000_000_000

// Dollars returns the cost as a decimal string in US dollars, exact and
// without trailing zeros.
func (p Pico) Dollars() string {
	sign, n := "", int64(p)
	if n < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%s%d.%012d", sign, n/int64(USD), n%int64(USD))
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// ParseUSD reads a decimal number of US dollars with at most twelve decimals.
func ParseUSD(s string) (Pico, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 12 {
		return 0, fmt.Errorf("parse dollars %q: more than 12 decimals", s)
	}
	w, err := strconv.ParseUint(whole, 10, 63) // takes no sign: "-0.05" is no cost
	if err != nil || w > 1_000_000 {
		return 0, fmt.Errorf("parse dollars %q: want a decimal number such as 0.05", s)
	}
	f, err := strconv.ParseUint(frac+strings.Repeat("0", 12-len(frac)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("parse dollars %q: want a decimal number such as 0.05", s)
	}
	return Pico(w)*USD + Pico(f), nil
}
