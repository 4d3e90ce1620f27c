package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// A line is a row as JSON: an array of the columns' values in the table's
// order. It is canonical: the same row gives the same bytes on every backend.
// Text, timestamps (as Time stores them) and bytes (base64) are strings; a json
// column is a string of JSON with sorted keys, so that SQL's NULL and JSON's
// null stay apart.

// insertRows is how many rows one statement inserts.
const insertRows = 40

// Lines calls each with every row of a table, in the order that Table.Order
// gives. line is good until each returns.
func Lines(ctx context.Context, q Q, t Table, each func(line []byte) error) error {
	rows, err := q.QueryContext(ctx, "SELECT "+strings.Join(t.Names(), ", ")+" FROM "+t.Name+" ORDER BY "+t.Order(q.Dialect()))
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Name, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		values, err := ScanColumns(rows, t.Columns)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.Name, err)
		}
		for i, v := range values {
			if doc, ok := v.(json.RawMessage); ok {
				values[i] = string(doc)
			}
		}
		line, err := encode(values)
		if err != nil {
			return fmt.Errorf("encode %s: %w", t.Name, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s: %w", t.Name, err)
	}
	return nil
}

// ScanColumns reads a row as values that encoding/json writes readably: nil for
// NULL, canonical json.RawMessage for a json column.
func ScanColumns(row Scanner, columns []Column) ([]any, error) {
	dest, read := make([]any, len(columns)), make([]func() (any, error), len(columns))
	for i, c := range columns {
		dest[i], read[i] = receiver(c.Kind)
	}
	if err := row.Scan(dest...); err != nil {
		return nil, err
	}
	values := make([]any, len(columns))
	for i, c := range columns {
		v, err := read[i]()
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		values[i] = v
	}
	return values, nil
}

// receiver is where a column is scanned to, and what reads it from there.
func receiver(k Kind) (dest any, read func() (any, error)) {
	orNil := func(valid bool, v any) (any, error) {
		if !valid {
			return nil, nil //nolint:nilnil // NULL is a value.
		}
		return v, nil
	}
	switch k {
	case Text:
		var v sql.NullString
		return &v, func() (any, error) { return orNil(v.Valid, clean(v.String)) }
	case BigInt:
		var v sql.NullInt64
		return &v, func() (any, error) { return orNil(v.Valid, v.Int64) }
	case Bool:
		var v sql.NullBool
		return &v, func() (any, error) { return orNil(v.Valid, v.Bool) }
	case Real:
		var v sql.NullFloat64
		return &v, func() (any, error) { return orNil(v.Valid, v.Float64) }
	case Timestamp:
		var v Time
		return &v, func() (any, error) { return v.Value() }
	case Document:
		var v sql.NullString
		return &v, func() (any, error) {
			if !v.Valid {
				return nil, nil //nolint:nilnil // NULL is a value.
			}
			return CanonicalJSON([]byte(v.String))
		}
	case Bytes:
		var v []byte
		return &v, func() (any, error) { return orNil(v != nil, base64.StdEncoding.EncodeToString(v)) }
	}
	return nil, func() (any, error) { return nil, fmt.Errorf("no such kind: %q", k) }
}

// clean is text as every backend keeps it: PostgreSQL stores no NUL and nothing
// but UTF-8.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// CanonicalJSON writes JSON in one form: keys sorted, no space, numbers as plain
// decimals without superfluous zeros, no NUL in text.
func CanonicalJSON(raw []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read json: %w", err)
	}
	return encode(canonical(v))
}

func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[clean(k)] = canonical(e)
		}
		return out
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
		return v
	case json.Number:
		return plainNumber(v)
	case string:
		return clean(v)
	}
	return v
}

// maxExponent bounds how many zeros a number is written out with. Beyond it a
// number keeps the form it has.
const maxExponent = 400

// plainNumber is a number as a plain decimal.
func plainNumber(n json.Number) json.Number {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			return "0"
		}
		return n
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e > maxExponent || e < -maxExponent) || len(digits) > maxExponent {
		return n
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return n
	}
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	places, _ := r.FloatPrec() // exact: the denominator of a decimal has no factors but 2 and 5
	return json.Number(r.FloatString(places))
}

// Insert writes rows that Lines made into a table of the same columns. The
// lines of one call are in one transaction, so they must be few enough for one.
func Insert(ctx context.Context, tx Tx, t Table, lines [][]byte) error {
	for len(lines) > 0 {
		n := 1
		if len(lines) >= insertRows {
			n = insertRows
		}
		args := make([]any, 0, n*len(t.Columns))
		for _, line := range lines[:n] {
			values, err := arguments(t, line)
			if err != nil {
				return fmt.Errorf("read a row of %s: %w", t.Name, err)
			}
			args = append(args, values...)
		}
		if err := Exec(ctx, tx, "insert into "+t.Name, insertion(t, n), args...); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// insertion is the statement that inserts n rows.
func insertion(t Table, n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + t.Name + " (" + strings.Join(t.Names(), ", ") + ") VALUES ")
	place := 1
	for row := range n {
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for column := range t.Columns {
			if column > 0 {
				b.WriteString(", ")
			}
			b.WriteString("$" + strconv.Itoa(place))
			place++
		}
		b.WriteByte(')')
	}
	return b.String()
}

// arguments are a line's values as a statement takes them.
func arguments(t Table, line []byte) ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	if len(raw) != len(t.Columns) {
		return nil, fmt.Errorf("%d values for %d columns", len(raw), len(t.Columns))
	}
	args := make([]any, len(raw))
	for i, c := range t.Columns {
		if string(raw[i]) == "null" {
			continue
		}
		v, err := argument(c.Kind, raw[i])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		args[i] = v
	}
	return args, nil
}

func argument(k Kind, raw json.RawMessage) (any, error) {
	switch k {
	case Text:
		return decoded[string](raw)
	case BigInt:
		return decoded[int64](raw)
	case Bool:
		return decoded[bool](raw)
	case Real:
		return decoded[float64](raw)
	case Timestamp:
		s, err := decoded[string](raw)
		if err != nil {
			return nil, err
		}
		at, err := time.Parse(timeLayout, s)
		return At(at), err
	case Document:
		s, err := decoded[string](raw)
		if err == nil && !json.Valid([]byte(s)) {
			err = fmt.Errorf("no JSON: %.40q", s)
		}
		return s, err
	case Bytes:
		s, err := decoded[string](raw)
		if err != nil {
			return nil, err
		}
		return base64.StdEncoding.DecodeString(s)
	}
	return nil, fmt.Errorf("no such kind: %q", k)
}

func decoded[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}
