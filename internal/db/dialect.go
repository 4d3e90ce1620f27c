package db

import (
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Dialect holds what differs between backends. Everything else is one SQL text.
type Dialect struct {
	Name string
	// Types are the tokens migrations are written with.
	Types map[string]string
}

// SQLite is the embedded backend's dialect.
func SQLite() Dialect {
	return Dialect{Name: "sqlite", Types: map[string]string{
		"timestamp": "TEXT", "json": "TEXT", "bool": "INTEGER", "bigint": "INTEGER", "bytes": "BLOB", "real": "REAL",
		"identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
	}}
}

// OverlapMessage is raised by the triggers that stand in for an exclusion
// constraint on SQLite, when a row would overlap another of the same subject.
const OverlapMessage = "ratiba:overlap"

// IsUnique reports whether err is a violated unique constraint.
func IsUnique(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}

// IsOverlap reports whether err is a refused overlap.
func IsOverlap(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(e.Error(), OverlapMessage)
}
