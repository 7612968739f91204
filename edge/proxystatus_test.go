package edge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
)

// Errors that the edge makes say so, in Proxy-Status and in the access log, with the cause for
// clients on the allow list alone. Responses of the origin have what the origin says.
func TestProxyStatus(t *testing.T) {
	t.Parallel()
	const file = `version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}, down: {urls: ["http://127.0.0.1:1"]}}
    origin: app
    rules:
      - {match: {path: "/down/**"}, origin: down}
      - {match: {path: "/denied"}, deny: [127.0.0.0/8]}
`
	dir := t.TempDir()
	lines, allowed := filepath.Join(dir, "access.log"), filepath.Join(dir, "allowed")
	must(t, os.WriteFile(allowed, []byte("127.0.0.1\n"), 0o600))
	e := newFileEdge(t, file, "--node", "fra-1", "--access-log", lines)
	e.run(t, []fileStep{
		{"GET http://a.test/down/x", nil, 502, "Proxy-Status: fra-1; error=connection_refused\r\n|Cache-Status: iconedge; fwd="},
		{"GET http://a.test/denied", nil, 403, "Proxy-Status: fra-1; error=http_request_denied\r\n"},
		{"TRACE http://a.test/x", nil, 405, "Proxy-Status: fra-1; error=http_request_error\r\n"},
		{"GET http://a.test/x", []string{"Cache-Control", "only-if-cached"}, 504, "Proxy-Status: fra-1; error=proxy_internal_response\r\n"},
		{"GET http://a.test/missing", nil, 404, "!Proxy-Status"},
		{"GET http://a.test/fresh", nil, 200, "!Proxy-Status"},
	})
	var b []byte
	fetchtest.Settled(t, "the access log has six lines", func() bool {
		var err error
		b, err = os.ReadFile(lines)
		must(t, err)
		return strings.Count(string(b), "\n") == 6
	})
	for _, part := range []string{`"/down/x","host":"a.test","status":502,`, `"error":"connection_refused"`, `"error":"http_request_denied"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("the access log has no %s:\n%s", part, b)
		}
	}
	if n := strings.Count(string(b), `"error":"`); n != 4 {
		t.Errorf("%d lines have an error, want 4:\n%s", n, b)
	}
	trusted := newFileEdge(t, file, "--allow-file", allowed)
	trusted.run(t, []fileStep{
		{"GET http://a.test/down/x", nil, 502, `Proxy-Status: iconedge; error=connection_refused; details="|connect: connection refused|127.0.0.1:1`},
	})
}
