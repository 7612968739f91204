package edge

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// BenchmarkHit measures one cache hit, without its connection.
func BenchmarkHit(b *testing.B) {
	for name, target := range map[string]string{"plain": "/mdi/home.svg", "colored": "/mdi/home.svg?color=f00", "search": "/api/v1/search?q=home"} {
		b.Run(name, func(b *testing.B) {
			e := newEdgeTest(b, newOurOrigin(), func(c *Config) { c.Limits.Set("search=1000000/1s") })
			e.library.Poll()
			e.get(b, target)
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, nil, nil)
			ctx.Request.SetRequestURI(target)
			ctx.Request.Header.SetHost("edge.test")
			ctx.Request.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
			ctx.Request.Header.SetProtocol("HTTP/1.1")
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				e.listeners.ServeH1(&ctx)
			}
			if s := ctx.Response.Header.Peek("Cache-Status"); ctx.Response.StatusCode() != 200 || len(s) < 15 || string(s[:15]) != "iconedge; hit; " {
				b.Fatalf("%d %s", ctx.Response.StatusCode(), s)
			}
		})
	}
}
