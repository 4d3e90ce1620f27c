package db

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
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
