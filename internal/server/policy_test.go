package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/tenant"
)

func TestADefinitionsCeilingsStandInPlaceOfTheDefaults(t *testing.T) {
	t.Parallel()
	standard := llm.DefaultCeilings()
	for name, row := range map[string]struct {
		given tenant.Tenant
		want  llm.Ceilings
	}{
		"a thread's alone": {
			tenant.Tenant{CostSoft: 1, CostHard: money.USD},
			llm.Ceilings{
				Soft: 1, Hard: money.USD, ContactDay: 3 * money.USD, TenantDay: standard.TenantDay, OperationsDay: standard.OperationsDay, EvalDay: standard.EvalDay,
			},
		},
		"all of them": {
			tenant.Tenant{CostSoft: 1, CostHard: 2, CostContactDay: 3, CostTenantDay: 4, CostOperationsDay: 5},
			llm.Ceilings{Soft: 1, Hard: 2, ContactDay: 3, TenantDay: 4, OperationsDay: 5, EvalDay: standard.EvalDay},
		},
	} {
		got, err := server.Policy(&row.given)
		if diff := cmp.Diff(row.want, got.Ceilings); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
