package message_test

import (
	"slices"
	"testing"

	"github.com/ratiba/ratiba/internal/message"
)

func TestStatusesAreOrdered(t *testing.T) {
	t.Parallel()
	order := []message.Status{"played", message.StatusSent, message.StatusFailed, message.StatusDelivered, message.StatusRead}
	if !slices.IsSortedFunc(order, func(a, b message.Status) int { return a.Rank() - b.Rank() }) || message.Status("").Rank() != 0 {
		t.Error("want unknown, sent, failed, delivered, read: what was delivered did not fail")
	}
	for i, s := range order {
		if s.Rank() != i {
			t.Errorf("%s has rank %d, want %d", s, s.Rank(), i)
		}
	}
}
