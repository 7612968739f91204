package rules

import (
	"strings"
	"testing"
)

// BenchmarkCost measures the dearest requests of a reviewer, and some that any site may have.
func BenchmarkCost(b *testing.B) {
	for _, row := range []struct {
		name, match string
		q           *Request
	}{
		{"stars in a segment", `{path: "/slug/*-*-*/p/*"}`, get("/slug/" + strings.Repeat("-", 8000))},
		{"stars across", `{path: "/two/**/x/**/y/**"}`, get("/two" + strings.Repeat("/x", 4000))},
		{"field", `{header: {User-Agent: "*bot*http*"}}`, get("/", "User-Agent", strings.Repeat("bot", 13000/3))},
		{"short path", `{path: "/static/**"}`, get("/static/js/app.12345.js")},
		{"short suffix", `{path: "**.css"}`, get("/static/css/app.12345.css")},
		{"short regex", `{path_regex: "/[a-z]+/[0-9]+"}`, get("/articles/12345")},
		{"short expression", `'request.path.startsWith("/api/") && request.headers["x-debug"] == "1"'`, get("/api/x", "X-Debug", "1")},
		{"cookie", `{cookie: {session: "a*"}}`, get("/", "Cookie", "a=b; c=d; session=abcdef")},
	} {
		b.Run(row.name, func(b *testing.B) {
			s := compile(b, "  - {match: "+row.match+", ttl: 1m}\n")
			b.ReportAllocs()
			began := cpuTime(b)
			var d Decision
			for b.Loop() {
				q := *row.q
				s.DecideInto(&d, &q)
			}
			b.ReportMetric(float64((cpuTime(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
