package when_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/when"
)

func TestVarietyOfTimes(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("EAT", 3*60*60)
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, zone) // a Wednesday
	for text, want := range map[string]graph.When{
		"Boxing Day":                         {Date: "2026-12-26"},
		"siku ya krismasi":                   {Date: "2026-12-25"},
		"new year's eve at 4pm":              {Date: "2026-12-31", Time: "16:00"},
		"mwaka mpya":                         {Date: "2027-01-01"},
		"sometime after Christmas":           {},
		"wiki moja kutoka leo":               {Date: "2026-12-02"},
		"half nine tomorrow morning":         {Date: "2026-11-26", Time: "09:30"},
		"5ish pm":                            {Time: "17:00"},
		"4 in the evening":                   {Time: "16:00"},
		"saa 9 jioni":                        {Time: "15:00"},
		"Monday's lesson":                    {Date: "2026-11-30"},
		"tomorrow's appointment":             {Date: "2026-11-26"},
		"kesho, kama saa moja asubuhi":       {Date: "2026-11-26", Time: "07:00"},
		"nisogezee hadi saa nne":             {Time: "10:00"},
		"nipo hadi saa nne":                  {To: "10:00"},
		"saa moja ya hesabu kesho":           {Date: "2026-11-26"},
		"miadi iwe mapema kidogo":            {},
		"no thanks, not now":                 {},
		"Jamhuri Day, 10 in the morning":     {Date: "2026-12-12", Time: "10:00"},
		"labour day or valentine, who cares": {Date: "2027-05-01"},
	} {
		got := when.Parse(text, now, zone, when.Expect{})
		if got.Date != want.Date || got.Time != want.Time || got.From != want.From || got.To != want.To || len(got.Options) > 0 || got.Fault != "" {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}
