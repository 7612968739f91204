package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin"
	"github.com/iconedge/iconedge/origin/release"
)

const runHelp = `
Runs origin and edge in one process over a folder: the whole service, with real HTTP between the two. It takes the edge's flags.

  iconedge publish library/node_modules/@iconify/json
  iconedge run
  open http://127.0.0.1:8080/

With an empty store it starts, is not ready, and waits for the first release to be published.`

func runAll(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("run", "", runHelp)
	edgeCfg := edge.Config{Version: buildVersion()}
	edgeCfg.Flags(fs.FlagSet)
	fs.Preset("listen", "127.0.0.1:8080")
	data := fs.String("data", dataDir(), "`folder` for the store, the mirror and all else")
	originCfg := origin.Config{Version: buildVersion(), Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"}
	fs.StringVar(&originCfg.CDNURL, "cdn-url", "", "`URL` of the CDN that answers name (default the address it listens on)")
	logger := logFlags(fs, std)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := inheritEdge(&edgeCfg); err != nil {
		return err
	}
	originCfg.Store, originCfg.Mirror = storeOf(*data), filepath.Join(*data, "mirror")
	valid := func() error { return errors.Join(edgeCfg.Validate(), originCfg.Validate()) }
	return serve(ctx, fs, &edgeCfg.Log, logger, valid, func(ctx context.Context) error {
		endBy(ctx, std, drained(edgeCfg.Drain)+drained(0)) // the origin drains after the edge
		originCfg.Log, originCfg.Trace, originCfg.Admin = edgeCfg.Log.With("part", "origin"), edgeCfg.Trace, edgeCfg.Admin
		return runBoth(ctx, edgeCfg, originCfg)
	})
}

// runBoth runs an edge over an origin of its own. The origin outlives the edge, so that what the edge has under way when it
// drains is answered.
func runBoth(ctx context.Context, e edge.Config, o origin.Config) error {
	e.Reload, o.Reload = reloads(), reloads()
	err := supervised(ctx, e.Log, e.AdminListen, &e.AdminListener, &e.Listener, &e.TLSListener)
	if err != nil {
		return err
	}
	if e.Listener == nil {
		if e.Listener, err = net.Listen("tcp", e.Listen); err != nil {
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
	e.Origins = edge.Origins{{{Scheme: "http", Host: o.Listener.Addr().String()}}}
	e.Publish = fmt.Sprintf("iconedge publish --store %s SOURCE", o.Store)
	sayHowToPublish(ctx, e.Log, o.Store, e.Publish)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	originCtx, stopOrigin := context.WithCancel(context.WithoutCancel(ctx))
	originDone := make(chan error, 1)
	go func() {
		originDone <- origin.Run(originCtx, o)
		stop() // an edge without its origin is no use here
	}()
	edgeErr := edge.Run(ctx, e)
	stopOrigin()
	return errors.Join(edgeErr, <-originDone)
}

// sayHowToPublish logs what to do where the store has no release yet.
func sayHowToPublish(ctx context.Context, log *slog.Logger, store, how string) {
	bucket, err := objectstore.Address(store)
	if err != nil {
		return // the origin will say so
	}
	if _, err := bucket.Stat(ctx, release.CurrentKey); errors.Is(err, objectstore.ErrNotExist) {
		log.Warn("nothing is published yet: not ready until it is", "publish", how)
	}
}
