package apps

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// An application is a program that listens for HTTP, and the client that its users have for it.
type application struct {
	name   string
	client string
	did    string // by the client, for the page
	large  bool   // only `make apps` runs it
	alone  bool   // its start sets environment variables
	tls    bool   // the client also runs over TLS, with HTTP/2 if it speaks that
	flags  []string
	nginx  string // the lines of a location of nginx that do the same, without proxy_pass
	// versions returns those of the application and of the client, if it has its own.
	versions func(t *testing.T) (application, client string)
	// start starts the application with empty storage and returns its address as an --origin. The
	// application ends with the test.
	start func(t *testing.T) string
	visit func(v *visit)
}

// applications lists the applications in the order of the page.
var applications = []application{
	express, socketIO, events, subscriptions, vite, nextJS, s3, s3Rclone, verdaccio, registry, gitHTTP, webDAV, webDAVGo, apt, video,
}

// TestApplications runs the client of each application against the application itself and through
// the edge, and compares the results.
func TestApplications(t *testing.T) {
	for _, a := range applications {
		t.Run(a.name, func(t *testing.T) {
			if a.large && !whole() {
				t.Skip("`make apps` runs it")
			}
			if !a.alone && !whole() { // the rows of the page are written one after the other
				t.Parallel()
			}
			a.test(t)
		})
	}
}

// test compares the ways to the application with the direct way, and records a row for the page.
func (a application) test(t *testing.T) {
	var direct *visit
	r := row{Name: a.name, Client: a.client, Did: a.did}
	for _, w := range ways {
		if !a.goes(w) {
			continue
		}
		var v *visit
		passed := t.Run(w.name, func(t *testing.T) {
			v = a.run(t, w)
			if direct != nil {
				v.compare(direct)
			}
		})
		if !passed || v == nil { // nil: the test was skipped
			return
		}
		if direct == nil {
			direct = v
		}
		if w.edge {
			r.Bytes += v.bytes()
			r.Requests += v.requests
			r.Hits += v.hits
			r.TLS = r.TLS || w.tls
		}
	}
	r.Version, r.ClientVersion = a.versions(t)
	if whole() {
		record(t, r)
	}
}

// goes reports whether the client goes this way. In `make test` each client goes one way through
// the edge, because each takes seconds: over TLS if it can, but browsers without.
func (a application) goes(w way) bool {
	if whole() {
		return (!w.tls || a.tls) && (!w.nginx || nginxPath() != "")
	}
	return !w.nginx && (!w.edge || w.tls == (a.tls && !strings.Contains(a.client, "Chromium")))
}

// run starts the application and, unless the way is direct, an edge, and runs the client.
func (a application) run(t *testing.T, w way) *visit {
	t.Helper()
	origin := a.start(t)
	v := &visit{T: t, dir: t.TempDir(), base: origin}
	var edge *harness.Server
	if w.nginx {
		v.base = startServer(t, "nginx-proxy.conf", "proxy_pass "+origin+"; "+a.nginx, nginxPath(), "-c", "{config}")
	}
	if w.edge {
		edge = v.throughEdge(w, origin, a.flags)
	}
	a.visit(v)
	if edge != nil {
		v.count(edge)
	}
	return v
}
