package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/understand/when"
)

// Bounds of a file of examples.
const (
	maxLine   = 64 << 10 // bytes
	maxRows   = 200_000
	maxFaults = 10 // told at once
)

// Splits of a set: rules are made on the one and held to account on the other.
const (
	Dev  = "dev"
	Test = "test"
)

// Languages of an example.
const (
	English = "en"
	Swahili = "sw"
	Mixed   = "mixed"
	Other   = "other"
)

var intents = []graph.Intent{ //nolint:gochecknoglobals // a constant table.
	graph.Book, graph.Reschedule, graph.Cancel, graph.MyBookings, graph.Question, graph.Greeting, graph.Thanks, graph.Affirm,
	graph.Deny, graph.Human, graph.Complaint, graph.Feedback, graph.Unknown,
}

var topics = []string{ //nolint:gochecknoglobals // a constant table.
	understand.TopicPrice, understand.TopicHours, understand.TopicLocation, understand.TopicServices, understand.TopicPolicy,
	understand.TopicPayment, understand.TopicOther,
}

var parts = []string{"when", "date", "time", "service", "staff", "any", "choice", "name"} //nolint:gochecknoglobals // a constant table.

// Load reads examples, one JSON object a line; empty lines are skipped. Its
// error names the file and every faulty line, ten at most.
func Load(name string, from io.Reader) ([]Row, error) {
	in := bufio.NewScanner(from)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	var rows []Row
	var faults []error
	seen := map[string]int{}
	line := 0
	for in.Scan() && len(faults) < maxFaults {
		line++
		text := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\ufeff")))
		if len(text) == 0 {
			continue
		}
		if len(rows) == maxRows {
			return nil, fmt.Errorf("%s:%d: more than %d examples in one file", name, line, maxRows)
		}
		row, err := decode(text)
		switch before := seen[row.ID]; {
		case err != nil:
		case row.ID == "":
			row.ID = fmt.Sprintf("line-%d", line)
		case before > 0:
			err = fmt.Errorf("the id %q is taken by line %d", row.ID, before)
		default:
			seen[row.ID] = line
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", name, line, err))
			continue
		}
		rows = append(rows, row)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		faults = append(faults, fmt.Errorf("%s:%d: the line is longer than %d bytes", name, line+1, maxLine))
	case err != nil:
		faults = append(faults, fmt.Errorf("%s: read line %d: %w", name, line+1, err))
	case len(rows) == 0 && len(faults) == 0:
		return nil, fmt.Errorf("%s: holds no examples", name)
	}
	return rows, errors.Join(faults...)
}

func decode(line []byte) (Row, error) {
	var row Row
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&row); err != nil {
		return Row{}, explain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Row{}, errors.New("more than one JSON value in a line")
	}
	if row.Split == "" {
		row.Split = Test
	}
	return row, row.check()
}

// explain says what is wrong with a line in words that lead to the place.
func explain(err error) error {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no valid JSON at byte %d: %w", s.Offset, err)
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the field %q takes no %s", t.Field, t.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON object is not finished: one example stands in one line")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no field %s", field)
	}
	return fmt.Errorf("no valid JSON: %w", err)
}

// oneOf complains about a word outside a closed vocabulary; the empty word is
// always allowed.
func oneOf[T ~string](field string, got T, allowed ...T) error {
	if got == "" || slices.Contains(allowed, got) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("unknown %s %q: use %s", field, cut(string(got)), strings.Join(names, ", "))
}

// check complains about labels that cannot be meant.
func (r Row) check() error {
	if r.Text == "" && r.Tap == "" {
		return errors.New("the text is empty")
	}
	if r.Intent == "" && r.Lang == "" {
		return errors.New("neither intent nor lang is labelled: there is nothing to measure")
	}
	errs := []error{
		oneOf("split", r.Split, Dev, Test), oneOf("lang", r.Lang, English, Swahili, Mixed, Other), oneOf("intent", r.Intent, intents...),
		oneOf("topic", r.Topic, topics...), oneOf("answer", r.Answer, graph.Yes, graph.No), oneOf("business", r.Business, businessNames()...),
		oneOf("fault", r.When.Fault, when.NoSuchDate, when.NoSuchTime, when.Past),
	}
	if r.Topic != "" && r.Intent != graph.Question {
		errs = append(errs, fmt.Errorf("the topic %q belongs to the intent question, not to %q", r.Topic, r.Intent))
	}
	for _, o := range r.Open {
		errs = append(errs, oneOf("open part", o, parts...))
	}
	if r.Expect != nil {
		errs = append(errs, oneOf("intent in expect", r.Expect.Intent, intents...), date("about", r.Expect.About.Date), clock("about", r.Expect.About.Time))
	}
	errs = append(errs, date("date", r.When.Date), date("date_to", r.When.DateTo), clock("time", r.When.Time), clock("from", r.When.From), clock("to", r.When.To))
	for _, o := range r.When.Options {
		errs = append(errs, clock("options", o))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func date(field, s string) error {
	if _, err := time.Parse(time.DateOnly, s); s != "" && err != nil {
		return fmt.Errorf("the %s %q is no day: write 2026-11-25", field, cut(s))
	}
	return nil
}

func clock(field, s string) error {
	if _, err := time.Parse("15:04", s); s != "" && (err != nil || len(s) != 5) {
		return fmt.Errorf("the %s %q is no time: write 15:04", field, cut(s))
	}
	return nil
}

// cut shortens a foreign value for a message.
func cut(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}
