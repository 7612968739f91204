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
Starts the origin service: it answers from the current release in the store, and keeps answering while the store is unreachable. Its
clients are edges; it has no limits, so let it listen on a loopback or private address.

  AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… \
  iconedge origin --store 's3://icons?endpoint=10.0.0.9:9000&tls=false&region=us-east-1' --cdn-url https://cdn.example.org

The admin listener serves GET /healthz, /readyz and /metrics. Sockets that systemd passes in replace the listeners, by
FileDescriptorName: public, admin. The origin reads certificates, secrets and --admin-token-file again within seconds of a change,
or at once on SIGHUP, which does not end the process.`

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
		defer endBy(ctx, cfg.ShutdownDelay+drained(cfg.Drain), exit(std))()
		ended, err := supervised(ctx, cfg.Log, cfg.AdminListen, &cfg.AdminListener, &cfg.Listener)
		if err != nil {
			return err
		}
		defer ended()
		cfg.Reload = reloads()
		return origin.Run(ctx, cfg)
	})
}

// serve runs a server after its flags have been parsed. It makes the logger, and then validates the
// whole configuration.
func serve(ctx context.Context, fs *cli.Flags, log **slog.Logger, logger func() (*slog.Logger, error),
	validate func() error, run func(context.Context) error) error {
	l, err := logger()
	if err != nil {
		return err
	}
	*log = l
	// the standard library logs little but malformed bytes from origins
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(l)
	if err := validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	limitMemory(l, memlimit.FromCgroup, memlimit.FromSystem)
	return run(ctx)
}
