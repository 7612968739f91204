package admin

import (
	"net/http"

	"github.com/iconedge/iconedge/problem"
)

// Guard answers 403 to requests that a page in a browser may have caused, and has next answer the others. It does so for every path: also whether the process
// is ready is nobody else's business.
func (a *Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := a.refuses(r); why != "" {
			problem.New(http.StatusForbidden, why).With("Cache-Control", "no-store").With("X-Content-Type-Options", "nosniff").Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuses says why a request is not answered; empty: it is.
func (a *Access) refuses(r *http.Request) string {
	switch {
	case !a.answersFor(r):
		return "the Host of a request to this listener must be an IP address, a name without a dot, or a name of --admin-host"
	case len(r.Header["Origin"]) > 0:
		return "this listener answers no request with an Origin field: pages of browsers send it"
	case !ownFetch(r.Header["Sec-Fetch-Site"]):
		return "this listener answers no request that a page of another site caused: Sec-Fetch-Site must be none or same-origin"
	}
	return ""
}

// answersFor reports whether a request is for a host that is answered for. A request in HTTP/1.0 may have none, as health checks of load balancers
// have it; browsers always name one.
func (a *Access) answersFor(r *http.Request) bool {
	if r.Host == "" {
		return !r.ProtoAtLeast(1, 1)
	}
	return a.hosts.Accept(r.Host)
}

// ownFetch reports whether the lines of Sec-Fetch-Site are those of a request that the operator made: a program sends none, a browser says none where he typed
// the address, and same-origin where he follows a link on the page.
func ownFetch(lines []string) bool {
	for _, site := range lines {
		if site != "none" && site != "same-origin" {
			return false
		}
	}
	return true
}
