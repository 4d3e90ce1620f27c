package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mcp"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tool"
)

// counter is where a business's tools are called outside a turn. It implements
// mcp.Counter. The business and the admin are looked up for each call: who is
// removed, or has another role, is so at once.
type counter struct {
	s    *Server
	slug string
}

// Counter is a business's tools for MCP clients, or fault.NotFound.
func (s *Server) Counter(slug string) (mcp.Counter, error) {
	c := counter{s, slug}
	_, err := c.business()
	return c, err
}

// MCP serves admins with a token over streamable HTTP, at /mcp/SLUG.
func (s *Server) MCP() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp/{slug}", mcp.Handler(mcp.HTTPConfig{
		Open: func(r *http.Request) (mcp.Counter, error) { return s.Counter(r.PathValue("slug")) },
		Admin: func(ctx context.Context, r *http.Request, token string) (string, error) {
			b, err := counter{s, r.PathValue("slug")}.business()
			if err != nil {
				return "", err
			}
			admin, err := b.store.MCPAdmin(ctx, token, s.cfg.Clock.Now())
			if err == nil && b.tenant.AdminByPhone(admin) == nil {
				err = errNoAdmin
			}
			return admin, err
		},
		Logger: s.cfg.Logger,
	}))
	return mux
}

var errNoAdmin = fault.E(fault.NotFound, "That phone is no admin of the business.")

func (c counter) business() (*business, error) {
	for _, b := range c.s.all() {
		if b.tenant.Slug == c.slug {
			return b, nil
		}
	}
	return nil, fault.E(fault.NotFound, fmt.Sprintf("There is no business %q here.", c.slug))
}

// desk is a business as one admin calls its tools now.
type desk struct {
	*business

	s        *Server
	registry *tool.Registry
	actor    tool.Actor
	now      time.Time
}

func (c counter) desk(phone string) (desk, error) {
	b, err := c.business()
	if err != nil {
		return desk{}, err
	}
	admin := b.tenant.AdminByPhone(phone)
	if admin == nil {
		return desk{}, errNoAdmin
	}
	return desk{business: b, s: c.s, registry: c.s.apps[b.tenant.App].registry, actor: tool.Admin(*admin), now: c.s.cfg.Clock.Now()}, nil
}

// Definitions implements mcp.Counter.
func (c counter) Definitions(_ context.Context, admin string) ([]json.RawMessage, error) {
	d, err := c.desk(admin)
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for _, name := range d.registry.For(d.actor) {
		raw, _ := d.registry.Definition(name)
		out = append(out, raw)
	}
	return out, nil
}

// Call implements mcp.Counter.
func (c counter) Call(ctx context.Context, admin, name string, args json.RawMessage, token string) (graph.Result, *mcp.Question, error) {
	d, err := c.desk(admin)
	if err != nil {
		return graph.Result{}, nil, err
	}
	canonical, err := tool.Canonical(args)
	if err != nil {
		return graph.Result{Code: tool.InvalidArguments, Sentence: err.Error()}, nil, nil //nolint:nilerr // whoever called can put it right.
	}
	call := graph.Call{Tool: name, Args: canonical}
	meta, known := d.registry.Metadata(name)
	switch {
	case !known:
		return graph.Result{}, nil, fault.E(fault.NotFound, "There is no tool "+name+".")
	case meta.SafetyClass == tool.Read:
		var res graph.Result
		err := d.store.Read(ctx, func(q db.Q) (err error) {
			res, err = d.registry.Read(ctx, d.env(q, nil), call)
			return err
		})
		return res, nil, d.record(ctx, call, res, err)
	case token == "" && d.registry.Needs(name, d.actor, &d.tenant):
		return d.ask(ctx, call)
	}
	res, err := d.write(ctx, call, token)
	return res, nil, err
}

// env is what a handler gets; rows of its effects are written beside its own.
func (d desk) env(q db.Q, tx db.Tx) tool.Env {
	env := tool.Env{Q: q, Now: d.now, IDs: ids.NewSource(ids.NewSeed(), d.now), Tenant: &d.tenant, Actor: d.actor}
	if tx != nil {
		env.Tx = tx
		env.Enqueue = func(ctx context.Context, e tool.Effect) error {
			raw, err := json.Marshal(e.Payload)
			if err != nil {
				return fmt.Errorf("encode effect: %w", err)
			}
			return d.store.Enqueue(ctx, tx, outbox.Row{
				ID: env.IDs.New(), Lane: string(e.Contact) + ":" + e.Lane, Kind: e.Kind, Origin: cmp.Or(e.Origin, outbox.Payment), Key: e.Key,
				ContactID: e.Contact, Payload: raw, DueAt: d.s.real.Now(), ExpiresAt: e.Expires, CreatedAt: d.now,
			})
		}
	}
	return env
}

