package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

// Replay is a stored turn that was computed again, for people to read.
type Replay struct {
	Turn   ids.TurnID      `json:"turn_id"`
	Thread ids.ThreadID    `json:"conversation_id"`
	Read   json.RawMessage `json:"read"`    // a turn.Read
	Result json.RawMessage `json:"decided"` // a turn.Decision
	// Settings and Now are the versions of the business's definition that the turn
	// was computed from and that it was replayed with.
	Settings int64 `json:"settings"`
	Now      int64 `json:"settings_now"`
	// Differs has a line for each difference from what was committed; none when it
	// is the same, bit for bit.
	Differs []string `json:"differs,omitempty"`
}

// ReplayTurn computes a stored turn again from what was recorded of it, without
// network, and holds it against what was committed. Unless plain, what people
// wrote is left out and what could name them is masked.
func (s *Server) ReplayTurn(ctx context.Context, slug string, id ids.TurnID, plain bool) (Replay, error) {
	reg, err := s.store.Find(ctx, slug)
	if err != nil {
		return Replay{}, err
	}
	b, err := s.business(reg.Tenant.ID)
	if err != nil {
		return Replay{}, err
	}
	was, err := b.store.Committed(ctx, id)
	if err != nil {
		return Replay{}, err
	}
	again, err := s.engine.Replay(ctx, b.turns, was.Inputs)
	if errors.Is(err, turn.ErrErased) {
		return Replay{}, fault.Wrap(err, fault.NotFound, "What this turn was computed from was erased with a person's data, so it cannot be replayed.")
	}
	if err != nil {
		return Replay{}, fmt.Errorf("replay turn %s: %w", id, err)
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.turn.replayed", s.audited(reg.Tenant, slog.String("turn_id", string(was.ID)), slog.Bool("plain", plain))...)
	out := Replay{Turn: was.ID, Thread: again.Thread, Settings: again.Settings, Now: b.tenant.Version, Differs: differences(again, was)}
	hide := func(text string) string { return text }
	if !plain {
		hide = mask(again.Read)
		again.Read = unsaid(again.Read)
	}
	for i, d := range out.Differs {
		if i > 0 { // the first is digests alone
			out.Differs[i] = hide(d)
		}
	}
	for _, part := range []struct {
		from any
		into *json.RawMessage
	}{{again.Read, &out.Read}, {again.Decided, &out.Result}} {
		if *part.into, err = shown(part.from, hide); err != nil {
			return Replay{}, err
		}
	}
	return out, nil
}

// differences holds a replay against what was committed. What can be compared is
// named; the digest covers the rest.
func differences(again turn.Replayed, was store.Committed) []string {
	if again.Digest == was.Digest {
		return nil
	}
	out := []string{fmt.Sprintf("the digest of the commit was %s and is %s", was.Digest, again.Digest)}
	out = append(out, sendDiffers(again.Decided.Outbox, was.Sent)...)
	out = append(out, writeDiffers(again.Decided.Writes, again.Read.Results, was.Tools)...)
	after := again.Decided.After
	if after == nil || was.Thread == nil || was.Thread.ID != after.ID {
		return out
	}
	expected := *after
	if expected.Version++; was.Thread.Version != expected.Version {
		return append(out, "the conversation went on since, so its state then cannot be compared")
	}
	for _, c := range []struct {
		what     string
		now, was any
	}{
		{"node", expected.Node, was.Thread.Node},
		{"state", expected.State, was.Thread.State},
		{"driver", expected.Driver, was.Thread.Driver},
		{"handoff", expected.Handoff, was.Thread.Handoff},
		{"pending question", expected.Pending, was.Thread.Pending},
		{"counters", expected.Counters, was.Thread.Counters},
		{"arms", expected.Arms, was.Thread.Arms},
	} {
		out = append(out, unequal("the conversation's "+c.what, c.was, c.now)...)
	}
	return out
}

// sendDiffers compares what the turn itself sends.
func sendDiffers(now []outbox.Row, was []store.Sent) []string {
	var out []string
	for _, row := range now {
		i := slices.IndexFunc(was, func(s store.Sent) bool { return s.ID == row.ID })
		if i < 0 {
			out = append(out, fmt.Sprintf("%s %s was not sent, and is: %s", row.Kind, row.ID, row.Payload))
			continue
		}
		out = append(out, unequal(row.Kind+" "+row.ID, was[i].Payload, row.Payload)...)
	}
	for _, s := range was {
		if s.Kind == outbox.SendMessage && !slices.ContainsFunc(now, func(row outbox.Row) bool { return row.ID == s.ID }) {
			out = append(out, fmt.Sprintf("%s %s was sent, and is not: %s", s.Kind, s.ID, s.Payload))
		}
	}
	return out
}

// writeDiffers compares the calls of tools that write: reads are what a replay
// starts from.
func writeDiffers(now []graph.Write, reads graph.Results, was []store.Invoked) []string {
	var out []string
	for _, w := range now {
		if !slices.ContainsFunc(was, func(i store.Invoked) bool { return i.Tool == w.Tool && i.Digest == w.Digest() }) {
			out = append(out, fmt.Sprintf("%s (%s) was not called, and is", w.Tool, w.Digest()))
		}
	}
	for _, i := range was {
		if _, read := reads[i.Digest]; !read && !slices.ContainsFunc(now, func(w graph.Write) bool { return w.Tool == i.Tool && w.Digest() == i.Digest }) {
			out = append(out, fmt.Sprintf("%s (%s) was called, and is not", i.Tool, i.Digest))
		}
	}
	return out
}

func unequal(what string, was, now any) []string {
	a, b := canonical(was), canonical(now)
	if bytes.Equal(a, b) {
		return nil
	}
	return []string{fmt.Sprintf("%s was %s and is %s", what, a, b)}
}

// canonical is a value as JSON with its keys in order: databases space and order
// JSON anew.
func canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return raw
	}
	raw, _ = json.Marshal(value) // was JSON
	return raw
}

