package edge

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/icon"
)

// BenchmarkMiss measures one cache miss, including an origin in the same process.
func BenchmarkMiss(b *testing.B) {
	e := newEdgeTest(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set(icon.FieldRelease, owntest.ReleaseA)
		h.Set(icon.FieldMonochrome, "?1")
		h.Set("Cache-Control", owntest.IconLife)
		h.Set("ETag", `"0123456789abcdef"`)
		h.Set("Surrogate-Key", "icon/mdi/home pack/mdi release/"+owntest.ReleaseA)
		h.Set("Content-Type", "image/svg+xml")
		io.WriteString(w, owntest.SVG(owntest.ReleaseA))
	}))
	release := owntest.ReleaseA
	e.library.Restore(release)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetHost("edge.test")
	ctx.Request.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	ctx.Request.Header.SetProtocol("HTTP/1.1")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ctx.Request.SetRequestURI(fmt.Sprintf("/mdi/i%d.svg", i))
		ctx.Response.Reset()
		e.listeners.ServeH1(&ctx)
		if ctx.Response.StatusCode() != 200 {
			b.Fatal(ctx.Response.StatusCode())
		}
	}
}
