package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/tool"
)

var (
	owner = tool.Actor{ID: "+254700000001", Role: tenant.Owner}
	staff = tool.Actor{ID: "+254700000002", Role: tenant.Staff}
	noon  = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
)

// roles returns a registry with a tool for each kind of caller.
func roles(t *testing.T) *tool.Registry {
	t.Helper()
	with := func(x tool.Tool, old, text string) tool.Tool {
		x.Metadata = []byte(strings.Replace(string(x.Metadata), old, text, 1))
		return x
	}
	r, err := tool.NewRegistry(
		sound("look", tool.Read), sound("hold", tool.Write), sound("pay", tool.Irreversible),
		with(sound("people", tool.Read), "min_role: staff", "min_role: staff\nbusiness_only: true"),
		with(sound("money", tool.Read), "min_role: staff", "min_role: owner\nbusiness_only: true"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAYesIsOnePersonsForTenMinutes(t *testing.T) {
	t.Parallel()
	r := roles(t)
	call := graph.Call{Tool: "pay", Args: args{Amount: 500}}
	yes := tool.Grant{By: tool.ByConfirmation, Digest: call.Digest(), Actor: owner.ID, Until: noon.Add(tool.ConfirmTime)}
	without := yes
	without.Until = time.Time{}
	tests := []struct {
		name  string
		actor tool.Actor
		at    time.Time
		grant tool.Grant
		err   error
	}{
		{"at once", owner, noon, yes, nil},
		{"at its last instant", owner, noon.Add(tool.ConfirmTime), yes, nil},
		{"after its end", owner, noon.Add(tool.ConfirmTime + time.Microsecond), yes, tool.ErrNotConfirmed},
		{"another's", staff, noon, yes, tool.ErrNotConfirmed},
		{"a customer's", tool.Actor{ID: "asha"}, noon, yes, tool.ErrNotConfirmed},
		{"one of the business's without an end", owner, noon, without, tool.ErrNotConfirmed},
		{"a customer's own, as long as the thread", tool.Actor{ID: owner.ID}, noon, without, nil},
	}
	for _, tt := range tests {
		_, err := r.Write(t.Context(), tool.Env{Actor: tt.actor, Now: tt.at}, call, []tool.Grant{tt.grant})
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}

func TestATenantMayWantWritesConfirmed(t *testing.T) {
	t.Parallel()
	r := roles(t)
	careful := &tenant.Tenant{ConfirmTools: []string{"hold", "look"}}
	call := graph.Call{Tool: "hold", Args: args{Amount: 5}}
	if !r.Needs("hold", owner, careful) || r.Needs("hold", owner, &tenant.Tenant{}) || r.Needs("look", owner, careful) ||
		r.Needs("hold", tool.Actor{}, careful) || !r.Needs("pay", owner, nil) {
		t.Error("what needs a confirmation is not what the class and the tenant say")
	}
	env := tool.Env{Actor: owner, Tenant: careful, Now: noon}
	if _, err := r.Write(t.Context(), env, call, nil); !errors.Is(err, tool.ErrNotConfirmed) {
		t.Errorf("unconfirmed: %v", err)
	}
	grant := tool.Grant{By: tool.ByConfirmation, Digest: call.Digest(), Actor: owner.ID, Until: noon}
	if res, err := r.Write(t.Context(), env, call, []tool.Grant{grant}); err != nil || !res.OK {
		t.Errorf("confirmed: %+v, %v", res, err)
	}
}

func TestRolesReachTheirOwnTools(t *testing.T) {
	t.Parallel()
	r := roles(t)
	for who, want := range map[tool.Actor][]string{
		owner: {"hold", "look", "money", "pay", "people"}, staff: {"hold", "look", "pay", "people"}, {ID: "asha"}: {"hold", "look", "pay"},
		{Role: "king"}: {"hold", "look", "pay"},
	} {
		if diff := cmp.Diff(want, r.For(who)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", who, diff)
		}
		for _, name := range []string{"look", "money", "people"} {
			res, err := r.Read(t.Context(), tool.Env{Actor: who}, graph.Call{Tool: name, Args: args{Amount: 1}})
			if err != nil || res.OK != strings.Contains(strings.Join(want, " "), name) || !res.OK && res.Code != tool.NotPermitted {
				t.Errorf("%s by %q: %+v, %v", name, who.Role, res, err)
			}
		}
	}
}

func TestACallOutsideTheTableIsRefused(t *testing.T) {
	t.Parallel()
	r, err := roles(t).Under(tool.Table{
		{State: map[string][]string{"phase": {"triage", "quote"}}, Drivers: []thread.Driver{thread.AgentDriving}, Tools: []string{"look"}},
		{Tools: []string{"people"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(phase string, d thread.Driver) tool.Place {
		return tool.Place{State: map[string]string{"phase": phase}, Driver: d}
	}
	for _, tt := range []struct {
		name, tool string
		at         tool.Place
		ok         bool
	}{
		{"inside", "look", at("quote", thread.AgentDriving), true},
		{"another value", "look", at("done", thread.AgentDriving), false},
		{"a dimension that is not there", "look", tool.Place{Driver: thread.AgentDriving}, false},
		{"another driver", "look", at("quote", thread.HumanDriving), false},
		{"a row that holds anywhere", "people", tool.Place{}, true},
		{"a tool of no row", "money", at("quote", thread.AgentDriving), false},
	} {
		res, err := r.Read(t.Context(), tool.Env{Actor: owner, At: tt.at}, graph.Call{Tool: tt.tool, Args: args{Amount: 1}})
		if err != nil || res.OK != tt.ok || !tt.ok && (res.Code != tool.NotPermitted || res.Sentence == "") {
			t.Errorf("%s: %+v, %v", tt.name, res, err)
		}
	}
	if _, err := roles(t).Under(tool.Table{{Tools: []string{"fly"}}}); !errors.Is(err, tool.ErrUnknown) {
		t.Errorf("a table with an unknown tool: %v", err)
	}
}

func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	a, err := tool.Canonical(json.RawMessage("{\"b\": 1,\n \"a\": 12345678901234567890}"))
	if err != nil || string(a) != `{"a":12345678901234567890,"b":1}` {
		t.Errorf("got %s, %v", a, err)
	}
	for _, bad := range []string{"", "{", "{}{}"} {
		if _, err := tool.Canonical(json.RawMessage(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestHugeArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	res, err := roles(t).Write(t.Context(), tool.Env{}, graph.Call{Tool: "hold", Args: args{Amount: 1, Note: strings.Repeat("x", 1<<17)}}, nil)
	if err != nil || res.Code != tool.InvalidArguments || len(res.Sentence) > 200 {
		t.Errorf("got %d bytes of %s, %v", len(res.Sentence), res.Code, err)
	}
}

func TestAPreviewReadsAndNeedsNoYes(t *testing.T) {
	t.Parallel()
	pay := sound("pay", tool.Irreversible)
	pay.Preview = tool.Typed(work)
	r, err := tool.NewRegistry(pay, sound("hold", tool.Write))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Preview(t.Context(), tool.Env{Tx: noTx{}}, graph.Call{Tool: "pay", Args: args{Amount: 7}})
	if err != nil || string(res.Data) != `{"amount":7,"may_write":false}` {
		t.Errorf("got %+v, %v", res, err)
	}
	if res, err := r.Preview(t.Context(), tool.Env{}, graph.Call{Tool: "hold", Args: args{Amount: 7}}); err != nil || !res.OK || res.Data != nil {
		t.Errorf("a tool without preview: %+v, %v", res, err)
	}
	if res, _ := r.Preview(t.Context(), tool.Env{}, graph.Call{Tool: "hold", Args: args{}}); res.Code != tool.InvalidArguments {
		t.Errorf("a preview of bad arguments: %+v", res)
	}
	if _, err := pay.Handler.Run(t.Context(), tool.Env{}, json.RawMessage(`{"amount":7}`)); !errors.Is(err, tool.ErrNotConfirmed) {
		t.Errorf("an irreversible handler outside the registry: %v", err)
	}
}

// BenchmarkDispatch is what the registry adds to a tool's own work: policy,
// validation, the confirmation's digest and the audit row's contents.
func BenchmarkDispatch(b *testing.B) {
	r, err := tool.NewRegistry(sound("pay", tool.Irreversible))
	if err != nil {
		b.Fatal(err)
	}
	call := graph.Call{Tool: "pay", Args: args{Amount: 500, Note: "a deposit for a massage on Friday"}}
	grants := []tool.Grant{{By: tool.ByConfirmation, Digest: call.Digest(), Actor: owner.ID, Until: noon}}
	env := tool.Env{Actor: owner, Now: noon, Tenant: &tenant.Tenant{}}
	for b.Loop() {
		res, err := r.Write(b.Context(), env, call, grants)
		if err != nil || !res.OK {
			b.Fatal(res, err)
		}
		row, err := json.Marshal([]any{call.Args, res, call.Digest(), env.Actor.ID})
		if err != nil || len(row) == 0 {
			b.Fatal(err)
		}
	}
}
