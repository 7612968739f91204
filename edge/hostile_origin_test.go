package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/test/sequential"
)

// A rawOrigin answers the first request of a connection with the given bytes, once. Then it is an
// honest server.
type rawOrigin struct {
	ln  net.Listener
	say atomic.Pointer[string] // nil: answer honestly
}

func newRawOrigin(t *testing.T) *rawOrigin {
	t.Helper()
	o := &rawOrigin{ln: listenTest(t)}
	go func() {
		for {
			c, err := o.ln.Accept()
			if err != nil {
				return
			}
			go o.serve(c)
		}
	}()
	return o
}

const honest = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 6\r\n\r\nhonest"

func (o *rawOrigin) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		if say := o.say.Swap(nil); say != nil {
			io.WriteString(c, *say)
			return
		}
		if _, err := io.WriteString(c, honest); err != nil {
			return
		}
	}
}

// A malformed response of the origin becomes a 502 or a cut connection. It is not stored, it does
// not reach another response, and the same request succeeds afterwards.
func TestMalformedOriginResponses(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
	for name, bytes := range map[string]string{
		"nothing":                    "",
		"garbage":                    "\x00\x01\x02 garbage\r\n\r\n",
		"an SMTP greeting":           "220 mail.test ESMTP\r\n",
		"another version":            "HTTP/9.9 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"an invalid status":          "HTTP/1.1 099 No\r\nContent-Length: 4\r\n\r\nevil",
		"a length that is too large": head + "Content-Length: 10\r\n\r\nevil",
		"two lengths":                head + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nevil!",
		"a negative length":          head + "Content-Length: -4\r\n\r\nevil",
		"a length that is no number": head + "Content-Length: 4x\r\n\r\nevil",
		"a wrong chunk":              head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nevil\r\n0\r\n\r\n",
		"a chunk that is cut":        head + "Transfer-Encoding: chunked\r\n\r\n10\r\nevil",
		"no last chunk":              head + "Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n",
		"an unknown coding":          head + "Transfer-Encoding: odd\r\n\r\nevil",
		"endless fields":             "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Endless: "+strings.Repeat("x", 1000)+"\r\n", 200),
		"a field without a colon":    head + "evil\r\n\r\n",
		"a control byte in a field":  head + "X: a\x01b\r\nContent-Length: 4\r\n\r\nevil",
		"an unrequested 206": "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=600\r\nContent-Range: " +
			"bytes 0-3/9\r\nContent-Length: 4\r\n\r\nevil",
		"an unrequested 304":       "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\n\r\n",
		"an unrequested 101":       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: evil\r\nConnection: upgrade\r\n\r\nevil",
		"a large body that is cut": head + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("evil", 100_000),
		"large chunks, then a bad": head + "Transfer-Encoding: chunked\r\n\r\n61A80\r\n" + strings.Repeat("evil", 100_000) + "\r\nzz\r\n",
		"a head that is cut":       "HTTP/1.1 200 OK\r\nContent-Le",
		"a 1xx, and then nothing":  "HTTP/1.1 103 Early Hints\r\nLink: </evil>\r\n\r\n",
	} {
		// A forwarded path and one of the edge's own.
		for _, target := range []string{"/page", "/mdi/home.svg"} {
			t.Run(name+target, func(t *testing.T) {
				t.Parallel()
				o := newRawOrigin(t)
				e := newEdgeTest(t, http.NotFoundHandler(), func(c *Config) {
					c.ProxyAll = true
					must(t, c.Origins.Set("http://"+o.ln.Addr().String()))
				})
				o.say.Store(&bytes)
				r, err := http.NewRequest("POST", "http://edge.test"+target, nil) // not retried
				must(t, err)
				if target != "/page" {
					r.Method = http.MethodGet
				}
				resp, err := e.RoundTrip(r)
				if err == nil {
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err == nil && (resp.StatusCode != 502 && resp.StatusCode != 200 ||
						strings.Contains(string(body), "evil") || resp.StatusCode == 200 && string(body) != "honest") {
						t.Errorf("%d %.80q", resp.StatusCode, body)
					}
				}
				settled(t, "the same request after it is answered", func() bool {
					e.ages.move(collapse.Failure)
					a := e.get(t, target)
					well := a.StatusCode == 200 && a.body == "honest"
					if a.StatusCode != 502 && !well {
						t.Fatalf("the same request after it: %d %.80q", a.StatusCode, a.body)
					}
					return well
				})
			})
		}
	}
}
