package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/problem"
)

// Each failure of an origin has its type (RFC 9209, section 2.3).
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	none := func(*url.URL) {}
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	at := func(s *httptest.Server) func(*url.URL) {
		return func(u *url.URL) { u.Scheme, u.Host = "https", s.Listener.Addr().String() }
	}
	long := "http_protocol_error" // of net/http, which tells this error by its text alone
	if everyLean {
		long = "http_response_header_section_size"
	}
	for name, row := range map[string]struct {
		speaks func(net.Conn, string) bool // nil: by the address
		change func(*url.URL)
		config Config
		dial   error // in place of a connection
		want   string
	}{
		"no listener": {nil, func(u *url.URL) { u.Host = "127.0.0.1:1" }, Config{}, nil, "connection_refused"},
		"no name": {nil, none, Config{}, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "a.test",
			IsNotFound: true}}, "dns_error"},
		"slow name": {nil, none, Config{}, &net.DNSError{Err: "timeout", Name: "a.test", IsTimeout: true},
			"dns_timeout"},
		"no certificate that is trusted": {nil, at(untrusted), Config{}, nil, "tls_certificate_error"},
		"no TLS":                         {nil, at(plain), Config{}, nil, "tls_protocol_error"},
		"a long head": {responds("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 2<<20) + "\r\n\r\n"),
			none, Config{}, nil, long},
		"no HTTP": {responds("220 mail.test ESMTP\r\n\r\n"), none, Config{}, nil, "http_protocol_error"},
		"two lengths": {responds("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
			none, Config{}, nil, "http_protocol_error"},
		"no response": {func(net.Conn, string) bool { return false }, none, Config{}, nil, "connection_terminated"},
		"too late":    {hangs, none, Config{FirstByte: 50 * time.Millisecond}, nil, "http_response_timeout"},
		"a body cut": {func(c net.Conn, _ string) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
			return false
		}, none, Config{}, nil, "http_response_incomplete"},
		"a handshake that hangs": {hangs, func(u *url.URL) { u.Scheme = "https" }, Config{Connect: 50 * time.Millisecond}, nil,
			"connection_timeout"},
		"a body paused": {responds("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
			none, Config{Idle: 50 * time.Millisecond}, nil, "connection_read_timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
			if row.speaks != nil {
				u = serve(t, row.speaks).url()
			}
			row.change(u)
			row.config.Origins, row.config.TLS = [][]*url.URL{{u}}, func() *tls.Config { return &tls.Config{} }
			c := newClient(row.config)
			defer c.Close()
			if row.dial != nil {
				c.dialWith(func(context.Context, string, string) (net.Conn, error) { return nil, row.dial })
			}
			_, err := fetch(t.Context(), c, get("/"))
			got := string(TypeOf(err))
			if p, ok := errors.AsType[*problem.Problem](err); ok && string(p.ProxyError()) != got {
				t.Errorf("the problem has the type %q, the error %q", p.ProxyError(), got)
			}
			if got != row.want {
				t.Errorf("%s, want %s: %v", got, row.want, err)
			}
		})
	}
}
