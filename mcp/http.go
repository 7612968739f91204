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
)

const (
	maxBody = 4 << 20         // bytes of one request
	drain   = 4 * time.Second // that calls under way have when the server is stopped
)

// serveHTTP speaks streamable HTTP, without sessions: clients of protocol version 2026-07-28 know none, and older ones need none.
func serveHTTP(ctx context.Context, cfg Config, s *sdk.Server) error {
	ln := cfg.Listener
	if ln == nil {
		var err error
		if ln, err = net.Listen("tcp", cfg.HTTP); err != nil {
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
		cfg.Log.Warn("whoever can reach this address uses your licence", "address", a.String())
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

// ownOrigin refuses requests that a page of another origin makes (Model Context Protocol, transports, security warning). The SDK
// refuses a Host that is not of this machine on a listener that is.
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