// ask writes a question down, once a preview says that the call could be done.
func (d desk) ask(ctx context.Context, call graph.Call) (graph.Result, *mcp.Question, error) {
	var shown graph.Result
	err := d.store.Read(ctx, func(q db.Q) (err error) {
		shown, err = d.registry.Preview(ctx, d.env(q, nil), call)
		return err
	})
	if err != nil || !shown.OK {
		return shown, nil, d.record(ctx, call, shown, err)
	}
	until := d.now.Add(tool.ConfirmTime)
	token, err := d.store.AskConfirmation(ctx, d.actor.ID, call.Tool, call.Digest(), d.now, until)
	if err != nil {
		return graph.Result{}, nil, err
	}
	text := fmt.Sprintf("%s for %s, as %s, with %s.", call.Tool, d.tenant.Name, d.actor.Name, call.Args)
	if shown.Data != nil {
		text += " It comes to: " + string(shown.Data)
	}
	return graph.Result{}, &mcp.Question{Token: token, Text: text, Until: until},
		d.record(ctx, call, graph.Result{Code: notConfirmed, Sentence: "asked for a yes"}, nil)
}

const notConfirmed = "not_confirmed"

// maxRecorded bounds the arguments that are kept of one call, in bytes.
const maxRecorded = 64 << 10

// write does a call in one transaction with its confirmation, its effects and
// its record. What is refused leaves nothing but the record.
func (d desk) write(ctx context.Context, call graph.Call, token string) (graph.Result, error) {
	var res graph.Result
	refused := errors.New("refused")
	err := d.store.Write(ctx, func(tx db.Tx) error {
		res = graph.Result{}
		var grants []tool.Grant
		if token != "" {
			until, err := d.store.Redeem(ctx, tx, token, d.actor.ID, call.Digest(), d.now)
			if err != nil {
				return err
			}
			if !until.IsZero() {
				grants = []tool.Grant{{By: tool.ByConfirmation, Ref: "mcp", Digest: call.Digest(), Actor: d.actor.ID, Until: until}}
			}
		}
		var err error
		res, err = d.registry.Write(ctx, d.env(tx, tx), call, grants)
		switch {
		case errors.Is(err, tool.ErrNotConfirmed):
			res = graph.Result{
				Code: notConfirmed, Sentence: "Nothing was done: that yes was for another call, by somebody else, used before, or more than ten minutes old.",
				Next: "make the call without a token, and ask again",
			}
			return refused
		case err != nil:
			return err
		case !res.OK:
			return refused
		}
		return d.store.RecordCall(ctx, tx, d.invocation(call, res))
	})
	if errors.Is(err, refused) {
		return res, d.record(ctx, call, res, nil)
	}
	if err != nil {
		return res, d.record(ctx, call, res, err)
	}
	d.log(ctx, call, res)
	if !d.s.cfg.Offline {
		d.s.sends.Wake(d.tenant.ID, d.s.real.Now())
	}
	return res, nil
}

func (d desk) invocation(call graph.Call, res graph.Result) store.Invocation {
	args, _ := call.Args.(json.RawMessage)
	if len(args) > maxRecorded { // refused, and known by their digest
		args = json.RawMessage(`{"too_large":true}`)
	}
	return store.Invocation{Tool: call.Tool, Digest: call.Digest(), Actor: d.actor.ID, Via: "mcp", Args: args, Result: res, At: d.now}
}

// record writes an invocation down that changed nothing, and logs it.
func (d desk) record(ctx context.Context, call graph.Call, res graph.Result, failure error) error {
	if failure != nil {
		res = graph.Result{Code: "failed"}
		d.s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "tool.failed", slog.String("tenant_id", string(d.tenant.ID)),
			slog.String("tool", call.Tool), slog.String("error", failure.Error()))
	}
	d.log(ctx, call, res)
	return errors.Join(failure, d.store.Write(ctx, func(tx db.Tx) error { return d.store.RecordCall(ctx, tx, d.invocation(call, res)) }))
}

func (d desk) log(ctx context.Context, call graph.Call, res graph.Result) {
	attrs := []slog.Attr{
		slog.String("tenant_id", string(d.tenant.ID)), slog.String("conversation_id", ""), slog.String("turn_id", ""),
		slog.String("tool", call.Tool), slog.String("digest", call.Digest()),
	}
	d.s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "tool.invoked", append(attrs, slog.String("code", res.Code), slog.String("via", "mcp"))...)
	if meta, _ := d.registry.Metadata(call.Tool); meta.AuditRequired && res.OK {
		d.s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.config.changed", append(attrs, slog.String("via", "mcp"))...)
	}
}
