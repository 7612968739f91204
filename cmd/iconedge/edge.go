package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/cli"
)

const edgeHelp = `
Starts an edge node: the caching reverse proxy that people talk to. It needs nothing of its origin but HTTP; of iconedge's own
origin it learns what a new release changed, and forgets only that.

  iconedge edge --listen :8080 --origin http://10.0.0.5:8081 --limit search=120/1m --limit cdn=off

GET /healthz and /readyz and /metrics are on the admin listener. SIGTERM drains: /readyz says 503, requests under way are answered.
Sockets that systemd passes in are used instead of listening, by FileDescriptorName: public, tls, quic, admin.
SIGHUP has certificates, secrets, --admin-token-file, --allow-file and --deny-file read at once, else they are read within seconds of a change, and
--access-log opened anew. It ends no process.`

func runEdge(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("edge", "", edgeHelp)
	cfg := edge.Config{Version: buildVersion()}
	cfg.Flags(fs.FlagSet)
	logger := logFlags(fs, std)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := inheritEdge(&cfg); err != nil {
		return err
	}
	return serve(ctx, fs, &cfg.Log, logger, cfg.Validate, func(ctx context.Context) error {
		cfg.Reload = reloads()
		endBy(ctx, std, drained(cfg.Drain))
		if err := supervised(ctx, cfg.Log, cfg.AdminListen, &cfg.AdminListener, &cfg.Listener, &cfg.TLSListener); err != nil {
			return err
		}
		return edge.Run(ctx, cfg)
	})
}

// reloads are the signals by which an operator has a server read its files again. SIGHUP ends no process that has called it, whether anybody receives them or
// not.
func reloads() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}
