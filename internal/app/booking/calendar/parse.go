package calendar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ratiba/ratiba/internal/money"
)

// maxSettings bounds what is read: a definition is written by hand.
const maxSettings = 1 << 20

// Defaults for what a definition leaves out.
const (
	defaultInterval = 30
	defaultNotice   = 60
	defaultHorizon  = 60
	defaultCancel   = 24
	defaultHold     = 10
	defaultHolds    = 2
	defaultOffer    = 15
	defaultNoShow   = 72
	defaultFeedback = 60
)

// defaultReminders are hours before the start.
func defaultReminders() []int { return []int{24, 2} }

// ParseSettings reads the booking section of a definition, YAML or JSON. It is
// strict: an unknown key, a missing value and a reference to nobody are
// faults. The error joins all of them, each with its path. Amounts are whole
// units, or text such as "1500.50"; their currency is set by Settings.In.
func ParseSettings(raw []byte) (Settings, error) {
	if len(raw) > maxSettings {
		return Settings{}, fmt.Errorf("booking settings: larger than %d bytes", maxSettings)
	}
	doc, err := decode(raw)
	if err != nil {
		return Settings{}, fmt.Errorf("booking settings: %w", err)
	}
	p := &parser{}
	s := p.settings(p.object("", doc, "services", "staff", "resources", "blocks", "closures", "policy", "address", "map_link", "parking", "payment", "faqs"))
	if len(p.faults) > 0 {
		return Settings{}, errors.Join(p.faults...)
	}
	return s, nil
}

func decode(raw []byte) (any, error) {
	var doc any
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		dec := json.NewDecoder(bytes.NewReader(trimmed))
		dec.UseNumber()
		return doc, dec.Decode(&doc)
	}
	if err := yaml.UnmarshalWithOptions(raw, &doc, yaml.Strict()); err != nil {
		return nil, err
	}
	return doc, nil
}

// parser walks a decoded document and collects faults.
type parser struct{ faults []error }

func (p *parser) fault(path, format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

// object is a mapping with the path it stands at.
type object struct {
	path string
	m    map[string]any
}

func (o object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (p *parser) object(path string, v any, keys ...string) object {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		p.fault(orRoot(path), "want a mapping")
	}
	var unknown []string
	for k := range m {
		if !slices.Contains(keys, k) {
			unknown = append(unknown, k)
		}
	}
	sort.Strings(unknown)
	o := object{path: path, m: m}
	for _, k := range unknown {
		p.fault(o.at(k), "unknown key; known are %s", strings.Join(keys, ", "))
	}
	return o
}

func orRoot(path string) string {
	if path == "" {
		return "booking settings"
	}
	return path
}

func (p *parser) list(o object, key string) []any {
	v, ok := o.m[key].([]any)
	if !ok && o.m[key] != nil {
		p.fault(o.at(key), "want a list")
	}
	return v
}

func (p *parser) str(o object, key string) string {
	v, ok := o.m[key].(string)
	if !ok && o.m[key] != nil {
		p.fault(o.at(key), "want text")
	}
	return strings.TrimSpace(v)
}

func (p *parser) strs(o object, key string) []string {
	var out []string
	for i, v := range p.list(o, key) {
		s, ok := v.(string)
		if s = strings.TrimSpace(s); !ok || s == "" {
			p.fault(fmt.Sprintf("%s[%d]", o.at(key), i), "want text")
			continue
		}
		out = append(out, s)
	}
	return out
}

func (p *parser) boolean(o object, key string) bool {
	v, ok := o.m[key].(bool)
	if !ok && o.m[key] != nil {
		p.fault(o.at(key), "want true or false")
	}
	return v
}

// number reads a whole number inside limits. A missing one is the default, or
// a fault when the default is below the limits.
func (p *parser) number(o object, key string, least, most, def int) int {
	v, found := o.m[key]
	if !found && def >= least {
		return def
	}
	n, ok := whole(v)
	if !ok || n < int64(least) || n > int64(most) {
		p.fault(o.at(key), "want a whole number from %d to %d", least, most)
		return max(def, least)
	}
	return int(n)
}

func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= 1<<62 //nolint:gosec // bounded in the same line.
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

// maxAmount keeps sums of amounts far from overflow.
const maxAmount = 1_000_000_000

var amountText = regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{2})?$`)

func (p *parser) amount(o object, key string, required bool) money.Amount {
	v, found := o.m[key]
	if !found && !required {
		return money.Amount{}
	}
	if n, ok := whole(v); ok && n >= 0 && n <= maxAmount {
		return money.Amount{Minor: n * 100}
	}
	if s, ok := v.(string); ok && amountText.MatchString(s) {
		units, cents, _ := strings.Cut(s, ".")
		u, _ := strconv.ParseInt(units, 10, 64)     // ten digits at most
		c, _ := strconv.ParseInt("0"+cents, 10, 64) // two digits at most
		if u <= maxAmount {
			return money.Amount{Minor: u*100 + c}
		}
	}
	p.fault(o.at(key), `want whole units such as 1500, or text such as "1500.50"`)
	return money.Amount{}
}

// text reads a text in one or both languages.
func (p *parser) text(o object, key string, required bool) Text {
	v, found := o.m[key]
	if !found {
		if required {
			p.fault(o.at(key), "missing")
		}
		return nil
	}
	in := p.object(o.at(key), v, "en", "sw")
	t := Text{}
	for _, lang := range []string{"en", "sw"} {
		if s := p.str(in, lang); s != "" {
			t[lang] = s
		}
	}
	if len(t) == 0 {
		p.fault(o.at(key), "want a text under en, sw or both")
	}
	return t
}

func minutesOf(n int) time.Duration { return time.Duration(n) * time.Minute }
