package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Reset removes what a data directory holds, and nothing that is not the
// store's. A directory that a process is using is refused with fault.Conflict
// and stays whole.
func Reset(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"control.db", "control.db-wal", "control.db-shm", "tenants"} {
		if err = os.RemoveAll(filepath.Join(dir, name)); err != nil {
			err = fmt.Errorf("reset data directory: %w", err)
			break
		}
	}
	return errors.Join(err, lock.Close())
}
