package admin

import (
	"net/http"

	"github.com/iconedge/iconedge/internal/problem"
)

// Guard answers 403 to requests that a page in a browser may have caused, and passes the others to
// next. It does so for every path, because even the readiness of the process is private.
func (a *Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := a.refusal(r); reason != "" {
			problem.New(http.StatusForbidden, reason).With("Cache-Control", "no-store").With("X-Content-Type-Options", "nosniff").Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal returns the reason to refuse a request, or "" for an acceptable one.
func (a *Access) refusal(r *http.Request) string {
	switch {
	case !a.acceptsHost(r):
		return "the Host of a request to this listener must be an IP address, a name without a dot, or a name of --admin-host"
	case len(r.Header["Origin"]) > 0:
		return "a request to this listener must not have an Origin field, because browsers send it for pages"
	case !fromOperator(r.Header["Sec-Fetch-Site"]):
		return "a request to this listener must not come from a page of another site: Sec-Fetch-Site must be none or same-origin"
	}
	return ""
}

// acceptsHost reports whether the listener answers for the host that a request names. An HTTP/1.0
// request may name none, as health checks of load balancers do; browsers always send a Host.
func (a *Access) acceptsHost(r *http.Request) bool {
	if r.Host == "" {
		return !r.ProtoAtLeast(1, 1)
	}
	return a.hosts.Accept(r.Host)
}

// fromOperator reports whether the operator may have made a request with these Sec-Fetch-Site
// lines. A program sends no such field. A browser sends "none" for an address that the operator
// typed, and "same-origin" for a link on a page of this listener.
func fromOperator(lines []string) bool {
	for _, site := range lines {
		if site != "none" && site != "same-origin" {
			return false
		}
	}
	return true
}
