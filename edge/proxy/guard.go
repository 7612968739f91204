package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/problem"
)

// refuse returns the error of a request that breaks the rules of HTTP, before the edge looks at its
// path; nil, if the request is sound. After some requests the edge closes the connection with the
// response, because the bytes that follow can't be trusted.
func refuse(r *pipeline.Request, sites *vhosts.Set) *problem.Problem {
	ctx, h := r.Ctx, &r.Ctx.Request.Header
	m := framing(h.RawHeaders())
	m.strict = m.strict && !r.Malformed
	p := refuseForm(ctx, m)
	if p == nil {
		p = refuseHost(r, sites)
	}
	// The end of such a request is in doubt: it has a body with a method that defines none, a body
	// whose length other servers may read differently, or bytes that may be of another protocol.
	undefined := (h.IsGet() || h.IsHead()) && (h.ContentLength() > 0 || r.Upload != nil)
	doubtful := undefined || m.coded || m.upgrading || h.IsConnect()
	if doubtful || m.closing || p != nil && (p.Status == fasthttp.StatusBadRequest || p.Status == fasthttp.StatusHTTPVersionNotSupported) {
		closeAfter(r)
	}
	if p == nil && m.coded {
		p = withoutTrailers(h)
	}
	return p
}

// readTarget gives a request the path and query of its target where fasthttp misreads it: it takes
// the text after two leading slashes for a host, and finds no path in a URL like http://host?query.
func readTarget(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	target := h.RequestURI()
	if _, rest, ok := bytes.Cut(target, []byte("://")); ok && target[0] != '/' {
		at := bytes.IndexAny(rest, "/?")
		if at < 0 || rest[at] != '?' {
			return
		}
		target = append([]byte("/"), rest[at:]...) // RFC 9112, section 3.2.1
	} else if !bytes.HasPrefix(target, []byte("//")) {
		return
	}
	path, query, _ := bytes.Cut(target, []byte("?"))
	uri := ctx.URI()
	uri.SetHostBytes(h.Host())
	uri.SetPathBytes(path)
	uri.SetQueryStringBytes(query)
}

// withoutTrailers removes the trailer fields of a request. The server adds them to the header
// fields, where one could pass for a field of a trusted proxy (RFC 9110, section 6.5.1).
func withoutTrailers(h *fasthttp.RequestHeader) *problem.Problem {
	head := fmt.Appendf(nil, "%s %s %s\r\n%s", h.Method(), h.RequestURI(), h.Protocol(), h.RawHeaders())
	if err := h.Read(bufio.NewReaderSize(bytes.NewReader(head), len(head))); err != nil {
		return pipeline.Unreadable(err)
	}
	return nil
}

// refuseForm returns the error of a request whose form is wrong; nil, if it is right.
func refuseForm(ctx *fasthttp.RequestCtx, m framed) *problem.Problem {
	h, path := &ctx.Request.Header, ctx.URI().PathOriginal()
	switch {
	case !m.strict:
		return pipeline.MalformedRequest("a line of the request is malformed")
	case m.coded && m.measured:
		// A client that sends both may be smuggling a request (RFC 9112, section 6.1).
		return pipeline.MalformedRequest("a request may have a Transfer-Encoding or a Content-Length, but not both")
	case string(h.Protocol()) != "HTTP/1.1" && string(h.Protocol()) != "HTTP/1.0":
		return problem.New(fasthttp.StatusHTTPVersionNotSupported, "the HTTP version of the request is not supported; use HTTP/1.1")
	case !expectable(pipeline.Field(ctx, fasthttp.HeaderExpect)):
		return problem.New(fasthttp.StatusExpectationFailed, "the only supported expectation is 100-continue")
	case len(h.RequestURI()) > exchange.MaxTarget:
		return longTarget()
	case bytes.Count(h.RawHeaders(), []byte{'\n'}) > exchange.MaxFields+1: // and the empty line
		return problem.New(fasthttp.StatusRequestHeaderFieldsTooLarge, "a request may have at most 100 header fields")
	case bytes.IndexByte(h.RequestURI(), '#') >= 0, len(path) == 0 && !h.IsConnect():
		return routes.Malformed()
	}
	return nil
}

func longTarget() *problem.Problem {
	return problem.New(fasthttp.StatusRequestURITooLong, "an address may have at most 8192 bytes")
}

