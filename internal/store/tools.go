package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
)

// Invocation is a call of a tool outside a turn, for the record.
type Invocation struct {
	Tool, Digest, Actor, Via string
	Args                     json.RawMessage
	Result                   graph.Result
	At                       time.Time
}

// RecordCall writes an invocation down.
func (t *Tenant) RecordCall(ctx context.Context, tx db.Tx, i Invocation) error {
	return db.Exec(ctx, tx, "record tool call", `INSERT INTO tool_calls (turn_id, thread_id, tool, digest, args, ok, code, result, at, actor, via)
		VALUES ('', '', $1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		i.Tool, i.Digest, db.JSON{V: i.Args}, i.Result.OK, i.Result.Code, db.JSON{V: i.Result}, db.At(i.At), i.Actor, i.Via)
}

// Enqueue writes an effect outside a turn; one whose key is known changes nothing.
func (t *Tenant) Enqueue(ctx context.Context, tx db.Tx, r outbox.Row) error {
	return insertOutbox(ctx, tx, r)
}

// secret draws a token that cannot be guessed.
func secret() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// AskConfirmation writes a question down and returns the token that says yes to
// it, which is stored as a hash only.
func (t *Tenant) AskConfirmation(ctx context.Context, actor, tool, digest string, now, until time.Time) (string, error) {
	token := secret()
	return token, t.Write(ctx, func(tx db.Tx) error {
		if err := db.Exec(ctx, tx, "forget old questions", "DELETE FROM tool_confirmations WHERE expires_at < $1", db.At(now.Add(-24*time.Hour))); err != nil {
			return err
		}
		return db.Exec(ctx, tx, "write question", `INSERT INTO tool_confirmations (token_hash, actor, tool, digest, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6)`, hashed(token), actor, tool, digest, db.At(now), db.At(until))
	})
}

// Redeem uses a token up for exactly that call of that actor, and reports until
// when it held: zero for one that is not, no more, or somebody else's.
func (t *Tenant) Redeem(ctx context.Context, tx db.Tx, token, actor, digest string, now time.Time) (until time.Time, err error) {
	err = db.Gather(ctx, tx, db.Each("redeem token", func(row db.Scanner) error {
		var at db.Time
		err := row.Scan(&at)
		until = at.Time
		return err
	}, `UPDATE tool_confirmations SET used_at = $4 WHERE token_hash = $1 AND actor = $2 AND digest = $3 AND used_at IS NULL AND expires_at >= $4
		RETURNING expires_at`, hashed(token), actor, digest, db.At(now)))
	return until, err
}

// MCPToken is a token by which a client acts as an admin.
type MCPToken struct {
	ID        string    `json:"id"`
	Admin     string    `json:"admin"`
	Label     string    `json:"label"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"`
	Revoked   time.Time `json:"revoked_at"`
}

// NewMCPToken makes a token. It is shown once; its hash is stored.
func (t *Tenant) NewMCPToken(ctx context.Context, admin, label string, now time.Time) (MCPToken, string, error) {
	made := MCPToken{ID: ids.New(now), Admin: admin, Label: label, CreatedAt: now}
	token := "rtb_" + secret() + secret()
	return made, token, t.Write(ctx, func(tx db.Tx) error {
		return db.Exec(ctx, tx, "write token", "INSERT INTO mcp_tokens (id, token_hash, admin, label, created_at) VALUES ($1, $2, $3, $4, $5)",
			made.ID, hashed(token), admin, label, db.At(now))
	})
}

// MCPAdmin returns whose token it is: fault.NotFound for one nobody has or that
// was revoked. That it was used is noted once an hour.
func (t *Tenant) MCPAdmin(ctx context.Context, token string, now time.Time) (string, error) {
	var id, admin string
	var used db.Time
	err := t.Read(ctx, func(q db.Q) error {
		return db.Gather(ctx, q, db.Into("find token", []any{&id, &admin, &used},
			"SELECT id, admin, used_at FROM mcp_tokens WHERE token_hash = $1 AND revoked_at IS NULL", hashed(token)))
	})
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", fault.E(fault.NotFound, "No such token.")
	}
	if now.Sub(used.Time) < time.Hour {
		return admin, nil
	}
	return admin, t.Write(ctx, func(tx db.Tx) error {
		return db.Exec(ctx, tx, "note use", "UPDATE mcp_tokens SET used_at = $2 WHERE id = $1", id, db.At(now))
	})
}

// MCPTokens lists the tokens, newest first.
func (t *Tenant) MCPTokens(ctx context.Context) (out []MCPToken, err error) {
	err = t.Read(ctx, func(q db.Q) error {
		out, err = db.Collect(ctx, q, "list tokens", func(row db.Scanner) (m MCPToken, err error) {
			var made, used, revoked db.Time
			err = row.Scan(&m.ID, &m.Admin, &m.Label, &made, &used, &revoked)
			m.CreatedAt, m.UsedAt, m.Revoked = made.Time, used.Time, revoked.Time
			return m, err
		}, "SELECT id, admin, label, created_at, used_at, revoked_at FROM mcp_tokens ORDER BY id DESC")
		return err
	})
	return out, err
}

// RevokeMCPToken ends a token: fault.NotFound when there is none of that id.
func (t *Tenant) RevokeMCPToken(ctx context.Context, id string, now time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		n, err := db.Changed(ctx, tx, "revoke token", "UPDATE mcp_tokens SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1", id, db.At(now))
		if err == nil && n == 0 {
			err = fault.E(fault.NotFound, "There is no token "+id+".")
		}
		return err
	})
}
