package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin"
	"github.com/iconedge/iconedge/origin/release"
)

const runHelp = `
Runs an origin and an edge in one process over a folder: the whole service, with real HTTP between the two. It takes the edge's flags.

  iconedge publish tools/library/node_modules/@iconify/json
  iconedge run
  open http://127.0.0.1:8080/

With an empty store it starts, is not ready, and waits for the first release to be published.`

func runAll(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("run", "", runHelp)
	edgeCfg := edge.Config{Version: buildVersion()}
	edgeCfg.GroupedFlags(fs.FlagSet, fs.Begin)
	fs.Preset("listen", "127.0.0.1:8080")
	logger := logFlags(fs, std)
	fs.Begin("The whole service")
	data := fs.String("data", dataDir(), "`folder` for the store, the mirror and everything else")
	originCfg := origin.Config{Version: buildVersion(), Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"}
	fs.StringVar(&originCfg.CDNURL, "cdn-url", "", "`URL` of the CDN in responses (default the address of the listener)")
	fs.StringVar(&originCfg.SiteURL, "site-url", "",
		"`URL` of the site in the canonical addresses of its pages (default that of --cdn-url)")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := inheritEdge(&edgeCfg); err != nil {
		return err
	}
	originCfg.Store, originCfg.Mirror = storeOf(*data), filepath.Join(*data, "mirror")
	valid := func() error { return errors.Join(edgeCfg.Validate(), originCfg.Validate()) }
	return serve(ctx, fs, &edgeCfg.Log, logger, valid, func(ctx context.Context) error {
		// the origin drains after the edge
		defer endBy(ctx, edgeCfg.ShutdownDelay+drained(edgeCfg.Drain)+drained(0), exit(std))()
		originCfg.Log, originCfg.Trace, originCfg.Admin = edgeCfg.Log.With("part", "origin"), edgeCfg.Trace, edgeCfg.Admin
		return runBoth(ctx, edgeCfg, originCfg)
	})
}

// runBoth runs an edge and its own origin. The origin outlives the edge, so that it answers the
// requests that are under way while the edge drains.
func runBoth(ctx context.Context, e edge.Config, o origin.Config) error {
	e.Reload, o.Reload = reloads(), reloads()
	ended, err := supervised(ctx, e.Log, e.AdminListen, &e.AdminListener, &e.Listener, &e.TLSListener)
	if err != nil {
		return err
	}
	defer ended()
	if e.Listener, err = e.Addresses.Open(ctx); err != nil {
		return err
	}
	if e.AdminListener == nil && e.AdminListen != noAdmin {
		if e.AdminListener, err = hostport.Listen(ctx, "--admin-listen", e.AdminListen); err != nil {
			e.Listener.Close()
			return err
		}
	}
	if o.Listener, err = net.Listen("tcp", o.Listen); err != nil {
		e.Listener.Close()
		return err
	}
	if o.CDNURL == "" {
		o.CDNURL = "http://" + e.Listener.Addr().String()
	}
	e.Origins = config.Origins{{{Scheme: "http", Host: o.Listener.Addr().String()}}}
	e.Publish = fmt.Sprintf("iconedge publish --store %s SOURCE", o.Store)
	warnUnpublished(ctx, e.Log, o.Store, e.Publish)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if e.AdminListener != nil {
		go announce(ctx, e.Log, "http://"+e.AdminListener.Addr().String(), e.Listener.Addr())
	}
	originCtx, stopOrigin := context.WithCancel(context.WithoutCancel(ctx))
	originDone := make(chan error, 1)
	go func() {
		originDone <- origin.Run(originCtx, o)
		stop() // the edge is of no use without its origin
	}()
	edgeErr := edge.Run(ctx, e)
	stopOrigin()
	return errors.Join(edgeErr, <-originDone)
}

// announce logs the address that a person opens in a browser, once the service is ready.
func announce(ctx context.Context, log *slog.Logger, admin string, public net.Addr) {
	own := supervisor{admin: admin}
	for tick := time.NewTicker(readyPoll); !own.answers(ctx, "/readyz"); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	host, port, _ := net.SplitHostPort(public.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	log.Info("ready", "open", "http://"+net.JoinHostPort(host, port)+"/")
}

// warnUnpublished logs how to publish if the store has no release yet.
func warnUnpublished(ctx context.Context, log *slog.Logger, store, how string) {
	bucket, err := objectstore.Address(store)
	if err != nil {
		return // the origin reports the error
	}
	if _, err := bucket.Stat(ctx, release.CurrentKey); errors.Is(err, objectstore.ErrNotExist) {
		log.Warn("no release published yet; not ready", "publish", how)
	}
}
