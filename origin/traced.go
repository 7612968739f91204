package origin

import (
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/trace"
	"github.com/iconedge/iconedge/origin/api"
)

// traced wraps the public handler. The clients of an origin are edges, so it trusts the decision of
// the client whether to trace a request.
func traced(t *trace.Tracer, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := trace.Read(r.Header[trace.FieldParent], r.Header[trace.FieldState])
		if !t.ShouldTrace(parent, true) {
			next.ServeHTTP(w, r)
			return
		}
		span := t.Serve(parent, time.Now())
		if c, counted := w.(*countedWriter); counted {
			c.trace = span.Trace()
		}
		// The status stays 500 if next panics.
		s := &countedWriter{ResponseWriter: w, status: http.StatusInternalServerError}
		defer func() { span.End(time.Now(), exchange(r, s.status)) }()
		next.ServeHTTP(s, r.WithContext(trace.With(r.Context(), span)))
	})
}

// exchange describes a request for its span, without the query and the header fields, which may
// have secrets.
func exchange(r *http.Request, status int) trace.Exchange {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return trace.Exchange{Method: r.Method, Scheme: scheme, Path: r.URL.EscapedPath(), Host: r.Host, Route: api.Pattern(r),
		Protocol: strings.TrimSuffix(strings.TrimPrefix(r.Proto, "HTTP/"), ".0"), Status: status}
}
