package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/cli"
)

const edgeHelp = `
Starts an edge node: the caching reverse proxy that clients connect to. It works with any HTTP origin. From iconedge's own origin it
learns which icons a new release has changed, and invalidates only those.

  iconedge edge --listen :8080 --origin http://10.0.0.5:8081 --limit search=120/1m --limit cdn=off

The admin listener serves GET /healthz, /readyz, /metrics and /top (iconedge top). SIGTERM drains: /readyz answers 503, requests under
way are answered.
Sockets that systemd passes in replace the listeners, by FileDescriptorName: public, tls, quic, admin. The edge reads certificates,
secrets, --admin-token-file, --allow-file and --deny-file again within seconds of a change, or at once on SIGHUP; SIGHUP also reopens
--access-log. It does not end the process.`

func runEdge(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("edge", "", edgeHelp)
	cfg := edge.Config{Version: buildVersion()}
	cfg.GroupedFlags(fs.FlagSet, fs.Begin)
	logger := logFlags(fs, std)
	fs.Begin("Configuration file")
	file := fs.String(flags.File, "", "`file` with sites, origins and rules in YAML; flags and variables that are "+
		"given beside it take precedence; read again on SIGHUP (default none)")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if *file != "" {
		if _, err := useFile(std, fs, &cfg, *file); err != nil {
			return err
		}
	}
	if err := inheritEdge(&cfg); err != nil {
		return err
	}
	return serve(ctx, fs, &cfg.Log, logger, cfg.Validate, func(ctx context.Context) error {
		cfg.Reload = reloads()
		defer endBy(ctx, cfg.ShutdownDelay+drained(cfg.Drain), exit(std))()
		ended, err := supervised(ctx, cfg.Log, cfg.AdminListen, &cfg.AdminListener, &cfg.Listener, &cfg.TLSListener)
		if err != nil {
			return err
		}
		defer ended()
		return edge.Run(ctx, cfg)
	})
}

// reloads returns a channel that receives each SIGHUP, by which the operator makes a server read
// its files again. After the first call SIGHUP no longer ends the process, whether the channel is
// read or not.
func reloads() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}
