package tenant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Thresholds decide when a human is asked for.
type Thresholds struct {
	LowConfIntent        float64 `json:"low_conf_intent_threshold"`
	LowConfIntentTurns   int     `json:"low_conf_intent_consecutive_turns"`
	LowConfSlot          float64 `json:"low_conf_slot_threshold"`
	LowConfSlotReprompts int     `json:"low_conf_slot_max_reprompts"`
	NegativeTurns        int     `json:"sentiment_negative_consecutive_turns"`
	RefundKES            int64   `json:"policy_tripwire_refund_threshold_kes"`
	MaxTurns             int     `json:"budget_breach_max_turns"`
	MaxTokens            int     `json:"budget_breach_max_tokens"`
}

// BaseThresholds returns the thresholds of a vertical.
func BaseThresholds(vertical string) Thresholds {
	t := Thresholds{
		LowConfIntent: 0.6, LowConfIntentTurns: 3, LowConfSlot: 0.55, LowConfSlotReprompts: 1,
		NegativeTurns: 2, RefundKES: 5000, MaxTurns: 30, MaxTokens: 30000,
	}
	switch vertical {
	case "dental", "physio", "medical":
		t.LowConfIntent, t.RefundKES, t.NegativeTurns = 0.7, 1000, 1
	case "tutoring", "legal":
		t.RefundKES = 10000
	}
	return t
}

// ParseThresholds reads a section of thresholds. Nothing, null and {} mean the
// vertical's; anything else must name every threshold with a value that can be,
// and each key that is missing, unknown or bad is a fault with its name.
func ParseThresholds(raw json.RawMessage, vertical string) (Thresholds, []error) {
	t := BaseThresholds(vertical)
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return t, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return t, []error{errors.New("handoff_thresholds: want a mapping of thresholds")}
	}
	if len(given) == 0 {
		return t, nil
	}
	return t, t.read(given)
}

// field is one threshold: where it is kept and what it may be.
type field struct {
	into any // *float64, *int or *int64
	want string
	ok   func() bool
}

func (t *Thresholds) fields() map[string]field {
	share := func(v *float64) field {
		return field{v, "a number between 0 and 1", func() bool { return *v > 0 && *v < 1 }}
	}
	count := func(v *int, least int) field {
		return field{v, fmt.Sprintf("a whole number of at least %d", least), func() bool { return *v >= least }}
	}
	return map[string]field{
		"low_conf_intent_threshold":            share(&t.LowConfIntent),
		"low_conf_intent_consecutive_turns":    count(&t.LowConfIntentTurns, 1),
		"low_conf_slot_threshold":              share(&t.LowConfSlot),
		"low_conf_slot_max_reprompts":          count(&t.LowConfSlotReprompts, 0),
		"sentiment_negative_consecutive_turns": count(&t.NegativeTurns, 1),
		"policy_tripwire_refund_threshold_kes": {&t.RefundKES, "a whole number of at least 0", func() bool { return t.RefundKES >= 0 }},
		"budget_breach_max_turns":              count(&t.MaxTurns, 1),
		"budget_breach_max_tokens":             count(&t.MaxTokens, 1),
	}
}

// read takes every threshold from what is given and names what is wrong.
func (t *Thresholds) read(given map[string]json.RawMessage) []error {
	var faults []error
	fault := func(key, want string) {
		faults = append(faults, fmt.Errorf("handoff_thresholds.%s: want %s", key, want))
	}
	known := t.fields()
	for _, key := range slices.Sorted(maps.Keys(known)) {
		f, value := known[key], given[key]
		switch {
		case len(value) == 0 || bytes.Equal(value, []byte("null")):
			fault(key, "a value: the section must name every threshold or be empty")
		case json.Unmarshal(value, f.into) != nil || !f.ok():
			fault(key, f.want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if _, ok := known[key]; !ok {
			fault(key, "no such threshold")
		}
	}
	return faults
}

// UnmarshalJSON reads stored thresholds, which are whole: a key that is missing
// or not known is refused by its name.
func (t *Thresholds) UnmarshalJSON(raw []byte) error {
	type plain Thresholds
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return fmt.Errorf("read thresholds: %w", err)
	}
	for key := range t.fields() {
		if _, ok := given[key]; !ok {
			return fmt.Errorf("handoff_thresholds.%s: want a value", key)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(t))
}

// Check names every threshold with a value that cannot be.
func (t *Thresholds) Check() error {
	var faults []error
	known := t.fields()
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if f := known[key]; !f.ok() {
			faults = append(faults, fmt.Errorf("handoff_thresholds.%s: want %s", key, f.want))
		}
	}
	return errors.Join(faults...)
}

// The clock of a customer who waits for a person.
const (
	defaultNotice     = 120 * time.Second
	defaultReminder   = 600 * time.Second
	defaultEscalation = 3600 * time.Second
)

// Notice is how long a customer waits before being told that somebody is called.
func (t *Tenant) Notice() time.Duration {
	return cmp.Or(time.Duration(t.NoticeSeconds)*time.Second, defaultNotice)
}

// Reminder is how often admins who have not engaged are reminded.
func (t *Tenant) Reminder() time.Duration {
	return cmp.Or(time.Duration(t.ReminderSeconds)*time.Second, defaultReminder)
}

// Escalation is how long nobody may take over before another admin is asked by
// name.
func (t *Tenant) Escalation() time.Duration {
	return cmp.Or(time.Duration(t.EscalationSeconds)*time.Second, defaultEscalation)
}
