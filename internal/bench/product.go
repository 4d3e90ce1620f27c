package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/telemetry"
	"github.com/ratiba/ratiba/internal/tenant"
)

// secret is every secret of the measured businesses.
const secret = "bench-secret"

// databaseEnv is the variable that the measured installation's settings name.
const databaseEnv = "BENCH_DATABASE_URL"

// product is the whole product as server composes it, served on loopback, with
// a stand-in for WhatsApp and no model: code understands alone.
type product struct {
	store   store.Config
	meta    string // where WhatsApp is
	server  *server.Server
	url     string
	tenants []tenant.Tenant
	disk    float64
	busy    float64

	unlisten, end func() error // stop listening; end WhatsApp and remove the data
}

func newProduct(ctx context.Context, opt Options) (p *product, err error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	p = &product{busy: busy()}
	var remove, stop func() error
	if p.store, remove, err = opt.place(); err != nil {
		return nil, err
	}
	p.end = remove
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.disk, err = flushTime(p.store.Dir); err != nil {
		return p, err
	}
	if err = empty(ctx, p.store); err != nil {
		return p, err
	}
	if p.meta, stop, err = listen(ctx, graph()); err != nil {
		return p, err
	}
	p.end = func() error {
		return errors.Join(stop(), empty(context.WithoutCancel(ctx), p.store), remove())
	}
	if err = p.up(ctx, opt); err != nil {
		return p, err
	}
	for n := range opt.Tenants {
		t, err := define(n + 1)
		if err == nil {
			t, err = p.server.Apply(ctx, t)
		}
		if err != nil {
			return p, fmt.Errorf("define business %d: %w", n+1, err)
		}
		p.tenants = append(p.tenants, t)
	}
	return p, nil
}

// up starts the product as serve does.
func (p *product) up(ctx context.Context, opt Options) (err error) {
	p.server, err = server.New(ctx, server.Config{
		Settings: config.Config{
			PublicURL: p.meta, Data: p.store.Dir, WhatsApp: config.WhatsApp{MetaURL: p.meta}, Daraja: config.Daraja{URL: p.meta},
			Database: config.Database{URLEnv: databaseEnv, Connections: connections},
		},
		Secrets: func(name string) string {
			switch {
			case name == databaseEnv && opt.Store == Postgres:
				return opt.DSN
			case name == "" || name == databaseEnv:
				return ""
			}
			return secret
		},
		Logger: telemetry.New(&complaints{}, slog.LevelInfo, redact.New()).Logger(),
	})
	if err != nil {
		return err
	}
	p.server.Start(ctx)
	p.url, p.unlisten, err = listen(ctx, p.server.Handler())
	return err
}

// down stops the product, if it is up.
func (p *product) down() error {
	var errs []error
	if p.unlisten != nil {
		errs = append(errs, p.unlisten())
	}
	if p.server != nil {
		errs = append(errs, p.server.Stop())
	}
	p.unlisten, p.server = nil, nil
	return errors.Join(errs...)
}

func (p *product) close() error { return errors.Join(p.down(), p.end()) }

// stored checks that so many messages are stored.
func (p *product) stored(ctx context.Context, want int) error {
	got := 0
	for _, t := range p.tenants {
		st, err := p.server.Store(t.ID)
		if err == nil {
			err = st.Read(ctx, func(q db.Q) error {
				n, err := messages(ctx, q)
				got += n
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	if got != want {
		return fmt.Errorf("the run produced wrong results: %d messages are stored of %d acknowledged", got, want)
	}
	return nil
}
