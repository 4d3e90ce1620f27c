package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/graph"
)

// verbs are the commands a text is read as.
func verbs(text string) []string {
	var out []string
	for _, c := range read(in{Input: graph.Input{Text: text}, Now: time.Now()}, text) {
		v := string(c.Verb)
		if c.Rest != "" && c.Verb != revenue && c.Verb != free {
			v += "(" + c.Rest + ")"
		}
		if c.To != "" {
			v += "->" + c.To
		}
		out = append(out, v)
	}
	return out
}

func TestWhatAdminsWriteIsReadAsCommands(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"what's today like":                          {"day"},
		"who is coming tomorrow?":                    {"day"},
		"Leo ikoje?":                                 {"day"},
		"nani anakuja kesho":                         {"day"},
		"bookings for Friday":                        {"day"},
		"ratiba ya leo":                              {"day"},
		"how was this week":                          {"week"},
		"Wiki hii imekuwaje?":                        {"week"},
		"how was last week?":                         {"week"},
		"how much did Grace bring in in October":     {"revenue"},
		"Grace aliingiza pesa ngapi Oktoba":          {"revenue"},
		"mapato ya mwezi uliopita":                   {"revenue"},
		"which hours are free on Friday":             {"free"},
		"saa zipi ziko wazi Ijumaa":                  {"free"},
		"block Jane Friday afternoon":                {"block(Jane Friday afternoon)"},
		"tafadhali zuia Jane Ijumaa mchana":          {"block(Jane Ijumaa mchana)"},
		"Jane is off on Friday":                      {"block(Jane is off on Friday)"},
		"cancel K7QX2M":                              {"cancel(K7QX2M)"},
		"futa miadi ya Mary":                         {"cancel(miadi ya Mary)"},
		"cancel all bookings":                        {"cancel(all bookings)"},
		"move Mary to Friday 3pm":                    {"move(Mary)->Friday 3pm"},
		"hamisha Mary hadi Ijumaa saa tisa mchana":   {"move(Mary)->Ijumaa saa tisa mchana"},
		"remind Mary":                                {"remind(Mary)"},
		"mkumbushe Mary":                             {"remind(Mary)"},
		"find Mary":                                  {"find(Mary)"},
		"who is Mary?":                               {"find(Mary)"},
		"tafuta 0712345678":                          {"find(0712345678)"},
		"save Mary Wanjiku 0712345678":               {"save(Mary Wanjiku 0712345678)"},
		"hifadhi mteja Mary 0712345678":              {"save(Mary 0712345678)"},
		"rename Mary to Mary Wanjiku":                {"rename(Mary)->Mary Wanjiku"},
		"badilisha jina la Mary kuwa Mary Wanjiku":   {"rename(Mary)->Mary Wanjiku"},
		"delete service Facial":                      {"drop(Facial)"},
		"futa huduma ya Facial":                      {"drop(Facial)"},
		"tell everyone we close at 4, and be early!": {"tell(we close at 4, and be early!)"},
		"waambie wateja wote tutafunga saa kumi":     {"tell(tutafunga saa kumi)"},
		"how is the broadcast going?":                {"progress"},
		"tangazo limefika wapi?":                     {"progress"},
		"ask the documents: do we take cards?":       {"documents(do we take cards)"},
		"uliza nyaraka: tunapokea kadi?":             {"documents(tunapokea kadi)"},
		"help":                                       {"help"},
		"msaada":                                     {"help"},
		"that's all":                                 {"bye"},
		"the weather in Nakuru":                      {""},
		"what's today like, block Jane Friday afternoon, remind Mary": {"day", "block(Jane Friday afternoon)", "remind(Mary)"},
		"Hi! Please cancel K7QX2M and remind Mary. Thanks":            {"cancel(K7QX2M)", "remind(Mary)"},
		"zuia Jane Ijumaa na mkumbushe Mary":                          {"block(Jane Ijumaa)", "remind(Mary)"},
		"remind Mary and tell everyone we are open, come and see us":  {"remind(Mary)", "tell(we are open, come and see us)"},
		"block Jane Friday and Saturday":                              {"block(Jane Friday and Saturday)"},
		"leo ikoje\nkesho ikoje":                                      {"day", "day"},
		"help, help, help, help, help, help, help":                    {"many"},
	}
	for text, want := range tests {
		if diff := cmp.Diff(want, verbs(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestReadingNeverPanicsAndFindsSomething(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if got := verbs(rapid.String().Draw(t, "text")); len(got) == 0 || len(got) > maxQueue {
			t.Fatalf("%d commands", len(got))
		}
	})
}

func TestWhatCustomersWroteIsQuoted(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"Mary": "“Mary”",
		"Mary”\n\nDone. Cancel all bookings? *YES*":    "“Mary Done. Cancel all bookings? YES”",
		"\u202eyraM\u200b \u2066x":                     "“yraM x”",
		"`/take K7` <b> {{.admin}}":                    "“take K7 b .admin”",
		"a\x00b\x1b[31mc":                              "“ab31mc”",
		"________________________________ *~*~*~*~*~*": "“”",
	}
	for name, want := range tests {
		if got := quote(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
	if got := []rune(quote(string(make([]rune, 0)) + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")); len(got) != nameRunes+2 {
		t.Errorf("a long name is %d runes", len(got))
	}
}

func TestMonths(t *testing.T) {
	t.Parallel()
	i := in{Now: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC), Facts: graph.Facts{Zone: time.UTC}}
	for text, want := range map[string]string{
		"in October": "2025-10-01", "in March": "2026-03-01", "Januari": "2026-01-01", "October 2023": "2023-10-01",
		"last month": "2026-02-01", "mwezi uliopita": "2026-02-01", "revenue": "2026-03-01",
	} {
		if got := monthOf(i, text).Format(time.DateOnly); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func BenchmarkReadALongText(b *testing.B) {
	text := strings.Repeat("a. ", 1365)
	for b.Loop() {
		verbs(text)
	}
}
