package llm

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/ratiba/ratiba/internal/ids"
)

// Arm is what a conversation was assigned for one role: Stable, or Canary with
// the name of its experiment. A thread stores the arm it was given and gives it
// back with every later call, so that a ramp does not switch it mid-way. The
// empty arm was not assigned yet.
type Arm string

// The arms. A canary of a named experiment is "canary:<experiment>".
const (
	Stable Arm = "stable"
	Canary Arm = "canary"
)

// Alias is the prompt's alias: "canary" for every canary, else "stable".
func (a Arm) Alias() string {
	if a == Canary || strings.HasPrefix(string(a), string(Canary)+":") {
		return string(Canary)
	}
	return string(Stable)
}

// Rollout is how much of a role's conversations a canary gets.
type Rollout struct {
	Percent int `json:"percent"` // 0 to 100; 0 is no canary, also for threads that had one
	// Experiment names what is tried. Empty draws buckets without a salt.
	Experiment string `json:"experiment,omitempty"`
}

// Rollouts are control data. It answers from memory and is safe for concurrent
// use. The zero Rollout means that nothing is tried.
type Rollouts interface {
	Rollout(ctx context.Context, role Role) (Rollout, error)
}

// Arm assigns a conversation. frozen is what its thread stored before, the
// empty Arm for none; the result is what it stores from now on. A frozen arm
// stands, except that a canary becomes stable, and stays so, once its rollout is
// at 0 % or of another experiment.
func (o Rollout) Arm(role Role, tenant ids.TenantID, thread ids.ThreadID, frozen Arm) Arm {
	canary := Canary
	if o.Experiment != "" {
		canary += Arm(":" + o.Experiment)
	}
	switch {
	case frozen == canary && o.Percent > 0:
		return canary
	case frozen != "" || o.Percent <= 0:
		return Stable
	case o.bucket(role, tenant, thread) < o.Percent:
		return canary
	default:
		return Stable
	}
}

// bucket is sha256("tenant:thread") mod 100, or with "role:experiment:" in
// front when the experiment has a name: unsalted, the same conversations would
// be in every trial.
func (o Rollout) bucket(role Role, tenant ids.TenantID, thread ids.ThreadID) int {
	key := string(tenant) + ":" + string(thread)
	if o.Experiment != "" {
		key = string(role) + ":" + o.Experiment + ":" + key
	}
	n := 0
	for _, b := range sha256.Sum256([]byte(key)) {
		n = (n<<8 + int(b)) % 100
	}
	return n
}
