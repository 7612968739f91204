package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A signOnEdge is an edge with a site behind a service of sign-on, which lets the cookie
// session=NAME pass, and sends others to a login.
type signOnEdge struct {
	*fileEdge
	asked  atomic.Int64
	broken atomic.Bool
}

const signOnFile = `version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: [%q]}}
    rules:
      - match: {path: "/public/**"}
        stop: true
      - match: {path: "/own/**"}
        key: {headers: [X-Auth-User]}
        ttl: 1h
        cookies: ignore
        cache: force
      - match: {not: {path: "/inside/**", header: X-Inside}}
        auth: {forward: {url: %q, headers: [x-auth-user, X-Forwarded-Groups], cache: 30s}}
      - match: {path: ["/x", "/public/x"], header: {X-Auth-User: root}}
        response_headers: {set: {X-Root: "1"}}
`

func newSignOnEdge(t *testing.T, args ...string) *signOnEdge {
	t.Helper()
	e := &signOnEdge{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked.Add(1)
		if e.broken.Load() {
			panic(http.ErrAbortHandler)
		}
		c, err := r.Cookie("session")
		switch {
		case err != nil:
			w.Header().Add("Set-Cookie", "state=1")
			w.Header().Add("Set-Cookie", "state2=1")
			w.Header().Set("Location", "/login?to="+r.Header.Get("X-Forwarded-Uri"))
			w.WriteHeader(http.StatusFound)
			io.WriteString(w, "log in")
		case c.Value == "nobody": // lets it pass without saying who it is
		default:
			w.Header().Set("X-Auth-User", c.Value)
			w.Header().Add("X-Forwarded-Groups", "staff")
		}
	}))
	t.Cleanup(service.Close)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch {
		case strings.Contains(r.URL.Path, "shared"):
			w.Header().Set("Cache-Control", "public, max-age=600")
		case strings.Contains(r.URL.Path, "fresh"):
			w.Header().Set("Cache-Control", "max-age=600")
		}
		if strings.Contains(r.URL.Path, "vary") {
			w.Header().Set("Vary", "X-Auth-User")
		}
		var fields []string
		for _, h := range []http.Header{r.Header, r.Trailer} {
			for name, lines := range h {
				same := strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
				if same == "x-auth-user" || same == "x-forwarded-groups" {
					fields = append(fields, name+"="+strings.Join(lines, "|"))
				}
			}
		}
		fmt.Fprintf(w, "%s as %q", r.RequestURI, fields)
	}))
	t.Cleanup(origin.Close)
	e.fileEdge = newFileEdge(t, fmt.Sprintf(signOnFile, origin.URL, service.URL), args...)
	return e
}

// noFields are those of a request without any.
type noFields struct{}

func (noFields) Line(string, int) []byte { return nil }

// TestSignOn: people who have signed on get the responses, stored ones too, and the origin learns
// their names; others get the response of the service.
func TestSignOn(t *testing.T) {
	t.Parallel()
	e := newSignOnEdge(t)
	ann, bob := []string{"Cookie", "session=ann"}, []string{"Cookie", "session=bob"}
	e.run(t, []fileStep{
		{"GET http://a.test/x?y", nil, 302, "Location: /login?to=/x?y|Set-Cookie: state=1|Set-Cookie: state2=1|no-store|log in"},
		{"HEAD http://a.test/x", nil, 302, "Location: /login?to=/x|Content-Length: 6"},
		{"GET http://a.test/public/x", nil, 200, `/public/x as []`},
		{"GET http://a.test/shared", ann, 200, `uri-miss|stored`},
		{"GET http://a.test/shared", bob, 200, `hit`},
		{"GET http://a.test/shared", nil, 302, `!hit`},
		{"GET http://a.test/fresh", ann, 200, `!stored|X-Auth-User=ann`},
		{"GET http://a.test/fresh", bob, 200, `!hit|X-Auth-User=bob`},
		{"GET http://a.test/x", []string{"Cookie", "session=root"}, 200, "X-Root: 1"},
		{"GET http://a.test/x", ann, 200, "X-Forwarded-Groups=staff|!X-Root"},
		{"GET http://a.test/own/x", ann, 200, `uri-miss|ttl=3600|X-Auth-User=ann`},
		{"GET http://a.test/own/x", ann, 200, `hit|X-Auth-User=ann`},
		{"GET http://a.test/own/x", bob, 200, `uri-miss|X-Auth-User=bob`},
		{"GET http://a.test/own/x", nil, 302, ""},
	})
	q := ready("/shared")
	if q.Host = []byte("a.test"); q.Fields == nil {
		q.Fields = noFields{}
	}
	if out, ok := e.proxy.Answer(nil, q); ok {
		t.Errorf("the hit path answers a person who was not checked: %q", out)
	}
}

