package model

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The seams the model knows.
const (
	seamIntent  = "intent_classifier"
	seamSlots   = "slot_extractor"
	seamClarify = "clarification_rephraser"
	seamShape   = "answer_shaper"
	seamBrief   = "handoff_summarizer"
	seamReturn  = "reorientation"
)

func seams() []string {
	return []string{seamIntent, seamSlots, seamClarify, seamShape, seamBrief, seamReturn}
}

// seam recognises what is asked by the schema's properties. The two seams of
// prose share theirs and are told apart by the draft only one of them shows,
// or by the schema's name where the wire carries one.
func (q question) seam() string {
	var root struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(q.schema, &root) // No schema has no properties.
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := root.Properties[n]; !ok {
				return false
			}
		}
		return true
	}
	switch {
	case has("intent"):
		return seamIntent
	case has("service", "date"), has("date", "time"):
		return seamSlots
	case slices.Contains(seams(), q.name):
		return q.name
	case has("summary_one_line"), has("translation"), has("summary"), has("brief"):
		return seamBrief
	case has("message"):
		return seamReturn
	case has("text") && q.tag("draft") != "":
		return seamClarify
	case has("text"):
		return seamShape
	}
	return ""
}

var customerTag = regexp.MustCompile(`(?is)<customer_message>\s*(.*?)\s*</customer_message>`)

// customer returns what the customer wrote: what stands between the tags of
// the last message that has them, or else the last message of the user.
func (q question) customer() string {
	last := ""
	for _, m := range slices.Backward(q.messages) {
		if m.role != "user" {
			continue
		}
		if found := customerTag.FindAllStringSubmatch(m.text, -1); found != nil {
			var parts []string
			for _, f := range found {
				parts = append(parts, f[1])
			}
			return strings.Join(parts, "\n")
		}
		if last == "" {
			last = m.text
		}
	}
	return strings.TrimSpace(last)
}

// background is everything the model is told that is not the customer's.
func (q question) background() string {
	var b strings.Builder
	b.WriteString(q.system)
	for _, m := range q.messages {
		if m.role == "user" && customerTag.MatchString(m.text) {
			b.WriteString("\n" + customerTag.ReplaceAllString(m.text, ""))
		}
	}
	return b.String()
}

// tag returns what stands between <name> and </name> in the background.
func (q question) tag(name string) string {
	text := q.background()
	_, rest, ok := strings.Cut(text, "<"+name+">\n")
	if !ok {
		return ""
	}
	inside, _, ok := strings.Cut(rest, "</"+name+">")
	if !ok {
		return ""
	}
	return strings.TrimSpace(inside)
}

// label returns what follows "name:" on a line of the background.
func (q question) label(pattern string) string {
	re := regexp.MustCompile(`(?im)^[ \t*#]*` + pattern + `[^\n:]*:[ \t]*(\S[^\n]*)$`)
	if m := re.FindStringSubmatch(q.background()); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// list returns the items listed under "name:", one "- item" a line or
// separated by commas on the same line.
func (q question) list(pattern string) []string {
	var out []string
	head := regexp.MustCompile(`(?i)^[ \t*#]*` + pattern + `[^\n:.]{0,30}:[ \t]*(.*)$`)
	in := false
	for line := range strings.Lines(q.background()) {
		line = strings.TrimSpace(line)
		item, bullet := strings.CutPrefix(line, "- ")
		switch {
		case in && bullet:
			out = append(out, strings.TrimSpace(item))
			continue
		case in && line == "":
			continue
		}
		m := head.FindStringSubmatch(line)
		if in = m != nil && len(out) == 0; in && m[1] != "" {
			for item := range strings.SplitSeq(m[1], ",") {
				out = append(out, strings.TrimSpace(item))
			}
			in = false
		}
	}
	return out
}

var (
	nowLine = regexp.MustCompile(`(?i)\b(?:now|today|leo|date)\b[^\n]{0,40}?(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}))?`)
	nairobi = time.FixedZone("EAT", 3*60*60)
)

// today is the day the prompt names, or else the clock's in Nairobi.
func (q question) today(clock time.Time) time.Time {
	if m := nowLine.FindStringSubmatch(q.background()); m != nil {
		if day, err := time.Parse(time.DateOnly, m[1]); err == nil {
			return day
		}
	}
	local := clock.In(nairobi)
	return time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
}

// think answers a question.
func (s *Simulator) think(q question) string {
	seam := q.seam()
	var f fields
	switch seam {
	case seamIntent:
		f = classify(q)
	case seamSlots:
		f = extract(q, q.today(s.clock.Now()))
	case seamClarify:
		f = clarify(q)
	case seamShape:
		f = shape(q)
	case seamReturn:
		f = returning(q)
	case seamBrief:
		f = brief(q)
	default:
		f = prose(q)
	}
	if len(q.schema) == 0 {
		text, _ := f["text"].(string)
		return text
	}
	return fill(q.schema, f)
}
