package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/origin"
)

const originHelp = `
Starts the origin service: it answers from the current release in the store, and keeps answering when the store is gone. It is for
edges to talk to; it does not limit anybody, so leave it on a loopback or private address.

  AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… \
  iconedge origin --store 's3://icons?endpoint=10.0.0.9:9000&tls=false&region=us-east-1' --cdn-url https://cdn.example.org

GET /healthz and /readyz and /metrics are on the admin listener. Sockets that systemd passes in are used instead of listening, by
FileDescriptorName: public, admin. SIGHUP has certificates, secrets and --admin-token-file read at once, else they are read within seconds of a change; it ends
no process.`

func runOrigin(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("origin", "", originHelp)
	cfg := origin.Config{Version: buildVersion()}
	cfg.Flags(fs.FlagSet)
	fs.Preset("store", storeOf(dataDir()))
	fs.Preset("mirror", filepath.Join(dataDir(), "mirror"))
	logger := logFlags(fs, std)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	sockets, err := inherit(publicSocket, adminSocket)
	if err != nil {
		return err
	}
	cfg.Listener, cfg.AdminListener = sockets.streams[publicSocket], sockets.streams[adminSocket]
	return serve(ctx, fs, &cfg.Log, logger, cfg.Validate, func(ctx context.Context) error {
		endBy(ctx, std, drained(cfg.Drain))
		if err := supervised(ctx, cfg.Log, cfg.AdminListen, &cfg.AdminListener, &cfg.Listener); err != nil {
			return err
		}
		cfg.Reload = reloads()
		return origin.Run(ctx, cfg)
	})
}

// serve runs a server whose flags have been read: first its logger, then its configuration, looked at as a whole.
func serve(ctx context.Context, fs *cli.Flags, log **slog.Logger, logger func() (*slog.Logger, error), validate func() error, run func(context.Context) error) error {
	l, err := logger()
	if err != nil {
		return err
	}
	*log = l
	slog.SetLogLoggerLevel(slog.LevelDebug) // what the standard library says of its own accord: an origin's odd bytes, mostly
	slog.SetDefault(l)
	if err := validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	limitMemory(l, memlimit.FromCgroup)
	return run(ctx)
}
