package llm_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/ledgertest"
)

func TestP9TheLedgerInMemoryKeepsItsPromises(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(_ *testing.T, real clock.Clock) llm.Ledger { return llm.NewMemory(real) })
}
