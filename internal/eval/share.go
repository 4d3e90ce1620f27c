package eval

import (
	"fmt"
	"math"
)

// Share is how many of how many, with the bounds between which the true share
// lies in 95 of 100 cases (Wilson).
type Share struct {
	Right int     `json:"right"`
	Of    int     `json:"of"`
	Value float64 `json:"value"` // 0 when Of is 0
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// z95 is the normal quantile of a two-sided interval of 95 %.
const z95 = 1.959963984540054

// NewShare makes a share with its interval.
func NewShare(right, of int) Share {
	if of <= 0 {
		return Share{Low: 0, High: 1}
	}
	n, p := float64(of), float64(right)/float64(of)
	mid := p + z95*z95/(2*n)
	half := z95 * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	base := 1 + z95*z95/n
	return Share{Right: right, Of: of, Value: p, Low: max(0, (mid-half)/base), High: min(1, (mid+half)/base)}
}

// String is the share in percent, or a dash where there is nothing to count.
func (s Share) String() string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*s.Value)
}

// interval is the share with its bounds and what it was counted over.
func (s Share) interval() string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f [%.1f, %.1f] of %d", 100*s.Value, 100*s.Low, 100*s.High, s.Of)
}

// counter collects a share.
type counter struct{ right, of int }

func (c *counter) add(right bool) {
	c.of++
	if right {
		c.right++
	}
}

func (c *counter) judge(v Verdict) {
	if v != Skipped {
		c.add(v == Right)
	}
}

func (c *counter) share() Share { return NewShare(c.right, c.of) }
