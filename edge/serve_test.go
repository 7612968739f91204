package edge

import (
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// BenchmarkHit measures one cache hit, without its connection.
func BenchmarkHit(b *testing.B) {
	for name, target := range map[string]string{"plain": "/mdi/home.svg", "colored": "/mdi/home.svg?color=f00",
		"search": "/api/v1/search?q=home"} {
		b.Run(name, func(b *testing.B) {
			e := newEdgeTest(b, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("search=1000000/1s") })
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
			if s := ctx.Response.Header.Peek("Cache-Status"); ctx.Response.StatusCode() != 200 || len(s) < 15 ||
				string(s[:15]) != "iconedge; hit; " {
				b.Fatalf("%d %s", ctx.Response.StatusCode(), s)
			}
		})
	}
}

// BenchmarkForwardedHit measures one hit of a forwarded path, without its connection.
func BenchmarkForwardedHit(b *testing.B) {
	for name, row := range map[string]struct {
		accept   string
		compress config.Compress
	}{"off": {"gzip, deflate, br, zstd", config.CompressOff}, "identity": {"", config.CompressAll},
		"br": {"gzip, deflate, br, zstd", config.CompressAll}} {
		b.Run(name, func(b *testing.B) {
			e := newEdgeTest(b, newSite(map[string]http.HandlerFunc{"/page": says(longText, "Content-Type",
				"text/html", "Cache-Control", "max-age=600", "ETag", `"1"`)}),
				func(c *Config) { c.ProxyAll = true })
			e.Sites().Only().Compress = row.compress
			e.warm(b, "/page", row.accept)
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, nil, nil)
			ctx.Request.SetRequestURI("/page")
			ctx.Request.Header.SetHost("edge.test")
			if row.accept != "" {
				ctx.Request.Header.Set("Accept-Encoding", row.accept)
			}
			ctx.Request.Header.SetProtocol("HTTP/1.1")
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				e.listeners.ServeH1(&ctx)
			}
			if ctx.Response.StatusCode() != 200 || name == "br" && len(ctx.Response.Body()) > len(longText)/2 {
				b.Fatal(ctx.Response.StatusCode(), len(ctx.Response.Body()))
			}
		})
	}
}
