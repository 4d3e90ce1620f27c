package when_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/when"
)

func TestTimesThatCountFromWhatIsTalkedAbout(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("EAT", 3*60*60)
	now := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC) // Wednesday
	about := graph.When{Date: "2026-11-27", Time: "15:00"}
	for _, row := range []struct{ text, date, clock string }{
		{"same time next week", "2026-12-04", "15:00"},
		{"move it to the same time the next week", "2026-12-04", "15:00"},
		{"saa hiyo hiyo wiki ijayo", "2026-12-04", "15:00"},
		{"wakati uleule wiki ijayo", "2026-12-04", "15:00"},
		{"same time on saturday", "2026-11-28", "15:00"},
		{"same time", "2026-11-27", "15:00"},
		{"same day at 5pm", "2026-11-27", "17:00"},
		{"siku hiyo hiyo saa nane mchana", "2026-11-27", "14:00"},
		{"the following day", "2026-11-28", ""},
		{"kesho yake saa tano asubuhi", "2026-11-28", "11:00"},
		{"a week later", "2026-12-04", ""},
		{"an hour later", "", "16:00"},
		{"30 minutes earlier please", "", "14:30"},
		{"tomorrow", "2026-11-26", ""},
	} {
		w := when.Parse(row.text, now, zone, when.Expect{About: about})
		if w.Date != row.date || w.Time != row.clock || w.DateTo != "" {
			t.Errorf("%q: got %s..%s %s, want %s %s", row.text, w.Date, w.DateTo, w.Time, row.date, row.clock)
		}
	}
	for _, text := range []string{"same time", "the following day", "an hour later"} {
		if w := when.Parse(text, now, zone, when.Expect{}); !w.Empty() {
			t.Errorf("%q about nothing: got %+v", text, w)
		}
	}
	if w := when.Parse("24/7/2027", now, zone, when.Expect{}); w.Date != "2027-07-24" {
		t.Errorf("a day that looks like round the clock: got %+v", w)
	}
	if w := when.Parse("2moro at 2pm", now, zone, when.Expect{}); w.Date != "2026-11-26" || w.Time != "14:00" {
		t.Errorf("2moro: got %+v", w)
	}
}
