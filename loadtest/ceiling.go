//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

const ceilingHelp = `
Answers with the stored responses of another server, with bodies and header sections of the same length, and with no more
code than fasthttp needs. No cache on fasthttp can cost less, so its speed is the upper bound for one.

  loadtest ceiling --listen 127.0.0.1:8090 --copy http://127.0.0.1:8080

It fetches each response from the other server once, when it is first requested.`

func runCeiling(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("ceiling", "", ceilingHelp)
	listen := fs.String("listen", "127.0.0.1:0", "`address` to answer on")
	copied := fs.String("copy", "", "`URL` of the server whose responses are copied")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	from, err := parseTarget(ctx, *copied)
	if err != nil {
		return cli.Usage("--copy: " + err.Error())
	}
	c := &ceiling{from: from, kept: map[variant]map[string]*copiedAnswer{}}
	return listenAndServe(ctx, std, *listen, c.serve)
}

// listenAndServe runs a bare fasthttp server until ctx ends.
func listenAndServe(ctx context.Context, std cli.Streams, address string, handler fasthttp.RequestHandler) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "listening address=%s\n", ln.Addr())
	server := &fasthttp.Server{Handler: handler, NoDefaultServerHeader: true}
	stopped := context.AfterFunc(ctx, func() { ln.Close() })
	defer stopped()
	if err := server.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}

// A ceiling stores responses by the properties in which its requests may differ.
type ceiling struct {
	from target
	mu   sync.RWMutex
	kept map[variant]map[string]*copiedAnswer
}

type variant struct {
	conditional bool
	coding      string // the Accept-Encoding field, unparsed
}

// A copiedAnswer is the response of another server. The field fill makes its header section as long
// as the other server's.
type copiedAnswer struct {
	status                          int
	contentType, coding, etag, fill []byte
	body                            []byte
}

var (
	fieldETag = []byte("Etag")
	fieldFill = []byte("X-Fill")
)

func (c *ceiling) serve(ctx *fasthttp.RequestCtx) {
	a := c.find(ctx)
	if a == nil {
		var err error
		if a, err = c.copy(ctx); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusBadGateway)
			return
		}
	}
	r := &ctx.Response
	r.SetStatusCode(a.status)
	r.Header.SetContentTypeBytes(a.contentType)
	r.Header.SetCanonical(fieldETag, a.etag)
	if len(a.coding) > 0 {
		r.Header.SetContentEncodingBytes(a.coding)
	}
	if len(a.fill) > 0 {
		r.Header.SetCanonical(fieldFill, a.fill)
	}
	r.SetBodyRaw(a.body)
}

func (c *ceiling) find(ctx *fasthttp.RequestCtx) *copiedAnswer {
	h := &ctx.Request.Header
	conditional := len(h.Peek("If-None-Match")) > 0
	c.mu.RLock()
	defer c.mu.RUnlock()
	// A lookup does not copy the string of its key.
	coding := h.Peek("Accept-Encoding")
	return c.kept[variant{conditional, string(coding)}][string(ctx.RequestURI())]
}

// copy fetches the response from the other server, with the request fields that it depends on.
func (c *ceiling) copy(ctx *fasthttp.RequestCtx) (copied *copiedAnswer, err error) {
	m := mix.Maker{Host: c.from.host}
	for _, name := range []string{"Accept-Encoding", "If-None-Match"} {
		if value := ctx.Request.Header.Peek(name); len(value) > 0 {
			m.Fields = append(m.Fields, name+": "+string(value))
		}
	}
	uri := string(ctx.RequestURI())
	err = load.Ask(ctx, c.from.addr, 1, func(int) []byte { return m.Get(uri) }, func(_ int, a load.Answer) error {
		copied = c.store(ctx, uri, a)
		return nil
	})
	return copied, err
}

// store builds a response of the same length as a, and stores it.
func (c *ceiling) store(ctx *fasthttp.RequestCtx, uri string, a load.Answer) *copiedAnswer {
	copied := &copiedAnswer{
		status: a.Status, body: a.Body, contentType: []byte(a.Header.Get("Content-Type")), coding: []byte(a.Header.Get("Content-Encoding")),
		etag: []byte(a.Header.Get("ETag")),
	}
	theirs, ours := 0, len("Date: Sat, 21 Nov 2026 16:31:29 GMT\r\nX-Fill: \r\n")
	for name, values := range a.Header {
		for _, value := range values {
			n := len(name) + len(": \r\n") + len(value)
			theirs += n
			if name == "Content-Type" || name == "Content-Encoding" || name == "Etag" || name == "Content-Length" {
				ours += n
			}
		}
	}
	copied.fill = []byte(strings.Repeat("x", max(0, theirs-ours)))
	c.mu.Lock()
	defer c.mu.Unlock()
	v := variant{len(ctx.Request.Header.Peek("If-None-Match")) > 0, string(ctx.Request.Header.Peek("Accept-Encoding"))}
	if c.kept[v] == nil {
		c.kept[v] = map[string]*copiedAnswer{}
	}
	c.kept[v][uri] = copied
	return copied
}
