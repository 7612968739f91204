package edge

import (
	"net"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/purge"
)

// portFile has a host without a port, one with two, a wildcard with one, and any host.
const portFile = `
version: 1
trusted_proxies: [127.0.0.0/8]
sites:
  - name: a
    hosts: [a.test, b.test, "b.test:9000", "B.test:09001", "*.w.test:9000"]
    origins: {app: {urls: ["http://10.0.0.5:80"]}}
  - name: rest
    hosts: ["*"]
    origins: {app: {urls: ["http://10.0.0.5:80"]}}
`

// Each spelling of a Host is one entry, which the origin gets as one Host. A port that is none of
// the edge's is 400 where the operator names the host, unless the port is listed with it.
func TestPorts(t *testing.T) {
	e := newFileEdge(t, portFile)
	_, port, err := net.SplitHostPort(e.Server.sockets.Public.Addr().String())
	must(t, err)
	for i, row := range []struct {
		host, fields string // X-Forwarded-Host, X-Forwarded-Proto
		status       int
		want         string // the Host that the origin gets
	}{
		{"a.test", "", 200, "a.test"}, {"A.TEST.", "", 200, "a.test"}, {"a.test:80", "", 200, "a.test"},
		{"a.test:00080", "", 200, "a.test"}, {"a.test:", "", 200, "a.test"},
		{"a.test:" + port, "", 200, "a.test:" + port}, {"a.test.:1" + port[:3], "", 400, ""},
		{"a.test:443", "", 200, "a.test:443"}, {"a.test:1", "", 400, ""}, {"a.test:9000", "", 400, ""},
		{"b.test:9000", "", 200, "b.test:9000"}, {"b.test.:09000", "", 200, "b.test:9000"},
		{"b.test:9001", "", 200, "b.test:9001"}, {"b.test:9002", "", 400, ""},
		{"x.w.test:9000", "", 200, "x.w.test:9000"}, {"x.w.test:9001", "", 400, ""}, {"x.w.test", "", 200, "x.w.test"},
		{"other.test:1", "", 200, "other.test:1"}, {"other.test.:01", "", 200, "other.test:1"},
		{"edge:1", "a.test., ", 200, "a.test"}, {"edge:1", "a.test:443, https", 200, "a.test"},
		{"edge:1", "a.test:0443, https", 200, "a.test"}, {"edge:1", "a.test:80, https", 200, "a.test:80"},
		{"edge:1", "a.test:1, https", 400, ""}, {"edge:1", "b.test:9000, https", 200, "b.test:9000"},
		{"a.test:1", "b.test, ", 200, "b.test"},
	} {
		var fields []string
		if host, proto, ok := strings.Cut(row.fields, ", "); ok {
			fields = []string{"X-Forwarded-Host", host, "X-Forwarded-Proto", proto}
		}
		resp, body := e.ask(t, "GET http://"+row.host+"/x"+string(rune('a'+i)), fields...)
		if resp.StatusCode != row.status || row.status == 200 && !strings.Contains(body, " host="+row.want+" ") {
			t.Errorf("%+v: %d %s", row, resp.StatusCode, body)
		}
	}
	e.run(t, []fileStep{
		{"GET http://a.test/fresh", nil, 200, "stored"},
		{"GET http://A.test.:00080/fresh", nil, 200, "hit"},
		{"GET http://b.test:9000/fresh", nil, 200, "stored"},
		{"GET http://b.test.:09000/fresh", nil, 200, "hit"},
	})
	if n := e.Server.purges.Purge(purge.Call{URLs: []string{"http://A.test.:0080/fresh"}}); n != 1 {
		t.Errorf("a purge of another spelling removed %d", n)
	}
}
