package edge

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// After a restart an edge finds its entries on disk, except those that a new release has changed
// meanwhile.
func TestRestartIsWarm(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	origin := httptest.NewServer(l)
	defer origin.Close()
	dir := t.TempDir()
	life := func(release string, use func(get func(target string) string)) {
		var cfg Config
		cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
		patient(&cfg)
		must(t, cfg.Origins.Set(origin.URL))
		cfg.Log, cfg.CacheDir, cfg.ProxyAll = slog.New(slog.DiscardHandler), dir, true
		cfg.Icons = vhosts.On
		public, admin := listenTest(t), listenTest(t)
		cfg.Listener, cfg.AdminListener = public, admin
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- Run(ctx, cfg) }()
		settled(t, "it has made room for that release",
			func() bool { return strings.Contains(metricsOf(t, admin.Addr().String()), release) })
		use(func(target string) string {
			resp, err := http.Get("http://" + public.Addr().String() + target)
			must(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			if target == "/mdi/home.svg" && !strings.Contains(string(body), "<svg") {
				t.Errorf("%s: %s", target, body)
			}
			return resp.Header.Get("Cache-Status")
		})
		http.DefaultClient.CloseIdleConnections() // else the edge waits a second for a request
		stop()
		must(t, <-done)
	}
	all := []string{"/mdi/home.svg", "/mdi/account.svg", "/api/v1/search?q=home"}
	life(owntest.ReleaseA, func(get func(string) string) {
		for _, target := range all {
			get(target)
		}
	})
	l.Set(func() { l.Release, l.Changed = owntest.ReleaseB, []string{"icon/mdi/home"} })
	life(owntest.ReleaseB, func(get func(string) string) {
		for i, target := range all {
			if hit := strings.Contains(get(target), "; hit;"); hit != (i == 1) {
				t.Errorf("%s is found on disk: %v", target, hit)
			}
			if i == 1 && !strings.Contains(get(target), "; hit;") {
				t.Error("the second time it is not")
			}
		}
	})
}

func metricsOf(t *testing.T, admin string) string {
	t.Helper()
	resp, err := http.Get("http://" + admin + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(b)
}
