package thread_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/thread"
)

func TestAThreadIsOpenUntilItIsClosed(t *testing.T) {
	t.Parallel()
	var th thread.Thread
	if !th.Open() {
		t.Error("a new thread is closed")
	}
	if th.ClosedAt = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC); th.Open() {
		t.Error("a closed thread is open")
	}
}
