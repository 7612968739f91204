package upstream

import (
	"io"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/edge/exchange"
)

// A Switched is the connection to an origin that has switched to another protocol (RFC 9110,
// section 15.2.2). It belongs to one client alone. Bytes that the origin sent together with the 101
// are read first.
type Switched struct {
	io.ReadWriteCloser
	Protocol string // as the origin named it
}

// CloseWrite ends the direction to the origin, and leaves the other one open.
func (s *Switched) CloseWrite() error {
	return s.ReadWriteCloser.(interface{ CloseWrite() error }).CloseWrite()
}

// switches reports whether a 101 switches to a protocol that the request names. Any other 101 is
// malformed: the bytes behind it would be of a protocol that the client does not speak.
func switches(resp *http.Response, req *http.Request) bool {
	return exchange.Switches(strings.Join(req.Header["Upgrade"], ", "), strings.Join(resp.Header["Upgrade"], ", "))
}

// switchTo makes a the response of an origin that has switched to a protocol. Such a response has
// no body, and its framing fields mean nothing (RFC 9110, section 8.6).
func (a *Response) switchTo(protocol string, conn io.ReadCloser) {
	a.Switched = &Switched{conn.(io.ReadWriteCloser), protocol}
	a.Body, a.Length, a.UntilClose = http.NoBody, 0, false
	a.Header.Del("Content-Length")
}
