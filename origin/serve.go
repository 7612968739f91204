package origin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/fastpath"
)

// Limits of a connection. idleTime is longer than the idle time of an edge, so that the edge closes
// idle connections. If the origin closed one, a request that arrives just then would be lost.
const (
	headTime  = 10 * time.Second
	readTime  = 30 * time.Second
	writeTime = 60 * time.Second
	idleTime  = 3 * time.Minute
	maxHead   = 32 << 10 // bytes of a header section; net/http adds 4096
)

// A server answers on both listeners while work runs.
type server struct {
	Config
	tiers   *tiers
	access  *admin.Access
	public  http.Handler
	private *adminHandler
	work    func(context.Context) error
}

// serve drains the connections and returns as soon as ctx ends, with nil, or work or a listener
// fails, with that error.
func (o *server) serve(ctx context.Context) error {
	cfg, tiers, private := &o.Config, o.tiers, o.private
	publicLn, privateLn, err := listeners(ctx, *cfg)
	if err != nil {
		return err
	}
	if tiers.exposed(publicLn.Addr()) {
		cfg.Log.Warn("origin reachable from other machines without authentication or limits; keep it private, or set "+
			"--tier-secret-file or --tls-client-ca", "address", publicLn.Addr().String())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reload := files.Spread(ctx, cfg.Reload, 2)
	go tiers.Run(ctx, reload[0], cfg.Log)
	go o.access.Run(ctx, reload[1], cfg.Log)
	drainer := &drainer{Handler: o.public, stopping: &private.stopping}
	ended := make(chan error, 3)
	start := func(ln net.Listener, h http.Handler, name string, state func(net.Conn, http.ConnState)) *http.Server {
		s := &http.Server{
			Handler: h, ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
			ConnState: state, MaxHeaderBytes: maxHead, DisableGeneralOptionsHandler: true,
			ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
		}
		cfg.Log.Info("listening", "address", ln.Addr().String(), "for", name)
		go func() { ended <- s.Serve(ln) }()
		return s
	}
	secured, state := tiers.secure(publicLn), drainer.state
	direct := fastpath.New(publicLn, fastpath.Options{Handler: drainer, Idle: idleTime, Write: writeTime, Stopping: private.stopping.Load})
	if secured == publicLn {
		secured = direct
		state = func(c net.Conn, s http.ConnState) {
			direct.State(c, s)
			drainer.state(c, s)
		}
	}
	servers := []*http.Server{start(secured, drainer, "public", state)}
	if privateLn != nil {
		servers = append(servers, start(privateLn, private, "admin", nil))
	}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		ended <- o.work(ctx)
	}()
	select {
	case <-ctx.Done():
		err = nil
	case err = <-ended:
	}
	private.leaving.Store(true)
	cfg.Log.Info("stopping", "delay", cfg.ShutdownDelay, "drain", cfg.Drain)
	if err == nil {
		time.Sleep(cfg.ShutdownDelay) // edges notice at /readyz, and the origin answers as before
	}
	private.stopping.Store(true)
	drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Drain)
	defer cancel()
	drainer.drain(drainCtx, publicLn)
	for _, s := range servers { // the admin listener last, because /readyz reports the drain
		if s.Shutdown(drainCtx) != nil {
			s.Close() // Config.Drain is over, and requests are still in flight
		}
	}
	direct.Drain(drainCtx)
	stop()
	<-worked
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// adminHandler answers the requests to the admin listener.
type adminHandler struct {
	http.Handler
	catalog  *catalog.Catalog
	leaving  atomic.Bool // the origin has received the signal to stop
	stopping atomic.Bool // it drains
}

func newAdmin(cat *catalog.Catalog, access *admin.Access, m *metrics) *adminHandler {
	mux := http.NewServeMux()
	h := &adminHandler{Handler: access.Guard(problem.Mux(mux)), catalog: cat}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
	mux.Handle("GET /metrics", access.Metrics(m.handler()))
	return h
}

// ready answers /readyz.
func (h *adminHandler) ready(w http.ResponseWriter, _ *http.Request) {
	s := h.catalog.Stats()
	switch {
	case h.leaving.Load():
		writeText(w, http.StatusServiceUnavailable, "stopping")
	case s.Release != "":
		writeText(w, http.StatusOK, "ok")
	case s.Err != "":
		writeText(w, http.StatusServiceUnavailable, "not ready: "+s.Err)
	default:
		writeText(w, http.StatusServiceUnavailable, "not ready: opening the release")
	}
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write([]byte(text + "\n"))
}
