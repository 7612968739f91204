// Package origin is the service that answers from a release in the object store: the CDN path, search, icons, packs and licence
// tokens (package api), over a mirror on local disk (package catalog). Edges talk to it; it limits nobody and caches nothing,
// and keeps answering when the store is gone.
//
// Its public listener has /healthz besides; the admin listener has /healthz, /readyz (200 once it can answer, 503 with the reason until
// then and while it is stopping) and /metrics. It logs to Config.Log: addresses, releases, what goes wrong with the store, and
// answers that failed; no tokens.
package origin

import (
	"context"
	"net"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/token"
	"github.com/iconedge/iconedge/trace"
)

// Run answers until ctx ends, and returns when the requests under way then are done, or have had Config.Drain. It listens at
// once: until there is a release it answers 503. A damaged object of the only release that there is, is an error.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.filled()
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
	m.watches(cat)
	handler := api.New(api.Options{
		Catalog: cat, Tokens: token.NewVerifier(store), CDNURL: cfg.CDNURL, CacheControl: cfg.CacheControl, Log: cfg.Log,
	})
	tiers, err := cfg.Tiers.open(time.Now())
	if err != nil {
		return err
	}
	access, err := cfg.Admin.Open()
	if err != nil {
		return err
	}
	m.watchesAdmin(access)
	tracer, err := trace.New(cfg.Trace, "iconedge-origin", cfg.Version, cfg.Log)
	if err != nil {
		return err
	}
	defer tracer.Close()
	m.watchesTraces(tracer)
	return serve(ctx, cfg, tiers, access, m.count(traced(tracer, tiers.admit(handler))), newAdmin(cat, access, m), func(ctx context.Context) error { return load(ctx, cfg, cat) })
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

// listeners opens the two listeners, of which the second may be nil.
func listeners(cfg Config) (public, private net.Listener, err error) {
	if public = cfg.Listener; public == nil {
		if public, err = net.Listen("tcp", cfg.Listen); err != nil {
			return nil, nil, err
		}
	}
	if private = cfg.AdminListener; private == nil && cfg.AdminListen != noListener {
		if private, err = net.Listen("tcp", cfg.AdminListen); err != nil {
			public.Close()
			return nil, nil, err
		}
	}
	return public, private, nil
}
