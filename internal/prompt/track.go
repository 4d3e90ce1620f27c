package prompt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Track is how a role did in the last seven days.
type Track struct {
	Count int // answers given
	// Checked answers are those of which it is known whether they were right, and
	// Right is how many were.
	Checked, Right int
	Shares         []Share // of the answers by what they said, in any order
}

// Share is how many answers said the same.
type Share struct {
	Name  string
	Count int
}

// mostShares is how many shares a sentence names; the rest is "other".
const mostShares = 5

// accuracyFrom is how many checked answers an accuracy is told from: fewer say
// nothing.
const accuracyFrom = 10

// String is the track record in a sentence or two, empty when there is none. It
// quotes no customer: a share whose name is not a plain word counts as other.
func (t Track) String() string {
	if t.Count <= 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "In the last seven days you gave %d such answers", t.Count)
	if t.Checked >= accuracyFrom && t.Right <= t.Checked {
		fmt.Fprintf(&b, "; of the %d that were checked %d%% were right", t.Checked, percent(t.Right, t.Checked))
	}
	b.WriteString(".")
	shares := slices.Clone(t.Shares)
	slices.SortFunc(shares, func(a, b Share) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name)) })
	var named []string
	rest := t.Count
	for _, s := range shares {
		if len(named) < mostShares && s.Count > 0 && s.Count <= rest && varName.MatchString(s.Name) {
			named = append(named, fmt.Sprintf("%s (%d%%)", s.Name, percent(s.Count, t.Count)))
			rest -= s.Count
		}
	}
	if len(named) == 0 {
		return b.String()
	}
	if p := percent(rest, t.Count); p > 0 {
		named = append(named, fmt.Sprintf("other (%d%%)", p))
	}
	return b.String() + " They said: " + strings.Join(named, ", ") + "."
}

func percent(part, whole int) int { return int(math.Round(100 * float64(part) / float64(whole))) }
