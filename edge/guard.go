package edge

import (
	"bytes"
	"errors"
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/problem"
)

const (
	maxTarget = 8 << 10  // bytes of a request target
	maxHead   = 16 << 10 // bytes of a request's line and fields together
	maxBody   = 64 << 10 // bytes of a body that is read at all

	maxForwarded = 8 << 20 // bytes of a body that is forwarded
)

// refuse says what is wrong with a message as HTTP, before anybody looks at what it asks for; nil, if nothing is. After some
// messages nothing more may be read from their connection: it is closed with the answer.
func refuse(ctx *fasthttp.RequestCtx, hosts []string) *problem.Problem {
	h := &ctx.Request.Header
	coded, measured := framing(h.RawHeaders())
	if coded || h.ContentLength() > 0 && (h.IsGet() || h.IsHead()) || asksToClose(h.Peek(fasthttp.HeaderConnection)) {
		// A body where none belongs, or one whose length others may read differently: what comes after it is not trusted.
		closeAfter(ctx)
	}
	switch {
	case coded && measured:
		// A sender of both may be smuggling (RFC 9112, section 6.1).
		return problem.New(fasthttp.StatusBadRequest, "a request has a Transfer-Encoding or a Content-Length, not both")
	case string(h.Protocol()) != "HTTP/1.1" && string(h.Protocol()) != "HTTP/1.0":
		closeAfter(ctx)
		return problem.New(fasthttp.StatusHTTPVersionNotSupported, "this address speaks HTTP/1.1")
	case !expectable(h.Peek(fasthttp.HeaderExpect)):
		return problem.New(fasthttp.StatusExpectationFailed, "the only expectation that is met is 100-continue")
	case len(h.RequestURI()) > maxTarget:
		return problem.New(fasthttp.StatusRequestURITooLong, "an address has at most 8192 bytes")
	case bytes.IndexByte(h.RequestURI(), '#') >= 0, bytes.HasPrefix(h.RequestURI(), []byte("//")):
		return malformed()
	}
	return refuseHost(string(ctx.Host()), string(ctx.Request.URI().PathOriginal()), hosts)
}

func malformed() *problem.Problem {
	return problem.New(fasthttp.StatusBadRequest, "the address is malformed: paths here are of lower-case letters, digits, hyphens, dots and single slashes, nothing percent-encoded")
}

func refuseHost(host, path string, hosts []string) *problem.Problem {
	if host != "" && !wellFormedHost(host) {
		return problem.New(fasthttp.StatusBadRequest, "the Host field is malformed")
	}
	if len(hosts) == 0 || path == healthPath { // health checks come by address
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

// framing reports whether a message's fields have a Transfer-Encoding, and a Content-Length. The server's parser keeps one of
// them only.
func framing(fields []byte) (coded, measured bool) {
	for len(fields) > 0 {
		line := fields
		if i := bytes.IndexByte(fields, '\n'); i >= 0 {
			line, fields = fields[:i], fields[i+1:]
		} else {
			fields = nil
		}
		if len(line) == 0 {
			continue
		}
		switch line[0] | 0x20 {
		case 't':
			coded = coded || hasName(line, fasthttp.HeaderTransferEncoding)
		case 'c':
			measured = measured || hasName(line, fasthttp.HeaderContentLength)
		}
	}
	return coded, measured
}

func hasName(line []byte, name string) bool {
	i := bytes.IndexByte(line, ':')
	return i >= 0 && strings.EqualFold(string(bytes.TrimRight(line[:i], " \t")), name)
}

// asksToClose reports whether "close" is in a Connection field; the parser knows it only when it stands alone in lower case.
func asksToClose(connection []byte) bool {
	if len(connection) == 0 {
		return false
	}
	for token := range strings.SplitSeq(string(connection), ",") {
		if strings.EqualFold(strings.Trim(token, " \t"), "close") {
			return true
		}
	}
	return false
}

func expectable(expect []byte) bool {
	return len(expect) == 0 || strings.EqualFold(string(expect), "100-continue")
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
	for i := 0; i < len(port); i++ {
		if port[i] < '0' || port[i] > '9' {
			return false
		}
	}
	if len(port) > 5 || host == "" || len(host) > 255 {
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
		return problem.New(fasthttp.StatusRequestHeaderFieldsTooLarge, "the request's line and fields have at most 16384 bytes")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return problem.New(fasthttp.StatusRequestEntityTooLarge, "the body is too large")
	case errors.As(err, &timeout) && timeout.Timeout():
		return problem.New(fasthttp.StatusRequestTimeout, "the request did not come in time")
	}
	return problem.New(fasthttp.StatusBadRequest, "the request is malformed")
}
