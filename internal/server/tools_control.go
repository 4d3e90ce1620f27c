package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/mcp"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/store"
)

// NewMCPToken makes a token by which an MCP client acts as an admin. It is
// returned this once.
func (s *Server) NewMCPToken(ctx context.Context, slug, admin, label string) (store.MCPToken, string, error) {
	b, err := counter{s, slug}.business()
	if err != nil {
		return store.MCPToken{}, "", err
	}
	if b.tenant.AdminByPhone(admin) == nil {
		return store.MCPToken{}, "", errNoAdmin
	}
	made, token, err := b.store.NewMCPToken(ctx, admin, label, s.cfg.Clock.Now())
	if err == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.mcp.token_made", s.audited(b.tenant, slog.String("token_id", made.ID))...)
	}
	return made, token, err
}

// MCPTokens lists a business's tokens.
func (s *Server) MCPTokens(ctx context.Context, slug string) ([]store.MCPToken, error) {
	b, err := counter{s, slug}.business()
	if err != nil {
		return nil, err
	}
	return b.store.MCPTokens(ctx)
}

// RevokeMCPToken ends a token.
func (s *Server) RevokeMCPToken(ctx context.Context, slug, id string) error {
	b, err := counter{s, slug}.business()
	if err != nil {
		return err
	}
	if err = b.store.RevokeMCPToken(ctx, id, s.cfg.Clock.Now()); err == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.mcp.token_revoked", s.audited(b.tenant, slog.String("token_id", id))...)
	}
	return err
}

// PutDocument writes a document that customers' questions are answered from, in
// place of the one of its key; one without text is removed.
func (s *Server) PutDocument(ctx context.Context, slug string, d retrieve.Document) error {
	b, err := counter{s, slug}.business()
	if err != nil {
		return err
	}
	if d.Key == "" || utf8.RuneCountInString(d.Title) > retrieve.MaxTitle || utf8.RuneCountInString(d.Text) > retrieve.MaxDocument || !utf8.ValidString(d.Text) {
		return fault.E(fault.Invalid, fmt.Sprintf("A document has a key, a title of at most %d characters, and at most %d characters of text.", retrieve.MaxTitle, retrieve.MaxDocument))
	}
	return b.store.Write(ctx, func(tx db.Tx) error { return store.Documents{}.Replace(ctx, tx, d, s.cfg.Clock.Now()) })
}

// Documents lists a business's documents.
func (s *Server) Documents(ctx context.Context, slug string) ([]store.Listed, error) {
	b, err := counter{s, slug}.business()
	if err != nil {
		return nil, err
	}
	return b.store.Documents(ctx)
}

// toolRoutes are the commands about MCP and documents.
func (s *Server) toolRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /mcp/tokens/new", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Token, out.Shown, err = s.NewMCPToken(ctx, a.Slug, a.Admin, a.Label)
		return out, err
	}))
	mux.HandleFunc("POST /mcp/tokens", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Tokens, err = s.MCPTokens(ctx, a.Slug)
		return out, err
	}))
	mux.HandleFunc("POST /mcp/tokens/revoke", answers(func(ctx context.Context, a asked) (told, error) {
		return told{}, s.RevokeMCPToken(ctx, a.Slug, a.ID)
	}))
	mux.HandleFunc("POST /documents/put", answers(func(ctx context.Context, a asked) (told, error) {
		return told{}, s.PutDocument(ctx, a.Slug, a.Document)
	}))
	mux.HandleFunc("POST /documents", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Documents, err = s.Documents(ctx, a.Slug)
		return out, err
	}))
	mux.HandleFunc("POST /mcp/stdio", s.controlMCP)
}

// controlMCP makes the connection of a command the stdio of an MCP session.
func (s *Server) controlMCP(w http.ResponseWriter, r *http.Request) {
	unhurried(w)
	c, err := s.Counter(r.URL.Query().Get("slug"))
	admin := r.URL.Query().Get("admin")
	if err == nil {
		_, err = c.Definitions(r.Context(), admin)
	}
	if err != nil {
		answer(w, told{}, err)
		return
	}
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the caller is gone
	}
	s.tasks.Go(func() {
		defer func() { _ = conn.Close() }()
		err := mcp.Stdio(context.WithoutCancel(r.Context()), c, admin, io.NopCloser(buffered.Reader), conn)
		if err != nil {
			s.cfg.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelDebug, "mcp.ended", slog.String("error", err.Error()))
		}
	})
}

// BridgeMCP speaks MCP at a pair of streams by way of the process that serves a
// data directory.
func BridgeMCP(ctx context.Context, dir, slug, admin string, in io.Reader, out io.Writer) error {
	conn, err := (&net.Dialer{Timeout: controlTime}).DialContext(ctx, "unix", filepath.Join(dir, controlSocket))
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "The process that uses "+dir+" does not answer commands.")
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ratiba/mcp/stdio?slug="+url.QueryEscape(slug)+"&admin="+url.QueryEscape(admin), http.NoBody)
	if err != nil {
		return fmt.Errorf("ask the serving process: %w", err)
	}
	if err := req.Write(conn); err != nil {
		return fmt.Errorf("ask the serving process: %w", err)
	}
	buffered := bufio.NewReader(conn)
	res, err := http.ReadResponse(buffered, req)
	if err != nil {
		return fmt.Errorf("read the serving process's answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusSwitchingProtocols {
		var failed told
		if err := into(&failed)(reply{body: res.Body}); err != nil {
			return err
		}
		return fault.E(failed.Code, failed.Error)
	}
	go func() { // ends with the streams: this process is about to be over
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(*net.UnixConn); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(out, buffered); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("the serving process broke off: %w", err)
	}
	return nil
}

// NewMCPToken is Server.NewMCPToken.
func (r *Remote) NewMCPToken(ctx context.Context, slug, admin, label string) (store.MCPToken, string, error) {
	var out told
	err := r.ask(ctx, "/mcp/tokens/new", asked{Slug: slug, Admin: admin, Label: label}, into(&out))
	return out.Token, out.Shown, err
}

// MCPTokens is Server.MCPTokens.
func (r *Remote) MCPTokens(ctx context.Context, slug string) ([]store.MCPToken, error) {
	var out told
	err := r.ask(ctx, "/mcp/tokens", asked{Slug: slug}, into(&out))
	return out.Tokens, err
}

// RevokeMCPToken is Server.RevokeMCPToken.
func (r *Remote) RevokeMCPToken(ctx context.Context, slug, id string) error {
	return r.ask(ctx, "/mcp/tokens/revoke", asked{Slug: slug, ID: id}, into(&told{}))
}

// PutDocument is Server.PutDocument.
func (r *Remote) PutDocument(ctx context.Context, slug string, d retrieve.Document) error {
	return r.ask(ctx, "/documents/put", asked{Slug: slug, Document: d}, into(&told{}))
}

// Documents is Server.Documents.
func (r *Remote) Documents(ctx context.Context, slug string) ([]store.Listed, error) {
	var out told
	err := r.ask(ctx, "/documents", asked{Slug: slug}, into(&out))
	return out.Documents, err
}
