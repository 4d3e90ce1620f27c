// Package golden replays conversations as they must go, through the real engine
// on a real store, without a network.
//
// A script is a text file: a head, then moves of people and what must follow
// from each. Every script has a business of its own, freshly made, and a clock
// that stands until the script moves it. WhatsApp, the payment provider and the
// model's vendor are the script itself: what is not in it does not happen. The
// package belongs to the laboratory.
package golden

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Script is one conversation.
type Script struct {
	ID       string
	About    string
	Tenant   string // the business's definition, by name
	Language string // en, sw or mixed: what the customer writes in
	Now      time.Time
	Metrics  map[string]float64 // thresholds, see Metrics
	Moves    []Move
}

// Metrics that a script may set a threshold for, from 0 to 1.
const (
	MetricSlots = "slots" // share of the "understood" lines that hold exactly
	MetricTier0 = "tier0" // share of the customer's turns that no model was asked in
)

// Move is one thing that happens, and what must follow from it.
type Move struct {
	Line   int
	Who    string // customer, customer2, admin, admin2; "" for what the world does
	Verb   string
	Text   string
	Checks []Check
}

// Check is one thing that must hold after a move.
type Check struct {
	Line int
	Verb string
	Text string
}

// Verbs of moves. Those of people follow their name.
const (
	Writes   = ">"        // customer> text; with | between them several messages of one burst
	Taps     = "taps>"    // customer taps> beginning of a title
	Pays     = "pays>"    // customer pays> nothing, or another amount
	Fails    = "fails>"   // customer fails> how: cancelled, wrong_pin, timeout, insufficient, expired, busy
	Wait     = "wait>"    // wait> a duration; what is due meanwhile happens at its time
	Model    = "model>"   // model> schema JSON: the next answer of the model to that question
	NotMoved = "nothing>" // only checks
)

// checks are the verbs of what must hold.
var checks = []string{ //nolint:gochecknoglobals // a constant table.
	"says", "lacks", "offers", "silent", "understood", "asked", "at", "driver", "language", "tools", "prompt", "booking", "bookings", "task",
	"admin hears", "admin2 hears", "admin silent",
}

// start is when scripts begin that do not say: a Monday, half past nine in Nairobi.
var start = time.Date(2026, 11, 23, 6, 30, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant.

// Load reads every *.txt of a folder, by id. All faults are reported at once.
func Load(files fs.FS, dir string) ([]Script, error) {
	names, err := fs.Glob(files, path.Join(dir, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("list scripts: %w", err)
	}
	var out []Script
	var errs []error
	seen := map[string]string{}
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		for _, part := range split(raw) {
			s, err := parse(part.text, part.line)
			if err == nil && seen[s.ID] != "" {
				err = fmt.Errorf("id %s is taken by %s", s.ID, seen[s.ID])
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				continue
			}
			seen[s.ID] = name
			out = append(out, s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, errors.Join(errs...)
}

// section is one script of a file, and the line before it.
type section struct {
	text []byte
	line int
}

// split cuts a file at its lines of equals signs, so that related
// conversations may share one.
func split(raw []byte) (out []section) {
	var cur section
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		if bytes.HasPrefix(line, []byte("====")) {
			out = append(out, cur)
			cur = section{line: n}
			continue
		}
		cur.text = append(cur.text, line...)
	}
	return append(out, cur)
}

// parse reads one script. base is the number of lines before it in its file.
func parse(raw []byte, base int) (Script, error) {
	s := Script{Now: start, Metrics: map[string]float64{}}
	head := true
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for n := base + 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case line == "" && s.ID != "":
			head = false
			continue
		case line == "":
			continue
		}
		var err error
		if head {
			err = s.head(line)
		} else {
			err = s.line(line, n)
		}
		if err != nil {
			return s, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return s, fmt.Errorf("read script: %w", err)
	}
	return s, s.complete()
}

func (s *Script) complete() error {
	switch {
	case s.ID == "":
		return errors.New("a script without an id")
	case s.Tenant == "":
		return fmt.Errorf("%s: tenant is missing", s.ID)
	case s.Language != "en" && s.Language != "sw" && s.Language != "mixed":
		return fmt.Errorf("%s: language is %q, want en, sw or mixed", s.ID, s.Language)
	case len(s.Moves) == 0:
		return fmt.Errorf("%s: nothing happens", s.ID)
	}
	return nil
}

func (s *Script) head(line string) error {
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("want key: value in the head, got %q", line)
	}
	value = strings.TrimSpace(value)
	switch key {
	case "id":
		s.ID = value
	case "about":
		s.About = value
	case "tenant":
		s.Tenant = value
	case "language":
		s.Language = value
	case "now":
		at, err := time.ParseInLocation("2006-01-02 15:04", value, nairobi)
		if err != nil {
			return fmt.Errorf("now: want 2006-01-02 15:04, got %q", value)
		}
		s.Now = at.UTC()
	case "metrics":
		for f := range strings.FieldsSeq(value) {
			name, limit, _ := strings.Cut(f, "=")
			v, err := strconv.ParseFloat(limit, 64)
			if err != nil || v < 0 || v > 1 || name != MetricSlots && name != MetricTier0 {
				return fmt.Errorf("metrics: want %s=0..1 or %s=0..1, got %q", MetricSlots, MetricTier0, f)
			}
			s.Metrics[name] = v
		}
	default:
		return fmt.Errorf("unknown key %q in the head", key)
	}
	return nil
}

// nairobi is the zone that times in heads are written in.
var nairobi = time.FixedZone("EAT", 3*60*60) //nolint:gochecknoglobals // a constant.

func (s *Script) line(line string, n int) error {
	if at := strings.Index(line, ">"); at >= 0 && !isCheck(line) {
		m := Move{Line: n, Text: strings.TrimSpace(line[at+1:])}
		words := strings.Fields(line[:at])
		switch {
		case len(words) == 1 && isPerson(words[0]):
			m.Who, m.Verb = words[0], Writes
		case len(words) == 2 && isPerson(words[0]):
			m.Who, m.Verb = words[0], words[1]+">"
		case len(words) == 1:
			m.Verb = words[0] + ">"
		}
		switch m.Verb {
		case Writes, Taps, Pays, Fails, Wait, Model, NotMoved:
		default:
			return fmt.Errorf("unknown move %q", line[:at+1])
		}
		s.Moves = append(s.Moves, m)
		return nil
	}
	if !isCheck(line) {
		return fmt.Errorf("neither a move nor a check: %q", line)
	}
	if len(s.Moves) == 0 {
		return errors.New("a check before the first move")
	}
	verb, text, _ := strings.Cut(line, ":")
	last := &s.Moves[len(s.Moves)-1]
	last.Checks = append(last.Checks, Check{Line: n, Verb: verb, Text: strings.TrimSpace(text)})
	return nil
}

func isPerson(word string) bool {
	switch word {
	case "customer", "customer2", "admin", "admin2":
		return true
	}
	return false
}

func isCheck(line string) bool {
	verb, _, _ := strings.Cut(line, ":")
	return slices.Contains(checks, verb)
}
