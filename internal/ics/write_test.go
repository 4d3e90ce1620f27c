package ics_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/ics"
)

var noon = time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)

func TestACalendarAsProgramsReadIt(t *testing.T) {
	t.Parallel()
	got := string(ics.Write("Grace", []ics.Event{
		{
			UID: "b1@ratiba", Sequence: 3, Start: noon, End: noon.Add(time.Hour), Changed: noon.Add(-time.Hour), Status: ics.Confirmed,
			Summary: "Massage; deep, firm: Asha K.", Description: "ABC234\nRoom 1", Location: `Ngong Road \ 2nd floor`,
		},
		{UID: "b2@ratiba", Start: noon, End: noon, Changed: noon, Status: ics.Cancelled, Summary: strings.Repeat("ñandú ", 30)},
	}))
	for _, want := range []string{
		"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "UID:b1@ratiba\r\nSEQUENCE:3\r\nDTSTAMP:20260303T080000Z\r\n",
		"DTSTART:20260303T090000Z\r\nDTEND:20260303T100000Z\r\n", `SUMMARY:Massage\; deep\, firm: Asha K.`, `DESCRIPTION:ABC234\nRoom 1`,
		`LOCATION:Ngong Road \\ 2nd floor`, "STATUS:CANCELLED\r\nTRANSP:TRANSPARENT\r\n", "END:VEVENT\r\nEND:VCALENDAR\r\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// Whatever stands in a text, it is one value in lines of at most 75 octets that
// split no character, and comes back as it was.
func TestTextsAreEscapedAndFolded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		out := string(ics.Write("n", []ics.Event{{UID: "u", Start: noon, End: noon, Changed: noon, Summary: text, Status: ics.Confirmed}}))
		for line := range strings.SplitSeq(strings.TrimSuffix(out, "\r\n"), "\r\n") {
			if len(line) > 75 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") {
				r.Fatalf("a line of %d octets: %q", len(line), line)
			}
		}
		unfolded := strings.ReplaceAll(out, "\r\n ", "")
		if n := strings.Count(unfolded, "\r\n"); n != 18 {
			r.Fatalf("%d lines in\n%s", n, unfolded)
		}
	})
}
