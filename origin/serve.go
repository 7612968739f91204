package origin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/problem"
)

// Bounds of a connection. Idle ones are kept longer than an edge keeps them, so that it is the edge that closes: a request sent
// into a closing connection is lost.
const (
	headTime  = 10 * time.Second
	readTime  = 30 * time.Second
	writeTime = 60 * time.Second
	idleTime  = 3 * time.Minute
	maxHead   = 32 << 10 // bytes; net/http adds 4096 to it
)

// serve answers on both listeners while work goes on, and returns work's error or, when ctx has ended, nil after the drain.
func serve(ctx context.Context, cfg Config, tiers *tiers, access *admin.Access, public http.Handler, private *adminHandler, work func(context.Context) error) error {
	publicLn, privateLn, err := listeners(cfg)
	if err != nil {
		return err
	}
	if tiers.exposed(publicLn.Addr()) {
		cfg.Log.Warn("whoever reaches the origin can ask it, and nothing limits him: keep it private, or set --tier-secret-file or --tls-client-ca", "address", publicLn.Addr().String())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told := files.Spread(ctx, cfg.Reload, 2)
	go tiers.Run(ctx, told[0], cfg.Log)
	go access.Run(ctx, told[1], cfg.Log)
	parts := &parting{Handler: public, stopping: &private.stopping}
	ended := make(chan error, 3)
	start := func(ln net.Listener, h http.Handler, what string, state func(net.Conn, http.ConnState)) *http.Server {
		s := &http.Server{
			Handler: h, ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
			ConnState: state, MaxHeaderBytes: maxHead, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
		}
		cfg.Log.Info("listening", "address", ln.Addr().String(), "for", what)
		go func() { ended <- s.Serve(ln) }()
		return s
	}
	servers := []*http.Server{start(tiers.secure(publicLn), parts, "public", parts.state)}
	if privateLn != nil {
		servers = append(servers, start(privateLn, private, "admin", nil))
	}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		ended <- work(ctx)
	}()
	select {
	case <-ctx.Done():
		err = nil
	case err = <-ended:
	}
	private.stopping.Store(true)
	cfg.Log.Info("stopping", "drain", cfg.Drain)
	drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Drain)
	defer cancel()
	parts.part(drainCtx, publicLn)
	for _, s := range servers { // the admin listener last: it tells that the other is stopping
		if s.Shutdown(drainCtx) != nil {
			s.Close() // their time is over
		}
	}
	stop()
	<-worked
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// adminHandler answers on the admin listener.
type adminHandler struct {
	http.Handler
	catalog  *catalog.Catalog
	stopping atomic.Bool
}

func newAdmin(cat *catalog.Catalog, access *admin.Access, m *metrics) *adminHandler {
	mux := http.NewServeMux()
	h := &adminHandler{Handler: access.Guard(problem.Mux(mux)), catalog: cat}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
	mux.Handle("GET /metrics", access.Metrics(m.handler()))
	return h
}

// ready answers whether the public listener can.
func (h *adminHandler) ready(w http.ResponseWriter, _ *http.Request) {
	s := h.catalog.Stats()
	switch {
	case h.stopping.Load():
		say(w, http.StatusServiceUnavailable, "stopping")
	case s.Release != "":
		say(w, http.StatusOK, "ok")
	case s.Err != "":
		say(w, http.StatusServiceUnavailable, "not ready: "+s.Err)
	default:
		say(w, http.StatusServiceUnavailable, "not ready: the release is being opened")
	}
}

func say(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write([]byte(words + "\n"))
}
