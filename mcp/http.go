package mcp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/iconedge/iconedge/internal/hostport"
)

const (
	maxBody = 4 << 20         // bytes of a request body
	drain   = 4 * time.Second // time for open calls when the server stops
)

// serveHTTP serves streamable HTTP without sessions: clients of protocol version 2026-07-28 have
// none, and older ones do not need them.
func serveHTTP(ctx context.Context, cfg Config, s *sdk.Server) error {
	ln := cfg.Listener
	if ln == nil {
		var err error
		if ln, err = hostport.Listen(ctx, "--http", cfg.HTTP); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", ownOrigin(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
	})))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	cfg.Log.Info("listening", "address", ln.Addr().String(), "for", "mcp")
	if a, ok := ln.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		cfg.Log.Warn("clients of this address use your licence", "address", a.String())
	}
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		server.Shutdown(late)
	})
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ownOrigin rejects requests from pages of another origin (Model Context Protocol, transports,
// security warning). The SDK itself rejects a Host other than this machine's on a loopback
// listener.
func ownOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
				http.Error(w, "pages of another origin may not call this server", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
