package edge

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/observe/top"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/problem"
)

// newAdmin returns the server of the admin listener: health, readiness, metrics and purges. Only
// the operator uses it; access decides which requests are allowed.
func newAdmin(s *Server, access *admin.Access, purge http.Handler) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+routes.HealthPath, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case s.ready():
			say(w, http.StatusOK, "ready\n"+s.uncertified())
		case s.proxy.Draining():
			say(w, http.StatusServiceUnavailable, "not ready: draining\n")
		case s.life.leaving.Load():
			say(w, http.StatusServiceUnavailable, "not ready: stopping\n")
		case s.state.Unpublished():
			say(w, http.StatusServiceUnavailable, "not ready: the origin has no release yet; "+s.cfg.Publish+" makes one\n")
		default:
			say(w, http.StatusServiceUnavailable, "not ready: no origin has answered correctly yet; see the log\n")
		}
	})
	mux.Handle("GET /metrics", access.Metrics(s.metrics.Handler()))
	mux.Handle("/purge", purge)
	mux.Handle("GET "+top.Path, access.Protect(s.reports.Top.Handler()))
	if s.sites != nil {
		s.sites.Handle(mux, access)
	} else {
		without := access.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			problem.New(http.StatusNotFound, "this edge has no configuration file, because it was started without --config").Write(w)
		}))
		mux.Handle("POST /config/reload", without)
		mux.Handle("GET /config", without)
	}
	return &http.Server{
		Handler:           access.Guard(problem.Mux(mux)),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,

		DisableGeneralOptionsHandler: true, // otherwise OPTIONS * would bypass access

		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
}

// uncertified names the hosts without a certificate. The edge is ready without them, because the
// authority verifies them by a request to the edge.
func (s *Server) uncertified() string {
	if missing := s.listeners.Uncertified(); len(missing) > 0 {
		return "no certificate yet: " + strings.Join(missing, ", ") + "; see the log\n"
	}
	return ""
}

// An adminListener is the listener of the operator.
type adminListener struct {
	net.Listener
	access *admin.Access // decides which requests are allowed
}

// openAdmin listens on an address, unless a listener is given.
func openAdmin(ctx context.Context, address string, given net.Listener) (l *adminListener, err error) {
	if l = (&adminListener{Listener: given}); given == nil {
		if l.Listener, err = hostport.Listen(ctx, "--admin-listen", address); err != nil {
			return nil, err
		}
	}
	l.Listener = listen.CloseOnce(l.Listener)
	return l, nil
}

// announce logs the address, and warns if other machines can reach it without a token.
func (l *adminListener) announce(log *slog.Logger) {
	address := l.Addr().String()
	log.Info("listening", "address", address, "for", "admin")
	if !l.access.Asks() && !onLoopback(l.Addr()) {
		log.Warn("admin listener, with purge, reachable from other machines without a token; keep it private, or set --admin-token-file",
			"address", address)
	}
}

// onLoopback reports whether only processes on this machine can reach an address.
func onLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func say(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, words)
}
