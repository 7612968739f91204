package edge

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// newHTTP2Origin starts an origin that speaks HTTP/2 alone, and returns its URL and the file of the
// authority that has signed its certificate.
func newHTTP2Origin(t *testing.T, h http.HandlerFunc, secure bool) (url, ca string) {
	t.Helper()
	o := httptest.NewUnstartedServer(h)
	o.Config.Protocols = new(http.Protocols)
	o.Config.Protocols.SetHTTP2(secure)
	o.Config.Protocols.SetUnencryptedHTTP2(!secure)
	t.Cleanup(o.Close)
	if !secure {
		o.Start()
		return strings.Replace(o.URL, "http://", "h2c://", 1), ""
	}
	cert, key := certstest.Pair(t, t.TempDir(), "origin", "origin", "127.0.0.1", "edge.test")
	pair, err := tls.LoadX509KeyPair(cert, key)
	must(t, err)
	o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	o.EnableHTTP2 = true
	o.StartTLS()
	return strings.Replace(o.URL, "https://", "h2://", 1), cert
}

// The edge speaks HTTP/2 with an origin of h2 or h2c, caches its responses, and passes its trailer
// fields on over HTTP/2 and HTTP/3.
func TestHTTP2Origin(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"h2c": false, "h2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, ca := newHTTP2Origin(t, func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" {
					t.Errorf("the origin got %s with TE: %q", r.Proto, r.Header.Get("Te"))
				}
				if r.Method == http.MethodGet {
					w.Header().Set("Cache-Control", "max-age=60")
					io.WriteString(w, "cached")
					return
				}
				b, _ := io.ReadAll(r.Body)
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				w.Write(b)
				w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
				w.Header().Set(http.TrailerPrefix+"Cache-Control", "max-age=1000000")
				w.Header().Set(http.TrailerPrefix+"Set-Cookie", "a=b")
			}, secure)
			s := newSecured(t, http.NotFoundHandler(), func(c *Config) {
				c.ProxyAll = true
				c.Origins.Set(url)
				if secure {
					c.OriginCA = ca
				}
			})
			for _, way := range []string{"h1", "h2", "h2c", "h3", "reference of h2c"} {
				if wayOf[way].reference {
					continue
				}
				e := s.by(t, way)
				if a := e.get(t, "/page"); a.StatusCode != 200 || a.body != "cached" || a.Header.Get("Via") != "2 iconedge" {
					t.Errorf("%s: %d %q %v", way, a.StatusCode, a.body, a.Header)
				}
				scheme := map[bool]string{true: "https", false: "http"}[wayOf[way].secure]
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://edge.test/echo",
					bytes.NewReader([]byte("hello")))
				must(t, err)
				resp, err := e.via.RoundTrip(r)
				must(t, err)
				b, err := io.ReadAll(resp.Body)
				must(t, err)
				resp.Body.Close()
				want := map[bool]string{true: "", false: "42"}[way == "h1"]
				if string(b) != "hello" || resp.Trailer.Get("X-Sum") != want ||
					resp.Trailer.Get("Cache-Control") != "" || resp.Trailer.Get("Set-Cookie") != "" {
					t.Errorf("%s: %q, trailer %v", way, b, resp.Trailer)
				}
			}
			if st := s.upstream.Stats(); st.Failures != 0 || st.Open != 1 {
				t.Errorf("%+v, want one connection for all requests", st)
			}
		})
	}
}

// A response that ends with its header fields does so to the client too, also behind another edge:
// gRPC puts its status there.
func TestHeadersOnlyResponse(t *testing.T) {
	url, _ := newHTTP2Origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Length"] = nil // as servers of gRPC, which leave it out
		w.Header().Set("Grpc-Status", "12")
	}, false)
	inner := newSecured(t, http.NotFoundHandler(), func(c *Config) { c.ProxyAll = true; c.Origins.Set(url) })
	outer := newSecured(t, http.NotFoundHandler(), func(c *Config) { c.ProxyAll = true; c.Origins.Set("h2c://" + inner.plain) })
	for name, s := range map[string]*securedTest{"one edge": inner, "two edges": outer} {
		t.Run(name, func(t *testing.T) { s.endsWithHead(t) })
	}
}

func (s *securedTest) endsWithHead(t *testing.T) {
	t.Helper()
	c, err := net.Dial("tcp", s.plain)
	must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(longEnough))
	io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.WriteSettings()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, field := range []string{":method POST", ":scheme http", ":authority edge.test", ":path /service/method",
		"content-type application/grpc", "te trailers"} {
		name, value, _ := strings.Cut(field, " ")
		enc.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	f.WriteData(1, true, nil)
	for {
		got, err := f.ReadFrame()
		must(t, err)
		if h, ok := got.(*http2.MetaHeadersFrame); ok {
			if !h.StreamEnded() || h.PseudoValue("status") != "200" {
				t.Errorf("the head does not end the stream: %v", h)
			}
			return
		}
	}
}
