package eval

import "fmt"

// Limits are the least shares, from 0 to 1, that a report must reach. A limit
// of 0 asks for nothing.
type Limits struct {
	Precision float64 // of the intents that act alone, right
	Whole     float64 // of the turns that no model is asked about, right in everything
	Coverage  float64 // of all utterances, the intent acts alone
	Intent    float64 // of all utterances, the first guess is right
	Slots     float64
	When      float64
	Language  float64 // of English and of Swahili texts, each length apart
	Mixed     float64 // of texts in both
	Other     float64 // of texts in neither
	Scope     float64 // of what is out of scope, not acted on
	Turns     float64 // of the turns of conversations, answered without a model
}

// Defaults are the limits of the project's own examples.
func Defaults() Limits {
	return Limits{
		Precision: 0.99, Whole: 0.98, Coverage: 0.6, Intent: 0.85, Slots: 0.92, When: 0.92, Language: 0.99, Mixed: 0.75, Other: 0.85, Scope: 0.98, Turns: 0.6,
	}
}

// least is how many examples a share needs before it is held to a limit.
const least = 20

// Below lists the shares that miss a limit, in words; none when all is well.
// Shares of fewer than 20 examples are not held to it.
func (r Report) Below(limits Limits) []string {
	var out []string
	hold := func(what, where string, got Share, limit float64) {
		if got.Of >= least && got.Value < limit {
			out = append(out, fmt.Sprintf("%s of %s is %s, want %.1f", what, where, got.interval(), 100*limit))
		}
	}
	for _, g := range r.Groups {
		where := g.Split + "/" + g.Language
		hold("the precision where code acts alone", where, g.Sure, limits.Precision)
		hold("the precision of whole turns", where, g.Whole, limits.Whole)
		hold("the coverage", where, g.Coverage, limits.Coverage)
		hold("the intent accuracy", where, g.Intent, limits.Intent)
		hold("the slot exact match", where, g.Slots, limits.Slots)
		hold("the date-time resolution", where, g.When, limits.When)
		hold("the out-of-scope recall", where, g.Scope, limits.Scope)
	}
	for _, l := range r.Languages {
		limit := limits.Language
		switch l.Language {
		case Mixed:
			limit = limits.Mixed
		case Other:
			limit = limits.Other
		}
		hold("the language identification", l.Split+"/"+l.Language+"/"+l.Length, l.Told, limit)
	}
	if r.Turns != nil {
		hold("the share of turns without a model", "the conversation scripts", *r.Turns, limits.Turns)
	}
	return out
}
