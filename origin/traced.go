package origin

import (
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/trace"
)

// patterns are the addresses of routes, as edges tell them too.
var patterns = map[string]string{"cdn": "/{pack}/{file}", "icon": "/api/v1/icon/{pack}/{name}", "search": "/api/v1/search", "suggest": "/api/v1/suggest",
	"packs": "/api/v1/packs", "pack": "/api/v1/packs/{pack}", "verify": "/api/v1/auth/verify", "openapi": "/api/v1/openapi.json", "release": "/-/release",
	"names": "/-/names", "health": "/healthz"}

// traced wraps the public handler. Who reaches an origin is an edge, and is trusted to say which requests are followed.
func traced(t *trace.Tracer, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := trace.Read(r.Header[trace.FieldParent], r.Header[trace.FieldState])
		if !t.Decides(parent, true) {
			next.ServeHTTP(w, r)
			return
		}
		span := t.Serve(parent, time.Now())
		s := &countedWriter{ResponseWriter: w, status: http.StatusInternalServerError} // that of a handler that panics
		defer func() { span.End(time.Now(), exchange(r, s.status)) }()
		next.ServeHTTP(s, r.WithContext(trace.With(r.Context(), span)))
	})
}

// exchange is what is told of a request: no query, and nothing of its fields.
func exchange(r *http.Request, status int) trace.Exchange {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return trace.Exchange{Method: r.Method, Scheme: scheme, Path: r.URL.EscapedPath(), Host: r.Host, Route: patterns[api.Route(r)],
		Protocol: strings.TrimSuffix(strings.TrimPrefix(r.Proto, "HTTP/"), ".0"), Status: status}
}
