package edge

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// streamHosts are the ways in which a stream can name its host: the lines of Host, then the
// expected status.
var streamHosts = []struct {
	name, scheme, authority string
	hosts                   []string
	status                  int
}{
	{"an authority alone", "http", "edge.test", nil, 200},
	{"a Host alone", "http", "", []string{"edge.test"}, 200},
	{"both, the same", "http", "edge.test", []string{"edge.test"}, 200},
	{"both, in another case", "http", "edge.test", []string{"Edge.TEST"}, 200},
	{"both, one with the port of its scheme", "http", "edge.test:80", []string{"edge.test"}, 200},
	{"the other one with the port of its scheme", "http", "edge.test", []string{"edge.test:80"}, 200},
	{"the port of another scheme", "http", "edge.test", []string{"edge.test:443"}, 400},
	{"neither, as in HTTP/1.0", "http", "", nil, 200},
	{"two Hosts without an authority", "http", "", []string{"edge.test", "other.test"}, 400},
	{"the same Host twice without an authority", "http", "", []string{"edge.test", "edge.test"}, 400},
	{"two Hosts, one as the authority", "http", "edge.test", []string{"edge.test", "other.test"}, 400},
	{"two Hosts, the last as the authority", "http", "edge.test", []string{"other.test", "edge.test"}, 400},
	{"the same Host twice", "http", "edge.test", []string{"edge.test", "edge.test"}, 400},
	{"another Host than the authority", "http", "edge.test", []string{"other.test"}, 400},
	{"another port than the authority", "http", "edge.test:8080", []string{"edge.test:8081"}, 400},
	{"an empty Host", "http", "edge.test", []string{""}, 400},
	{"an authority with too high a port", "http", "a:99999", nil, 400},
	{"a Host with too high a port", "http", "", []string{"a:99999"}, 400},
	{"both with too high a port", "http", "a:65536", []string{"a:65536"}, 400},
	{"the highest port", "http", "a:65535", nil, 200},
	{"userinfo", "http", "user@edge.test", nil, 400},
}

// A stream that names its host twice, in two ways or with an invalid port gets a 400, whether its
// response is cached or not.
func TestHostsOfHTTP2(t *testing.T) {
	t.Parallel()
	for _, reference := range []bool{false, true} {
		s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.ProxyAll, c.HTTP2Reference = true, reference })
		for _, row := range streamHosts {
			t.Run(fmt.Sprintf("%s, reference %v", row.name, reference), func(t *testing.T) {
				for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg", "/mdi/account.svg"} {
					status := askStream(t, s.plain, row.scheme, row.authority, target, row.hosts)
					if status != row.status && !(reference && row.status == 400 && status == 0) {
						t.Errorf("%s: %d, want %d", target, status, row.status)
					}
				}
			})
		}
	}
}

// dialH2 opens a connection of HTTP/2 in the clear, by prior knowledge, and sends the first bytes.
func dialH2(t *testing.T, address string) (net.Conn, *http2.Framer) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	must(t, err)
	c.SetDeadline(time.Now().Add(longEnough))
	io.WriteString(c, h2.Preface)
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	must(t, f.WriteSettings())
	return c, f
}

// askStream asks for a target over HTTP/2 in the clear, and returns the status; 0: the stream is
// reset.
func askStream(t *testing.T, address, scheme, authority, target string, hosts []string) int {
	t.Helper()
	c, f := dialH2(t, address)
	defer c.Close()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	enc.WriteField(hpack.HeaderField{Name: ":method", Value: "GET"})
	enc.WriteField(hpack.HeaderField{Name: ":scheme", Value: scheme})
	if authority != "" {
		enc.WriteField(hpack.HeaderField{Name: ":authority", Value: authority})
	}
	enc.WriteField(hpack.HeaderField{Name: ":path", Value: target})
	for _, host := range hosts {
		enc.WriteField(hpack.HeaderField{Name: "host", Value: host})
	}
	must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
	for {
		frame, err := f.ReadFrame()
		must(t, err)
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			n := 0
			for _, c := range frame.PseudoValue("status") {
				n = 10*n + int(c-'0')
			}
			return n
		case *http2.RSTStreamFrame:
			return 0
		case *http2.GoAwayFrame:
			t.Fatalf("%s %v: the connection ends: %v", authority, hosts, frame.ErrCode)
		}
	}
}

// Over HTTP/3 the same rules hold. Its library resets the stream in most of these cases before the
// edge sees the request.
func TestHostsOfHTTP3(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	for _, row := range streamHosts {
		q := &h2.Request{Method: http.MethodGet, Authority: row.authority, Path: "/mdi/home.svg", Secure: true}
		for _, host := range row.hosts {
			q.Fields = append(q.Fields, h2.Field{Name: []byte("host"), Value: []byte(strings.ReplaceAll(host, ":80", ":443"))})
		}
		q.Authority = strings.ReplaceAll(row.authority, ":80", ":443")
		if row.name == "the port of another scheme" {
			q.Fields[0].Value = []byte("edge.test:80")
		}
		t.Run(row.name, func(t *testing.T) {
			ctx := listen.NewContext(q)
			e.listeners.ServeStream(ctx, listen.NewExchange(listen.NewContext(q), q, exchange.H3), 0)
			if got := ctx.Response.StatusCode(); got != row.status {
				t.Errorf("%d, want %d", got, row.status)
			}
		})
	}
}
