package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
)

// ConfirmTime is how long a question to one of the business's people can be
// answered with yes; product clock.
const ConfirmTime = 10 * time.Minute

// Ways a call is granted.
const (
	ByConfirmation = "confirmation" // whoever asks said yes to exactly this
	ByPolicy       = "policy"       // a rule recorded beforehand says so
)

// Grant is why a call that needs one may run. Code makes it of what was
// recorded; nothing a model writes becomes one.
type Grant struct {
	By     string    // ByConfirmation or ByPolicy
	Ref    string    // the confirmation's nonce or the policy's name
	Digest string    // graph.Call.Digest of exactly what was confirmed; policies leave it empty
	Actor  string    // who confirmed: Actor.ID
	Until  time.Time // the confirmation's end; the business's people always have one
}

// Needs reports whether a call of the tool needs a grant: irreversible ones do,
// and writes of the business's people that the tenant wants confirmed.
func (r *Registry) Needs(name string, a Actor, t *tenant.Tenant) bool {
	return r.tools[name].needs(a, t)
}

func (e *entry) needs(a Actor, t *tenant.Tenant) bool {
	switch e.meta.SafetyClass {
	case Irreversible:
		return true
	case Write:
		return a.Business() && t != nil && slices.Contains(t.ConfirmTools, e.def.Name)
	case Read:
	}
	return false
}

// granted reports whether one of the grants is for a call with these arguments,
// now, by whoever makes it.
func (e *entry) granted(env Env, args json.RawMessage, grants []Grant) bool {
	digest := ""
	for _, g := range grants {
		switch g.By {
		case ByConfirmation:
			if digest == "" {
				digest = graph.DigestOf(e.def.Name, args)
			}
			if g.Digest == digest && g.Actor == env.Actor.ID && !g.over(env) {
				return true
			}
		case ByPolicy:
			if slices.Contains(e.meta.Policies, g.Ref) {
				return true
			}
		}
	}
	return false
}

func (g Grant) over(env Env) bool {
	if g.Until.IsZero() {
		return env.Actor.Business() // a customer's question stands as long as its thread
	}
	return env.Now.After(g.Until)
}

// Canonical is the one form of arguments that came as text, so that the order
// of their keys and the space between them decide nothing about a confirmation.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read arguments: something stands behind them")
	}
	return json.Marshal(v)
}
