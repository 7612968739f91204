package edge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/problem"
)

const (
	maxTarget = 8 << 10  // bytes of a request target
	maxHead   = 16 << 10 // bytes of a request's line and fields together
	maxFields = 100      // lines of them
	maxBody   = 64 << 10 // bytes of a body that is read at all

	maxForwarded = 8 << 20 // bytes of a body that is forwarded
)

// refuse says what is wrong with a message as HTTP, before anybody looks at what it asks for; nil, if nothing is. After some
// messages nothing more may be read from their connection: it is closed with the answer.
func refuse(r *request, hosts []string) *problem.Problem {
	ctx, h := r.ctx, &r.ctx.Request.Header
	m := framing(h.RawHeaders())
	m.sound = m.sound && !r.Malformed
	p := misread(ctx, m)
	if p == nil {
		p = refuseHost(r, hosts)
	}
	// A body where none belongs, one whose length others may read differently, or bytes that may be of another protocol: what
	// comes after them is not trusted.
	doubtful := m.coded || m.upgrading || h.IsConnect() || h.ContentLength() > 0 && (h.IsGet() || h.IsHead())
	if doubtful || m.closing || p != nil && (p.Status == fasthttp.StatusBadRequest || p.Status == fasthttp.StatusHTTPVersionNotSupported) {
		closeAfter(r)
	}
	if p == nil && m.coded {
		p = withoutTrailers(h)
	}
	return p
}

// illFormed is the 400 of a message that HTTP forbids. The next client's for the same address may be well formed: no cache keeps it.
func illFormed(detail string) *problem.Problem {
	return problem.New(fasthttp.StatusBadRequest, detail).With(fasthttp.HeaderCacheControl, "no-store")
}

// withoutTrailers takes out of a request's fields those that came behind its chunks. The server adds them to the others, where one
// could pass for the word of a proxy (RFC 9110, section 6.5.1).
func withoutTrailers(h *fasthttp.RequestHeader) *problem.Problem {
	head := fmt.Appendf(nil, "%s %s %s\r\n%s", h.Method(), h.RequestURI(), h.Protocol(), h.RawHeaders())
	if err := h.Read(bufio.NewReaderSize(bytes.NewReader(head), len(head))); err != nil {
		return unreadable(err)
	}
	return nil
}

// misread says what is wrong with the form of a message.
func misread(ctx *fasthttp.RequestCtx, m framed) *problem.Problem {
	h, path := &ctx.Request.Header, ctx.URI().PathOriginal()
	switch {
	case !m.sound:
		return illFormed("a line of the request is malformed")
	case m.coded && m.measured:
		// A sender of both may be smuggling (RFC 9112, section 6.1).
		return illFormed("a request has a Transfer-Encoding or a Content-Length, not both")
	case string(h.Protocol()) != "HTTP/1.1" && string(h.Protocol()) != "HTTP/1.0":
		return problem.New(fasthttp.StatusHTTPVersionNotSupported, "this address speaks HTTP/1.1")
	case !expectable(joined(ctx, fasthttp.HeaderExpect)):
		return problem.New(fasthttp.StatusExpectationFailed, "the only expectation that is met is 100-continue")
	case len(h.RequestURI()) > maxTarget:
		return longTarget()
	case bytes.Count(h.RawHeaders(), []byte{'\n'}) > maxFields+1: // with the empty line behind them
		return problem.New(fasthttp.StatusRequestHeaderFieldsTooLarge, "a request has at most 100 fields")
	case bytes.IndexByte(h.RequestURI(), '#') >= 0, bytes.HasPrefix(path, []byte("//")), len(path) == 0 && !h.IsConnect():
		return malformed()
	}
	return nil
}

func longTarget() *problem.Problem {
	return problem.New(fasthttp.StatusRequestURITooLong, "an address has at most 8192 bytes")
}

func malformed() *problem.Problem {
	return illFormed("the address is malformed: paths here are of lower-case letters, digits, hyphens, dots and single slashes, nothing percent-encoded")
}

// refuseHost says what is wrong with the host that a request is for: the field is one, and a target that names a host as well
// names the same (RFC 9112, sections 3.2 and 3.2.2).
func refuseHost(r *request, hosts []string) *problem.Problem {
	ctx := r.ctx
	if r.Ambiguous {
		return illFormed("the request names its host twice, or in two ways")
	}
	host, absolute := string(ctx.Request.Header.Host()), false
	if named, ok := authority(string(ctx.Request.Header.RequestURI())); ok && !ctx.Request.Header.IsConnect() {
		if absolute = true; host != "" && !strings.EqualFold(host, named) {
			return illFormed("the address names another host than the Host field")
		}
		host = named
	}
	if (host != "" || absolute) && !wellFormedHost(host) {
		return illFormed("the Host field is malformed")
	}
	if len(hosts) == 0 || string(ctx.URI().PathOriginal()) == healthPath { // health checks come by address
		return nil
	}
	name, _ := splitHost(host)
	for _, known := range hosts {
		if strings.EqualFold(known, name) {
			return nil
		}
	}
	return problem.New(fasthttp.StatusMisdirectedRequest, "this server does not answer for that host")
}

// authority is what a target that is a whole address names as its host; of another scheme than http and https nothing.
func authority(target string) (host string, ok bool) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || target[0] == '/' {
		return "", false
	}
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", true
	}
	host, _, _ = strings.Cut(rest, "/")
	return host, true
}

func expectable(expect string) bool {
	return expect == "" || strings.EqualFold(expect, "100-continue")
}

// splitHost cuts the port off a Host field; the brackets of an IPv6 address stay.
func splitHost(s string) (host, port string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// wellFormedHost reports whether s is a name or an address, perhaps with a port (RFC 9110, section 7.2).
func wellFormedHost(s string) bool {
	host, port := splitHost(s)
	if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil || len(port) > 5 || host == "" || len(host) > 255 {
		return false
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return net.ParseIP(host[1:len(host)-1]) != nil
	}
	for i := 0; i < len(host); i++ {
		switch c := host[i] | 0x20; {
		case 'a' <= c && c <= 'z' && host[i] >= 'A', '0' <= host[i] && host[i] <= '9', host[i] == '-', host[i] == '.', host[i] == '_':
		default:
			return false
		}
	}
	return true
}

// unreadable is the answer to what could not be read as a request at all.
func unreadable(err error) *problem.Problem {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		return refusedAs(fasthttp.StatusRequestHeaderFieldsTooLarge)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return refusedAs(fasthttp.StatusRequestEntityTooLarge)
	case errors.Is(err, bodies.ErrCrowded):
		return refusedAs(fasthttp.StatusServiceUnavailable)
	case errors.As(err, &timeout) && timeout.Timeout():
		return refusedAs(fasthttp.StatusRequestTimeout)
	}
	return illFormed("the request is malformed")
}

// refusedAs is the answer to a request that can't be read to its end, whatever protocol it comes by.
func refusedAs(status int) *problem.Problem {
	p := problem.New(status, map[int]string{
		fasthttp.StatusRequestTimeout:              "the request did not come in time",
		fasthttp.StatusRequestEntityTooLarge:       "the body is too large",
		fasthttp.StatusRequestHeaderFieldsTooLarge: "the request's line and fields have at most 16384 bytes",
		fasthttp.StatusServiceUnavailable:          "too many long requests are being read; trying again in a moment may help",
	}[status])
	if status == fasthttp.StatusServiceUnavailable {
		p.With("Retry-After", "1")
	}
	return p
}
