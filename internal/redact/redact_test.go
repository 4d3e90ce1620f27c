package redact_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/redact"
)

func TestP14OneRedactor(t *testing.T) {
	t.Parallel()
	r := redact.New("Wanjiku Kamau", "Otieno", "Mũthoni", "Wanjikũ", "Ann", "Anna", "Jo", "J.R. (Bob)")
	tests := []struct{ name, in, want string }{
		{"an international phone", "call +254700000001 now", "call <phone> now"},
		{"a local phone", "my number is 0722000001.", "my number is <phone>."},
		{"a phone with spaces", "0722 000 001", "<phone>"},
		{"a phone with hyphens", "+254-722-000-001", "<phone>"},
		{"a phone with brackets", "(0722) 000-001", "(<phone>"},
		{"a phone with brackets and a country code", "+1 (415) 555-0100", "<phone>"},
		{"a phone with hyphens between spaces", "0722 - 000 - 001", "<phone>"},
		{"a phone glued to letters", "TEL722000001", "TEL<phone>"},
		{"a wa.me link", "https://wa.me/254722000001", "https://wa.me/<phone>"},
		{"an e-mail address", "write jane.doe+spa@example.co.ke please", "write <email> please"},
		{"a known name", "Otieno is here", "<name> is here"},
		{"a known name in small letters", "wanjiku kamau asked", "<name> asked"},
		{"a name that ends in a letter beyond ASCII", "Wanjikũ na Mũthoni wako", "<name> na <name> wako"},
		{"a name that begins another", "Anna came", "<name> came"},
		{"a name inside a word stays", "Annual", "Annual"},
		{"a name with signs of its own", "ask J.R. (Bob) now", "ask <name> now"},
		{"six digits and more", "code 123456", "code <digits>"},
		{"five digits stay", "room 12345", "room 12345"},
		{"a very long run of digits", strings.Repeat("9", 40), ""},
		{"an amount is kept", "pay KES 3,500.50 today", "pay KES 3,500.50 today"},
		{"a large amount is kept", "KES 1500000", "KES 1500000"},
		{"an amount as people type it is kept", "nilipa ksh 150000 na Kshs. 200000", "nilipa ksh 150000 na Kshs. 200000"},
		{"an M-Pesa receipt is kept", "receipt SFF6XYZ123 arrived", "receipt SFF6XYZ123 arrived"},
		{"a receipt of many digits is kept", "T123456789", "T123456789"},
		{"a ULID is kept", "booking 01JZ8Y3QK6M2N4P5R7S9T0V1W3", "booking 01JZ8Y3QK6M2N4P5R7S9T0V1W3"},
		{"our reference is kept", "RTB-glow-01JZ8Y3QK6M2N4P5R7S9T0V1W3", "RTB-glow-01JZ8Y3QK6M2N4P5R7S9T0V1W3"},
		{"a receipt beside a phone", "SFF6XYZ123 from 254700000001 KES 500", "SFF6XYZ123 from <phone> KES 500"},
		{"nothing to mask", "Karibu! Saa tisa mchana.", "Karibu! Saa tisa mchana."},
		{"nothing at all", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := r.Text(tt.in)
			if strings.HasPrefix(tt.name, "a very long run") {
				if regexp.MustCompile(`\d{6,}`).MatchString(got) {
					t.Errorf("Text left a run of digits: %q", got)
				}
				return
			}
			if got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestWithoutNames(t *testing.T) {
	t.Parallel()
	if got := redact.New("", "Jo").Text("Jo 0722000001"); got != "Jo <phone>" {
		t.Errorf("got %q, want names under three letters left alone", got)
	}
}

// kept is what may stay, written anew: an amount, a receipt of exactly ten, a
// ULID or our reference.
var kept = regexp.MustCompile(`\b(?i:KES|KSHS?|USD|TZS|UGX)\.? ?\d[\d,]*(?:\.\d+)?\b|\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[A-Z][A-Z0-9]{9}\b`)

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "+254700000001", "KES 500 0722000001", "SFF6XYZ123", "a@b.co", "Otieno 123456", "0722-000-001 (2)", "KES 12345678,0722000001",
		"TEL722000001", "A@0722000001.co.ke", "\xff\xfe1234567", "01JZ8Y3QK6M2N4P5R7S9T0V1W3", "KES500KES500", "1,2,3,4,5,6,7",
	} {
		f.Add(s)
	}
	r := redact.New("Otieno", "Wanjikũ")
	digits, email := regexp.MustCompile(`\d{6,}`), regexp.MustCompile(`[a-z]+@[a-z]+\.[a-z]{2,}`)
	f.Fuzz(func(t *testing.T, s string) {
		got := r.Text(s)
		rest := kept.ReplaceAllString(got, "")
		if left := digits.FindString(rest); left != "" {
			t.Errorf("Text(%q) = %q: %q was left", s, got, left)
		}
		if left := email.FindString(got); left != "" {
			t.Errorf("Text(%q) = %q: %q was left", s, got, left)
		}
		if strings.Contains(strings.ToLower(got), " otieno ") {
			t.Errorf("Text(%q) = %q: a known name was left", s, got)
		}
	})
}
