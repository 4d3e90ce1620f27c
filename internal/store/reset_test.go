package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/store"
)

func TestResetEmptiesWhatNobodyUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(own, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Reset(dir); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("while it is used: %v, want a conflict", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "control.db")); err != nil {
		t.Errorf("a refused reset removed something: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Reset(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "control.db")); !os.IsNotExist(err) {
		t.Errorf("the control data is still there: %v", err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("a file that is not the store's is gone: %v", err)
	}
	if err := store.Reset(filepath.Join(dir, "nothing")); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}
