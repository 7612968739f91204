package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// Over HTTP/2 the hit path and the pipeline send the same fields in the same order. Content-Length
// is the exception: the pipeline's server adds it at the end.
func TestFieldsOverHTTP2(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("search=1000000/1h") })
	must(t, e.library.Poll())
	for _, target := range hotTargets[:5] {
		e.get(t, target)
		for _, tag := range []string{"", "a tag"} {
			var fast, slow []string
			if !e.agree(t, func() bool {
				slow = e.pipelineFields(target, "")
				q, etag := ready(target), ""
				if tag != "" {
					etag = valueOf(slow, "etag")
					q.IfNoneMatch = []byte(etag)
				}
				slow = e.pipelineFields(target, etag)
				fast = e.fastFields(t, q.Target, q.IfNoneMatch)
				return slices.Equal(fast, slow)
			}) {
				t.Errorf("%s, %q\nfast: %q\nslow: %q", target, tag, fast, slow)
				continue
			}
			if want := map[string]string{"": "200", "a tag": "304"}[tag]; fast[0] != ":status: "+want {
				t.Errorf("%s, %q: %s, want %s", target, tag, fast[0], want)
			}
		}
	}
}

// fastFields returns the fields of the hit path's response; nil: the pipeline has to answer.
func (e *edgeTest) fastFields(t *testing.T, target, tag []byte) []string {
	t.Helper()
	q := ready(string(target))
	q.IfNoneMatch = tag
	out, block, ok := e.AnswerH2(nil, q, new(h2.ClientTable))
	if !ok {
		return nil // the entity tag is that of another coding, which has been made since
	}
	fields, err := hpack.NewDecoder(4096, nil).DecodeFull(out[:block])
	must(t, err)
	var list []string
	for _, f := range fields {
		list = append(list, f.Name+": "+f.Value)
	}
	return comparable(list)
}

// pipelineFields returns the fields of the pipeline's response.
func (e *edgeTest) pipelineFields(target, tag string) []string {
	q := &h2.Request{Method: http.MethodGet, Authority: "edge.test", Path: target, Client: ready("").Client,
		Fields: []h2.Field{{Name: []byte("accept-encoding"), Value: ready("").AcceptEncoding}}}
	if tag != "" {
		q.Fields = append(q.Fields, h2.Field{Name: []byte("if-none-match"), Value: []byte(tag)})
	}
	ctx := listen.NewContext(q)
	x := listen.NewExchange(ctx, q, exchange.H2)
	e.listeners.ServeStream(ctx, x, 0)
	list := []string{fmt.Sprint(":status: ", ctx.Response.StatusCode())}
	for name, value := range exchange.FieldsIn(x.Response.Lines) {
		list = append(list, strings.ToLower(string(name))+": "+string(value))
	}
	return comparable(list)
}

// comparable leaves out the state of the limit, which each request changes, and Content-Length.
func comparable(fields []string) (list []string) {
	for _, f := range fields {
		name, _, _ := strings.Cut(f, ": ")
		switch name {
		case "content-length":
			continue
		case "ratelimit":
			f = name
		}
		list = append(list, f)
	}
	return list
}

func valueOf(fields []string, name string) string {
	for _, f := range fields {
		if value, ok := strings.CutPrefix(f, name+": "); ok {
			return value
		}
	}
	return ""
}
