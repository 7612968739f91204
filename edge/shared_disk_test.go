package edge

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// An edge that restarts with a filled disk cache applies the purges that it missed. If the log no
// longer has all of them, the edge drops everything.
func TestRestartReplaysMissedEvents(t *testing.T) {
	t.Parallel()
	all := []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg"}
	for name, row := range map[string]struct {
		meanwhile func(t *testing.T, s *fleettest.Server, other *edgeTest)
		warm      int
	}{
		"nothing":           {func(*testing.T, *fleettest.Server, *edgeTest) {}, 3},
		"a purge":           {func(t *testing.T, _ *fleettest.Server, e *edgeTest) { e.purge(t, `{"urls":["/mdi/home.svg"]}`) }, 2},
		"Redis was emptied": {func(t *testing.T, s *fleettest.Server, _ *edgeTest) { must(t, s.FlushAll(t.Context()).Err()) }, 0},
		"the log was trimmed": {func(t *testing.T, s *fleettest.Server, e *edgeTest) {
			e.purge(t, `{"urls":["/mdi/home.svg"]}`)
			e.purge(t, `{"urls":["/mdi/home.svg"]}`)
			must(t, s.XTrimMaxLen(t.Context(), "iconedge:log", 1).Err())
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := fleettest.Start(t), owntest.NewOrigin()
			origin := httptest.NewServer(l)
			defer origin.Close()
			other := newSharing(t, s.URL, "there", l)
			dir := t.TempDir()
			livesShared(t, dir, origin.URL, s.URL, func(get func(string) string) {
				for _, target := range all {
					get(target)
				}
			})
			row.meanwhile(t, s, other)
			livesShared(t, dir, origin.URL, s.URL, func(get func(string) string) {
				warm := 0
				for _, target := range all {
					if strings.Contains(get(target), "; hit;") {
						warm++
					}
				}
				if warm != row.warm {
					t.Errorf("%d of %d are found on disk, want %d", warm, len(all), row.warm)
				}
			})
		})
	}
}

// livesShared runs an edge with the disk cache in dir until use returns.
func livesShared(t *testing.T, dir, origin, redis string, use func(get func(target string) (cacheStatus string))) {
	t.Helper()
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	patient(&cfg)
	must(t, cfg.Origins.Set(origin))
	cfg.Log, cfg.CacheDir, cfg.Redis, cfg.RedisTimeout = slog.New(slog.DiscardHandler), dir, redis, 20*time.Second
	public, admin := listenTest(t), listenTest(t)
	cfg.Listener, cfg.AdminListener = public, admin
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg) }()
	settled(t, "the edge knows the release", func() bool { return strings.Contains(metricsOf(t, admin.Addr().String()), owntest.ReleaseA) })
	use(func(target string) string {
		resp, err := http.Get("http://" + public.Addr().String() + target)
		must(t, err)
		resp.Body.Close()
		return resp.Header.Get("Cache-Status")
	})
	stop()
	must(t, <-done)
}
