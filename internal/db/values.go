package db

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// timeLayout has a fixed width, so that text order is time order.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is an instant as a column: UTC, microseconds, NULL when zero. It is
// stored as fixed-width text on SQLite, which a timestamp column of
// PostgreSQL reads as well.
type Time struct{ time.Time } //nolint:recvcheck // driver.Valuer is asked of values, sql.Scanner fills a pointer.

// At makes a column value of an instant.
func At(t time.Time) Time { return Time{t} }

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil //nolint:nilnil // NULL is what the driver wants.
	}
	return t.UTC().Format(timeLayout), nil
}

// Scan implements sql.Scanner.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		t.Time = time.Time{}
	case time.Time:
		t.Time = v.UTC()
	case string:
		parsed, err := time.Parse(timeLayout, v)
		if err != nil {
			return fmt.Errorf("scan time: %w", err)
		}
		t.Time = parsed
	default:
		return fmt.Errorf("scan time: cannot read %T", src)
	}
	return nil
}

// JSON is a column that holds any value as JSON. Never hash what comes back:
// PostgreSQL reorders keys.
type JSON struct{ V any }

// Value implements driver.Valuer. A nil value is NULL.
func (j JSON) Value() (driver.Value, error) {
	if j.V == nil {
		return nil, nil //nolint:nilnil // NULL is what the driver wants.
	}
	b, err := json.Marshal(j.V)
	if err != nil {
		return nil, fmt.Errorf("encode json column: %w", err)
	}
	return string(b), nil
}

// Scan implements sql.Scanner: V must be a pointer. NULL leaves it untouched.
func (j JSON) Scan(src any) error {
	var b []byte
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		b = []byte(v)
	case []byte:
		b = v
	default:
		return fmt.Errorf("scan json: cannot read %T", src)
	}
	if err := json.Unmarshal(b, j.V); err != nil {
		return fmt.Errorf("scan json: %w", err)
	}
	return nil
}

// storable makes JSON text that jsonb takes of JSON text: an escaped NUL and
// half of a surrogate pair become the replacement character, as encoding/json
// reads the latter.
func storable(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+1 >= len(text) {
			break
		}
		out.WriteString(text[:at])
		text = text[at:]
		first, second := escaped(text), rune(-1)
		n := 2 // an escape of one character; an escaped backslash is one as well
		if first >= 0 {
			n = 6
			second = escaped(text[6:])
		}
		switch {
		case utf16.IsSurrogate(first) && utf16.DecodeRune(first, second) != utf8.RuneError:
			n = 12
			out.WriteString(text[:n])
		case first == 0 || utf16.IsSurrogate(first):
			out.WriteString(`\ufffd`)
		default:
			out.WriteString(text[:n])
		}
		text = text[n:]
	}
	return out.String() + text
}

// escaped is the code that text begins with as \uXXXX, -1 when it does not.
func escaped(text string) rune {
	if len(text) < 6 || text[:2] != `\u` {
		return -1
	}
	code, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(code)
}
