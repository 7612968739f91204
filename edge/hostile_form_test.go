package edge

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/routes"
)

// A client that knows no chunks gets a body of undeclared length with a Content-Length, or an error
// instead of the body (RFC 9112, section 6.1).
func TestHostileOldClients(t *testing.T) {
	t.Parallel()
	w := newRawEdge(t, true)
	large := strings.Repeat("fine", 100_000)
	const head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
	for target, row := range map[string]struct {
		origin string
		status int
	}{
		"/closed":  {head + "\r\n" + large, 200},
		"/chunked": {head + "Transfer-Encoding: chunked\r\n\r\n61a80\r\n" + large + "\r\n0\r\n\r\n", 200},
		"/cut":     {head + "Transfer-Encoding: chunked\r\n\r\n61a80\r\n" + large, 502},
		"/endless": {head + "\r\n" + strings.Repeat(large, 25), 505},
	} {
		w.origin.lies[target] = corpusCase{origin: row.origin, then: "close"}
		m := w.tell(t, "GET "+target+" HTTP/1.0\r\nHost: edge.test\r\n\r\n")
		if m.status() != row.status || row.status == 200 && m.body != large ||
			len(m.fields["transfer-encoding"]) > 0 || len(m.fields["content-length"]) != 1 {
			t.Errorf("%s: %s, %d bytes, %q, want %d", target, m.line, len(m.body), m.fields, row.status)
		}
	}
}

// The trailers of a request are not fields of the request. A client behind a trusted proxy can't
// use them to name another address or to make its request conditional.
func TestHostileTrailers(t *testing.T) {
	w := newRawEdge(t, true, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	const chunks = "Transfer-Encoding: chunked\r\n\r\n0\r\n"
	w.tell(t, "POST /page HTTP/1.1\r\nHost: edge.test\r\nForwarded: for=198.51.100.7\r\n"+chunks+
		"Forwarded: for=203.0.113.9\r\nX-Trailer: y\r\n\r\n")
	seen, wrong := w.origin.take()
	if len(seen) != 1 || len(wrong) > 0 {
		t.Fatalf("the origin saw %v, %v", seen, wrong)
	}
	if got := seen[0].fields["forwarded"]; len(got) != 1 ||
		got[0] != "for=198.51.100.7, for=127.0.0.1;host=edge.test;proto=http" || seen[0].fields["x-trailer"] != nil {
		t.Errorf("the origin received %q", seen[0].fields)
	}
	m := w.tell(t, "GET /mdi/home.svg HTTP/1.1\r\nHost: edge.test\r\n"+chunks+"If-None-Match: \"e\"\r\n\r\n")
	if m.status() != 200 {
		t.Errorf("a condition in the trailers: %s", m.line)
	}
}

// The edge skips the body of a request that is over its limit, and does not read it as a request.
func TestHostileBodyOverTheLimit(t *testing.T) {
	w := newRawEdge(t, false, func(c *Config) { must(t, c.Limits.Set("verify=1/1m")) })
	conn := w.call(t)
	defer conn.Close()
	for i, want := range []int{200, 429, 429} {
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: edge.test\r\nContent-Length: %d\r\n\r\n%s", routes.VerifyPath,
			len(hiddenRequest), hiddenRequest)
		if m, err := conn.answer("POST", false); err != nil || m.status() != want {
			t.Fatalf("call %d: %s, %v, want %d", i+1, m.line, err, want)
		}
	}
	conn.send("GET /mdi/last.svg HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
	if err := conn.expect(wanted{200, "GET", "/mdi/last.svg", ""}, false); err != nil {
		t.Error(err)
	}
	if err := conn.ended(); err != nil {
		t.Error(err)
	}
	seen, _ := w.origin.take()
	for _, m := range seen {
		if strings.Contains(m.line, "hidden") {
			t.Errorf("the origin saw %s", m.line)
		}
	}
}
