package origin

import (
	"context"
	"net"
	"time"

	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/trace"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/token"
)

// Run serves requests until ctx ends. It returns once the in-flight requests are done, at the
// latest after Config.Drain. It listens at once, and answers 503 until the store has a release. If
// the current release is damaged and the mirror has no other one, Run returns an error.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return err
	}
	store := cfg.Bucket
	if store == nil {
		bucket, err := objectstore.Address(cfg.Store)
		if err != nil {
			return err
		}
		store = bucket
	}
	m := newMetrics(cfg.Version)
	store = m.meter(store)
	cat, err := catalog.New(catalog.Options{Store: store, Mirror: cfg.Mirror, Poll: cfg.Poll, Prepare: api.Prepare, Log: cfg.Log})
	if err != nil {
		return err
	}
	defer cat.Close()
	m.addCatalog(cat)
	handler := api.New(api.Options{
		Catalog: cat, Tokens: token.NewVerifier(store), CDNURL: cfg.CDNURL, SiteURL: cfg.SiteURL,
		CacheControl: cfg.CacheControl, Version: cfg.Version, Log: cfg.Log,
	})
	tiers, err := cfg.Tiers.open(time.Now())
	if err != nil {
		return err
	}
	access, err := cfg.Admin.Open()
	if err != nil {
		return err
	}
	m.addAdmin(access)
	tracer, err := trace.New(cfg.Trace, "iconedge-origin", cfg.Version, cfg.Log)
	if err != nil {
		return err
	}
	defer tracer.Close()
	m.addTracer(tracer)
	public := m.count(traced(tracer, tiers.admit(handler)))
	s := server{Config: cfg, tiers: tiers, access: access, public: public, private: newAdmin(cat, access, m),
		work: func(ctx context.Context) error { return load(ctx, cfg, cat) }}
	return s.serve(ctx)
}

// load starts the catalog and watches the store until ctx ends.
func load(ctx context.Context, cfg Config, cat *catalog.Catalog) error {
	if err := cat.Start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	if s := cat.Stats(); s.Release != "" {
		cfg.Log.Info("ready", "release", s.Release, "packs", s.Packs)
	}
	cat.Watch(ctx)
	return nil
}

// listeners opens the two listeners. private is nil if the operator wants no admin listener.
func listeners(ctx context.Context, cfg Config) (public, private net.Listener, err error) {
	if public = cfg.Listener; public == nil {
		if public, err = hostport.Listen(ctx, "--listen", cfg.Listen); err != nil {
			return nil, nil, err
		}
	}
	if private = cfg.AdminListener; private == nil && cfg.AdminListen != noListener {
		if private, err = hostport.Listen(ctx, "--admin-listen", cfg.AdminListen); err != nil {
			public.Close()
			return nil, nil, err
		}
	}
	return public, private, nil
}
