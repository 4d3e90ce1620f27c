package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// How a request wants its tools used.
const (
	useAuto = "auto"
	useNone = "none"
	useAny  = "any"
	useOne  = "one"
)

// offer is a tool a request offers.
type offer struct {
	name   string
	about  string
	schema json.RawMessage
}

// toolbox is what a request says about tools.
type toolbox struct {
	offers []offer
	use    string // useAuto when the request does not say
	one    string // the tool of useOne
}

// toolUse is the model's wish to have a tool called.
type toolUse struct {
	name      string
	arguments string // a JSON object
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// add takes a tool as either wire describes it.
func (b *toolbox) add(name, about string, schema json.RawMessage, rules schemaRules) error {
	switch {
	case !toolName.MatchString(name):
		return fmt.Errorf("name: String should match pattern '%s'", toolName)
	case b.find(name) != nil:
		return fmt.Errorf("tool names must be unique, %q is not", name)
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
		rules.off = true
	}
	if err := checkSchema(schema, rules); err != nil {
		return err
	}
	b.offers = append(b.offers, offer{name: name, about: about, schema: schema})
	return nil
}

func (b *toolbox) find(name string) *offer {
	i := slices.IndexFunc(b.offers, func(o offer) bool { return o.name == name })
	if i < 0 {
		return nil
	}
	return &b.offers[i]
}

// check refuses a choice that the offers cannot meet.
func (b *toolbox) check() error {
	switch {
	case b.use != useNone && b.use != useAuto && len(b.offers) == 0:
		return errors.New("tool_choice is only allowed when tools are specified")
	case b.use == useOne && b.find(b.one) == nil:
		return fmt.Errorf("tool_choice names %q, which is not among the tools", b.one)
	}
	return nil
}

// beside is the tool call that stands in an answer. A refusal with one beside it
// is the case a client must not act on; faultTools has one that nobody offered.
func (s *Simulator) beside(q question, programmed string) (toolUse, bool) {
	if programmed != "" && programmed != faultRefusal && programmed != faultTools {
		return toolUse{}, false
	}
	wish, ok := s.reach(q)
	if !ok && programmed == faultTools {
		return toolUse{name: "create_booking", arguments: `{"service":"massage"}`}, true
	}
	return wish, ok
}

// reach decides whether a tool is called, and with what. Left to itself the
// model calls the tool whose name and description share most words with what
// was said, and none right after a tool has answered.
func (s *Simulator) reach(q question) (toolUse, bool) {
	var chosen *offer
	switch q.tools.use {
	case useNone:
		return toolUse{}, false
	case useOne:
		chosen = q.tools.find(q.tools.one)
	default:
		answered := len(q.messages) > 0 && q.messages[len(q.messages)-1].role == roleTool
		if !answered || q.tools.use == useAny {
			chosen = q.likely()
		}
		if chosen == nil && q.tools.use == useAny {
			chosen = &q.tools.offers[0]
		}
	}
	if chosen == nil {
		return toolUse{}, false
	}
	return toolUse{name: chosen.name, arguments: fill(chosen.schema, q.arguments(s.clock.Now()))}, true
}

// likely is the tool that what was said speaks of, nil when there is none.
func (q question) likely() *offer {
	said := make(map[string]bool)
	for _, t := range tokenize(q.customer()) {
		if len(t) > 3 {
			said[t] = true
		}
	}
	var best *offer
	most := 0
	for i, o := range q.tools.offers {
		shared := make(map[string]bool)
		for _, t := range tokenize(strings.ReplaceAll(o.name, "_", " ") + " " + o.about) {
			if said[t] {
				shared[t] = true
			}
		}
		if len(shared) > most {
			best, most = &q.tools.offers[i], len(shared)
		}
	}
	return best
}

// arguments are values for properties of usual names.
func (q question) arguments(now time.Time) fields {
	said := q.customer()
	today := q.today(now)
	w := readWhen(said, today)
	service, _ := pick(said, q.list(servicesHead))
	staff, _ := pickStaff(said, q.list(staffHead))
	out := fields{"reason": said, "text": said, "query": said, "question": said, "message": said}
	for name, value := range map[string]string{
		"service": service, "service_id": service, "staff": staff, "staff_id": staff,
		"date": w.date, "from": w.date, "to": w.date, "time": w.time, "time_from": w.from, "time_to": w.to,
		"name": nameGiven(said, ""),
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}
