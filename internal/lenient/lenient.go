// Package lenient reads JSON of senders that are careless about types: a
// provider that writes a number where its documentation has a string, and the
// other way round. It imports only the standard library.
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

var errShape = errors.New("want a string or a number")

// String is a JSON string that may also be written as a number or null. NUL is
// dropped, because databases refuse it.
type String string

// UnmarshalJSON implements json.Unmarshaler.
func (s *String) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		var v string
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		*s = String(strings.ReplaceAll(v, "\x00", ""))
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		*s = String(raw)
	case bytes.Equal(raw, []byte("null")):
	default:
		return errShape
	}
	return nil
}
