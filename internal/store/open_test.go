package store_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/store"
)

// openBeside opens the home of a store that is open.
func openBeside(t *testing.T, b *bundle) (*store.Store, error) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: b.dir, URL: b.url, Alone: true})
	if err == nil {
		_ = s.Close()
	}
	return s, err
}

// open opens a directory that is expected to be refused.
func open(t *testing.T, dir string) (*store.Store, error) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err == nil {
		_ = s.Close()
	} else if fault.CodeOf(err) == "" {
		t.Errorf("%v has no code", err)
	}
	return s, err
}