// TestHostileIdentity: no field by which the origin learns the name of a person comes from a
// client, in any spelling and anywhere, also where the service does not send it or is not asked
// (GHSA-7r4p-vjf4-gxv4), and no rule believes one.
func TestHostileIdentity(t *testing.T) {
	t.Parallel()
	e := newSignOnEdge(t)
	for _, name := range []string{"X-Auth-User", "x-auth-user", "X_Auth_User", "x.auth_user", "X-AUTH-USER", "X_Forwarded_Groups",
		"X-Forwarded-Groups"} {
		forged := []string{name, "root", "Cookie", "session=nobody"}
		e.run(t, []fileStep{
			{"GET http://a.test/x", forged, 200, `/x as []|!X-Root`},
			{"GET http://a.test/public/x", forged, 200, `/public/x as []`},
			{"GET http://a.test/inside/x", append(forged, "X-Inside", "1"), 200, `/inside/x as []|!X-Root`},
			{"GET http://a.test/x", []string{name, "root", "Cookie", "session=ann"}, 200, `X-Auth-User=ann|!root`},
		})
	}
	// A client can't take the field away either, so that nobody in particular is signed on.
	e.run(t, []fileStep{{"GET http://a.test/x", []string{"Connection", "X-Auth-User", "Cookie", "session=ann"}, 200, `X-Auth-User=ann`}})
	// Trailer fields are no way.
	conn, err := net.Dial("tcp", e.cfg.Listener.Addr().String())
	must(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "POST /x HTTP/1.1\r\nHost: a.test\r\nCookie: session=nobody\r\nTrailer: X-Auth-User, X_Auth_User\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Auth-User: root\r\nX_Auth_User: root\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if strings.Contains(string(body), "root") {
		t.Errorf("a trailer field reached the origin: %s", body)
	}
	// No forged field finds the response for somebody who was checked, also where none is asked.
	ann := []string{"Cookie", "session=ann"}
	e.run(t, []fileStep{
		{"GET http://a.test/inside/shared/vary", ann, 200, "stored|X-Auth-User=ann"},
		{"GET http://a.test/inside/shared/vary", ann, 200, "hit|X-Auth-User=ann"},
	})
	for range 2 {
		e.run(t, []fileStep{{"GET http://a.test/inside/shared/vary", []string{"X-Inside", "1", "X-Auth-User", "ann"}, 200, `as []`}})
	}
}

// TestHostilePaths: the path that is authorised is the one that is served.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	e := newSignOnEdge(t)
	for target, want := range map[string]string{
		"/public/x": "200", "/public//x": "200", "/public/..x": "200", "/public/x..": "200", "/public/.hidden": "200",
		"/public/%2e%2e%2e": "200",
		"/public/../x":      "400", "/public/..": "400", "/public/%2e%2e/x": "400", "/public/.%2E/x": "400", "/public/..%2fx": "400",
		"/public/..%5cx": "400", `/public/..\x`: "400", "/public/..;/x": "400", "/public/..;a=b/x": "400", "/public/%252e%252e/x": "400",
		"/public/..%00/x": "400", "/public/./x": "400", "/x/../public/y": "400", "/public%2f..%2fx": "400",
		"//public/x": "200", "/%70ublic/x": "200", "/PUBLIC/x": "302", "/publicx": "302", "/x/public/y": "302", "/public%3f/x": "302",
		"/x;/public/y": "302", "/x?/public/": "302", "/x%3f/public/": "302", "http://a.test/x": "302", "http://a.test/public/../x": "400",
	} {
		conn, err := net.Dial("tcp", e.cfg.Listener.Addr().String())
		must(t, err)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n", target)
		answer, err := io.ReadAll(conn)
		must(t, err)
		conn.Close()
		_, status, _ := strings.Cut(string(answer), " ")
		if len(status) < 3 || status[:3] != want {
			t.Errorf("%s: %.40q, want %s", target, answer, want)
		}
	}
}

// TestSignOnFirst: a request that is refused has sent no body to anybody, and switches to no other
// protocol. Where the service gives no answer, nobody passes but those who have passed a moment
// ago.
func TestSignOnFirst(t *testing.T) {
	t.Parallel()
	e := newSignOnEdge(t)
	conn, err := net.Dial("tcp", e.cfg.Listener.Addr().String())
	must(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "PUT /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	if resp.StatusCode != http.StatusFound {
		t.Errorf("an upload: %d", resp.StatusCode)
	}
	e.run(t, []fileStep{
		{"GET http://a.test/ws", []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"}, 302, ""},
		{"DELETE http://a.test/x", nil, 302, ""},
		{"GET http://a.test/x", []string{"Cookie", "session=ann"}, 200, ""},
	})
	must(t, e.sites.Reload()) // keeps decisions
	e.broken.Store(true)
	asked := e.asked.Load()
	e.run(t, []fileStep{
		{"GET http://a.test/x", []string{"Cookie", "session=ann"}, 200, ""},
		{"GET http://a.test/x", []string{"Cookie", "session=bob"}, 503, "Retry-After: 1|no-store"},
		{"GET http://a.test/x", nil, 503, ""},
	})
	if e.asked.Load() == asked {
		t.Error("nobody asked the service")
	}
	for result, want := range map[string]float64{"passed": 1, "recalled": 1, "refused": 3, "failed": 2} {
		if got := e.metric(t, `iconedge_edge_sign_ons_total{result="`+result+`",way="forward"}`); got != want {
			t.Errorf("%s: %v, want %v", result, got, want)
		}
	}
}
