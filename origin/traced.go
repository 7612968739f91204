package origin

import (
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/origin/api"
	"github.com/iconedge/iconedge/trace"
)

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
	return trace.Exchange{Method: r.Method, Scheme: scheme, Path: r.URL.EscapedPath(), Host: r.Host, Route: api.Pattern(r),
		Protocol: strings.TrimSuffix(strings.TrimPrefix(r.Proto, "HTTP/"), ".0"), Status: status}
}
