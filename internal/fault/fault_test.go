package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	const apology = "Something went wrong on our side."
	tests := []struct {
		name           string
		err            error
		code           fault.Code
		sentence, text string
	}{
		{"no error", nil, "", "", ""},
		{"an error of no kind", cause, fault.Internal, apology, "disk full"},
		{"a fault", fault.E(fault.NotFound, "No such booking."), fault.NotFound, "No such booking.", "No such booking."},
		{"a fault with a cause", fault.Wrap(cause, fault.Conflict, "Taken."), fault.Conflict, "Taken.", "Taken.: disk full"},
		{"a wrapped fault", fmt.Errorf("hold: %w", fault.E(fault.Conflict, "Taken.")), fault.Conflict, "Taken.", "hold: Taken."},
		{"an internal fault keeps its words from people", fault.E(fault.Internal, "secret"), fault.Internal, apology, "secret"},
	}
	for _, tt := range tests {
		if got := fault.CodeOf(tt.err); got != tt.code {
			t.Errorf("%s: code %q, want %q", tt.name, got, tt.code)
		}
		if got := fault.SentenceOf(tt.err); got != tt.sentence {
			t.Errorf("%s: sentence %q, want %q", tt.name, got, tt.sentence)
		}
		if tt.err != nil && tt.err.Error() != tt.text {
			t.Errorf("%s: %q, want %q", tt.name, tt.err, tt.text)
		}
	}
	if !errors.Is(fault.Wrap(cause, fault.Conflict, "x"), cause) {
		t.Error("the cause is lost")
	}
}