// longWords is from how many characters on a customer's words are looked for
// everywhere: shorter ones, such as a yes, stand in many places of their own.
const longWords = 8

// mask hides names, numbers and the customer's own words in a text.
func mask(read turn.Read) func(string) string {
	names := []string{read.Contact.Name, read.Contact.Profile, read.Contact.PayerPhone, read.Understood.Name}
	quoted := func(text string) {
		for words := range strings.Lines(text) {
			if words = strings.TrimSpace(words); utf8.RuneCountInString(words) >= longWords {
				names = append(names, words)
			}
		}
	}
	for _, it := range read.Items {
		if it.Message != nil {
			names = append(names, it.Message.Profile)
			quoted(it.Message.Text)
		}
	}
	for _, l := range read.Recent {
		if l.Direction == "in" {
			quoted(l.Text)
		}
	}
	return redact.New(names...).Text
}

// unsaid takes out what people wrote.
func unsaid(read turn.Read) turn.Read {
	hidden := func(text string) string {
		if text == "" {
			return ""
		}
		return fmt.Sprintf("<%d characters>", utf8.RuneCountInString(text))
	}
	read.Items = slices.Clone(read.Items)
	for i, it := range read.Items {
		if it.Message == nil {
			continue
		}
		m := *it.Message
		m.Text, m.Detail, m.Profile, m.Place, m.Cards = hidden(m.Text), hidden(m.Detail), hidden(m.Profile), nil, nil
		if m.Attachment != nil {
			m.Attachment = &message.Attachment{}
		}
		read.Items[i].Message = &m
	}
	read.Recent = slices.Clone(read.Recent)
	for i, l := range read.Recent {
		if l.Direction == "in" {
			read.Recent[i].Text = hidden(l.Text)
		}
	}
	read.Understood.Text, read.Understood.Name, read.Understood.Phone = hidden(read.Understood.Text), hidden(read.Understood.Name), hidden(read.Understood.Phone)
	read.Contact.Name, read.Contact.Profile, read.Contact.Identities = hidden(read.Contact.Name), hidden(read.Contact.Profile), nil
	return read
}

// shown is a value as JSON, every text in it as hide has it. Instants and ids
// stay readable.
func shown(v any, hide func(string) string) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("show a replay: %w", err)
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("show a replay: %w", err)
	}
	raw, err = json.Marshal(hideIn(value, hide))
	if err != nil {
		return nil, fmt.Errorf("show a replay: %w", err)
	}
	return raw, nil
}

func hideIn(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return v
		}
		return hide(v)
	case []any:
		for i := range v {
			v[i] = hideIn(v[i], hide)
		}
	case map[string]any:
		for k := range v {
			v[k] = hideIn(v[k], hide)
		}
	}
	return v
}
