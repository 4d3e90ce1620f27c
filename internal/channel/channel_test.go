package channel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/channel"
)

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New("below")
	e := &channel.Error{Class: channel.PairRate, Code: 131056, Detail: "too many", Cause: cause}
	err := fmt.Errorf("send: %w", e)
	if got, want := e.Error(), "channel: pair_rate (code 131056): too many"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(err, cause) || channel.ClassOf(err) != channel.PairRate {
		t.Errorf("the chain of %v is broken", err)
	}
	if got := channel.ClassOf(nil); got != "" {
		t.Errorf("ClassOf(nil) = %q", got)
	}
	if got := channel.ClassOf(cause); got != channel.Unknown {
		t.Errorf("an error of another kind is %q, want unknown", got)
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	for class, want := range map[channel.Class]bool{
		channel.Rate: true, channel.PairRate: true, channel.Transient: true,
		channel.Permanent: false, channel.Window: false, channel.Undeliverable: false,
		channel.Unknown: false, channel.Defect: false, channel.Auth: false,
	} {
		if got := (&channel.Error{Class: class}).Retryable(); got != want {
			t.Errorf("%s retryable = %v, want %v", class, got, want)
		}
	}
}

func TestAccountHidesItsToken(t *testing.T) {
	t.Parallel()
	a := channel.Account{Provider: channel.Meta, Number: "77", Token: "hush"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, a); strings.Contains(got, "hush") || !strings.Contains(got, "meta:77") {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}
