// Package pipelinetest makes requests of the pipeline for tests, and reads their responses.
package pipelinetest

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/hostport"
)

// Client is the client of the requests.
var Client = net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}

// A Message is a request as the client sends it.
type Message struct {
	Method, URL, Body string
	Fields            []string // name, value, and so on
}

// New returns the record of a request for a site that arrived at now, as the entry of the pipeline
// makes it.
func New(t testing.TB, site *vhosts.Site, now time.Time, m Message) *pipeline.Request {
	t.Helper()
	u, err := url.Parse(m.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&fasthttp.Request{}, &Client, nil)
	h := &ctx.Request.Header
	h.SetMethod(m.Method)
	ctx.Request.SetRequestURI(u.RequestURI())
	h.SetHost(u.Host)
	for i := 0; i < len(m.Fields); i += 2 {
		h.Add(m.Fields[i], m.Fields[i+1])
	}
	ctx.Response.Header.SetNoDefaultContentType(true)
	peer := exchange.Address(&Client)
	x := &exchange.Request{Peer: peer, Client: peer, Arrived: now, Fields: h.All(), Lines: h.PeekAll,
		Body: func() []byte { return []byte(m.Body) }, Conn: exchange.Stream{}}
	r := &pipeline.Request{Request: x, Ctx: ctx, Site: site, Now: now}
	r.Public = access.Clients{}.Forwarded(x, u.Host, hostport.ValidHost)
	pipeline.Attach(ctx, r)
	return r
}

// An Answer is a response with its whole body.
type Answer struct {
	*http.Response
	Body string
	Err  error // of the body
}

// Read reads the response to a request.
func Read(r *pipeline.Request) Answer {
	a := Answer{Response: &http.Response{StatusCode: r.Ctx.Response.StatusCode(), Header: http.Header{},
		ContentLength: int64(r.Ctx.Response.Header.ContentLength())}}
	for name, value := range exchange.FieldsIn(r.Response.Lines) {
		a.Header.Add(string(name), string(value))
	}
	switch stream := r.Ctx.Response.BodyStream(); {
	case r.Ctx.IsHead(), r.Ctx.Response.SkipBody:
		if body := r.Ctx.Response.Body(); len(body) > 0 {
			a.ContentLength = int64(len(body))
		}
	case stream != nil:
		var body strings.Builder
		// A buffer that grows is slow under the race detector.
		body.Grow(int(min(max(a.ContentLength, 0), 8<<20)))
		_, a.Err = io.Copy(&body, stream)
		r.Ctx.Response.CloseBodyStream()
		a.Body = body.String()
	default:
		a.Body = string(r.Ctx.Response.Body())
	}
	return a
}

// Decoded returns the body without its content coding.
func (a Answer) Decoded(t testing.TB) string {
	t.Helper()
	var r io.Reader = strings.NewReader(a.Body)
	err := a.Err
	switch coding := a.Header.Get("Content-Encoding"); coding {
	case "":
	case "br":
		r = brotli.NewReader(r)
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r, zstd.WithDecoderMaxWindow(8<<20))
	default:
		t.Fatalf("Content-Encoding %q", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
