package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

// product is this build's version, for those who read an archive later.
func product() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// audited notes that somebody asked for, or changed, a business's data as a
// whole. It names nobody.
func (s *Server) audited(t tenant.Tenant, more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("tenant_id", string(t.ID))}, more...)
}

// ExportTenant writes everything of a business as one archive.
func (s *Server) ExportTenant(ctx context.Context, slug string, w io.Writer) error {
	m, err := s.store.Export(ctx, slug, product(), s.cfg.Clock.Now(), w)
	if err != nil {
		return err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.tenant.exported", s.audited(m.Tenant, slog.Int64("rows", m.Rows()))...)
	return nil
}

// ImportTenant makes a business of an archive and serves it from now on; slug ""
// is the archive's. One that this process could not serve is refused, as Apply
// refuses it.
func (s *Server) ImportTenant(ctx context.Context, archive io.ReaderAt, size int64, slug string) (tenant.Tenant, error) {
	a, err := store.OpenArchive(archive, size)
	if err != nil {
		return tenant.Tenant{}, err
	}
	t := a.Manifest.Tenant
	k, ok := s.apps[t.App]
	if !ok {
		return t, fault.E(fault.Invalid, fmt.Sprintf("The archive is of the app %q, which this build has not.", t.App))
	}
	if err := k.Check(&t); err != nil {
		return t, fault.Wrap(err, fault.Invalid, "The archive's definition is faulty: "+err.Error())
	}
	if !s.cfg.Offline {
		if err := errors.Join(s.lacks(t)...); err != nil {
			return t, fault.Wrap(err, fault.Invalid, "The serving process lacks secrets: "+err.Error())
		}
	}
	reg, err := s.store.Import(ctx, a, slug, s.cfg.Clock.Now())
	if err != nil {
		return t, err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.tenant.imported", s.audited(reg.Tenant, slog.Int64("rows", a.Manifest.Rows()))...)
	return reg.Tenant, s.registered(ctx)
}

// registered serves the tenants as they are registered now and tells the other
// nodes to do the same.
func (s *Server) registered(ctx context.Context) error {
	if err := s.loadChanged(ctx); err != nil {
		return err
	}
	if err := s.hot.Publish(ctx, topicTenants, nil); err != nil {
		// The other nodes look every few seconds.
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "server.publish_failed", slog.String("error", err.Error()))
	}
	return nil
}

// Holdings counts what a deletion of a business would remove.
func (s *Server) Holdings(ctx context.Context, slug string) (store.Counts, error) {
	_, counts, err := s.store.Holdings(ctx, slug)
	return counts, err
}

// DeleteTenant removes a business with everything it has: first it is served no
// more, then its database goes. A deletion that was interrupted is ended with
// the business's id in place of its slug.
func (s *Server) DeleteTenant(ctx context.Context, slug string) error {
	id, err := s.store.Delete(ctx, slug)
	if err != nil {
		// The control data may have forgotten it all the same.
		return errors.Join(err, s.registered(context.WithoutCancel(ctx)))
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.tenant.deleted", s.audited(tenant.Tenant{ID: id})...)
	return s.registered(context.WithoutCancel(ctx))
}

// ExportPerson writes what a business keeps about a person as JSON.
func (s *Server) ExportPerson(ctx context.Context, slug string, who contact.Identity, w io.Writer) error {
	reg, err := s.store.Find(ctx, slug)
	if err != nil {
		return err
	}
	if err := s.store.ExportPerson(ctx, slug, who, s.cfg.Clock.Now(), w); err != nil {
		return err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.person.exported", s.audited(reg.Tenant)...)
	return nil
}

// ErasePerson takes from a business's data what tells who a person is and what
// they wrote.
func (s *Server) ErasePerson(ctx context.Context, slug string, who contact.Identity) (store.Erasure, error) {
	reg, err := s.store.Find(ctx, slug)
	if err != nil {
		return store.Erasure{}, err
	}
	e, err := s.store.ErasePerson(ctx, slug, who, s.cfg.Clock.Now())
	if err != nil {
		return e, err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.person.erased",
		s.audited(reg.Tenant, slog.Int64("rows", e.Counts.Rows()), slog.Int64("mentions", e.Mentions))...)
	return e, nil
}
