package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// manySites returns a file with 50 sites and 200 rules: four in each site, or all in one.
func manySites(inOne bool) string {
	var b strings.Builder
	b.WriteString("version: 1\nsites:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "  - name: site%d\n    hosts: [site%d.test]\n    origins: {app: {urls: [\"http://10.0.0.1:80\"]}}\n    rules:\n",
			i, i)
		if inOne && i == 25 {
			for j := range 200 {
				fmt.Fprintf(&b, "      - {match: {path: \"/section%d/**\"}, ttl: 1h}\n", j)
			}
			continue
		}
		if inOne {
			b.WriteString("      []\n")
			continue
		}
		b.WriteString(`      - {match: {path: "/static/**"}, ttl: 1h, key: {query: none}}
      - {match: {cookie: session}, cache: bypass}
      - match: 'request.path.startsWith("/api/") && request.headers["x-debug"] == "1"'
        response_headers: {set: {X-Rule: debug}}
      - {match: {path: "/old/**"}, redirect: {to: "/new/$1"}}
`)
	}
	return b.String()
}

// BenchmarkSites measures a hit on a forwarded path over a connection, by the number of sites and
// rules.
func BenchmarkSites(b *testing.B) {
	for name, text := range map[string]string{
		"one site": "version: 1\nsites: [{name: a, hosts: [site25.test], origins: {app: {urls: " +
			"[\"http://10.0.0.1:80\"]}}}]\n",
		"50 sites and 200 rules":        manySites(false),
		"50 sites and 200 rules in one": manySites(true),
	} {
		b.Run(name, func(b *testing.B) {
			e := newFileEdge(b, text)
			conn, err := net.Dial("tcp", e.sockets.Public.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			b.ReportAllocs()
			for b.Loop() {
				io.WriteString(conn, "GET /section77/fresh HTTP/1.1\r\nHost: site25.test\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n")
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
			}
		})
	}
}