// refuseHost returns the error of a request whose host is wrong; nil, if it is right. A request may
// have one Host field, and a target that is a whole URL must name the same host (RFC 9112, sections
// 3.2 and 3.2.2).
func refuseHost(r *pipeline.Request, sites *vhosts.Set) *problem.Problem {
	ctx := r.Ctx
	if r.Ambiguous {
		return pipeline.MalformedRequest("the request names its host twice, or in two ways")
	}
	host, absolute := string(ctx.Request.Header.Host()), false
	if named, ok := authority(string(ctx.Request.Header.RequestURI())); ok && !ctx.Request.Header.IsConnect() {
		if absolute = true; host != "" && !strings.EqualFold(host, named) {
			return pipeline.MalformedRequest("the address names another host than the Host field")
		}
		host = named
	}
	if (host != "" || absolute) && !hostport.ValidHost(host) {
		return pipeline.MalformedRequest("the Host field is malformed")
	}
	// Health checks name an IP address as the host.
	if r.IsHealthCheck() {
		return nil
	}
	if !serves(sites, pipeline.HostName(host)) {
		return misdirected()
	}
	return nil
}

// isForeignPort reports whether a host is one that the operator names, with a port that is none of
// the edge's.
func (h *Proxy) isForeignPort(sites *vhosts.Set, host string) bool {
	name, port := hostport.SplitHost(host)
	return port != "" && !h.Options.Ports[port] && !sites.TakesPort(name, port)
}

// refusedPort returns the error of a request with such a host that would be forwarded. Otherwise a
// client could have a page made, and stored, for each port.
func refusedPort() *problem.Problem {
	return pipeline.MalformedRequest("the port of the Host field is none of this server's; an operator can list it " +
		"with the name of the host")
}

// serves reports whether the edge answers for a host without a port.
func serves(sites *vhosts.Set, name string) bool {
	_, ok := sites.Find(name)
	return ok
}

func misdirected() *problem.Problem {
	return problem.New(fasthttp.StatusMisdirectedRequest, "this server does not answer for that host")
}

// authority returns the host of a target that is a whole URL. It is empty if the scheme is neither
// http nor https.
func authority(target string) (host string, ok bool) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || target[0] == '/' {
		return "", false
	}
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", true
	}
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		rest = rest[:at]
	}
	return rest, true
}

func expectable(expect string) bool {
	return expect == "" || strings.EqualFold(expect, "100-continue")
}

// A framed summarises the field lines of a message. fasthttp's parser keeps one framing field of
// two and only the last Connection, and accepts malformed lines that others read in another way,
// without reporting any of it.
type framed struct {
	coded, measured bool // the message has Transfer-Encoding, Content-Length
	closing         bool // close is among the options of Connection
	upgrading       bool // the message has Upgrade: another protocol may follow
	strict          bool // every line is well-formed, strictly by RFC 9112
}

// framing parses the field lines of a message. Each ends in CR LF, none is folded, a name is a
// token directly followed by its colon, and no byte is a control character (RFC 9112, sections 2.2,
// 5.1 and 5.2).
func framing(fields []byte) framed {
	m := framed{strict: true}
	for len(fields) > 0 {
		line, rest, ended := bytes.Cut(fields, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if last := len(line) == 0 && len(rest) == 0; !ended || !last && (!ok || !request.IsToken(name) || request.Controls(value)) {
			m.strict = false
			return m
		}
		m.field(name, value)
		fields = rest
	}
	return m
}

func (m *framed) field(name, value []byte) {
	switch len(name) {
	case len(fasthttp.HeaderTransferEncoding):
		m.coded = m.coded || is(name, fasthttp.HeaderTransferEncoding)
	case len(fasthttp.HeaderContentLength):
		m.measured = m.measured || is(name, fasthttp.HeaderContentLength)
	case len(fasthttp.HeaderConnection):
		m.closing = m.closing || is(name, fasthttp.HeaderConnection) && asksToClose(string(value))
	case len(fasthttp.HeaderUpgrade):
		m.upgrading = m.upgrading || is(name, fasthttp.HeaderUpgrade)
	}
}

func is(name []byte, field string) bool { return strings.EqualFold(string(name), field) }

// asksToClose reports whether close is one of the options.
func asksToClose(options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if strings.EqualFold(strings.Trim(option, " \t"), "close") {
			return true
		}
	}
	return false
}
