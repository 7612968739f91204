package edge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
)

// eitherWay runs a test with connections on event loops, and with a goroutine for each.
func eitherWay(t *testing.T, f func(t *testing.T, s *securedTest)) {
	for _, loop := range []listen.Loop{listen.LoopOn, listen.LoopOff} {
		t.Run("loop "+string(loop), func(t *testing.T) {
			f(t, newSecured(t, http.HandlerFunc(bigIcons), func(c *Config) { c.Loop = loop }))
		})
	}
}

// dialTLS connects from an address that is no trusted proxy's.
func (s *securedTest) dialTLS(t testing.TB, config *tls.Config) *tls.Conn {
	t.Helper()
	d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}, Config: config}
	c, err := d.DialContext(t.Context(), "tcp", s.tls)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(longEnough)))
	return c.(*tls.Conn)
}

// noneIsOpen waits until the edge has no connection.
func (s *securedTest) noneIsOpen(t testing.TB) {
	t.Helper()
	settled(t, "no connection is open", func() bool {
		n := s.listeners.StreamStats().Connections
		for _, of := range s.listeners.Stats().States {
			n += of
		}
		return n == 0
	})
}

func getOf(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: edge.test\r\n\r\n" }

// Over TLS a client gets the same bytes from an event loop as from a goroutine: hits, misses and
// errors, long and short, all requested at once, also if it reads slowly.
func TestLoopsOverTLS(t *testing.T) {
	t.Parallel()
	targets := []string{"/mdi/home.svg", "/big/of-200.svg", "/mdi/home.svg?color=red", "/big/of-257.svg", "/big/of-33.svg", "/nope"}
	var requests strings.Builder
	for range 6 {
		for _, target := range targets {
			requests.WriteString(getOf(target))
		}
		requests.WriteString("HEAD /big/of-33.svg HTTP/1.1\r\nHost: edge.test\r\n\r\nPOST /mdi/home.svg " +
			"HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 3\r\n\r\nabc")
	}
	requests.WriteString(last)
	var all []string
	eitherWay(t, func(t *testing.T, s *securedTest) {
		for _, target := range targets {
			s.get(t, target)
			s.get(t, target)
		}
		for _, slow := range []bool{false, true} {
			c := s.dialTLS(t, trusting)
			go io.WriteString(c, requests.String())
			var got bytes.Buffer
			for p := make([]byte, 50_000); ; {
				n, err := c.Read(p)
				got.Write(p[:n])
				if err == io.EOF {
					break
				}
				must(t, err)
				if slow {
					time.Sleep(time.Millisecond)
				}
			}
			var same strings.Builder
			for line := range strings.SplitSeq(uncountedAll(got.String()), "\r\n") {
				// Date and port differ between the edges.
				if !strings.HasPrefix(line, "Date: ") && !strings.HasPrefix(line, "Alt-Svc: ") {
					same.WriteString(line + "\r\n")
				}
			}
			all = append(all, same.String())
		}
	})
	for _, one := range all[1:] {
		if one != all[0] {
			n := 0
			for n < len(one) && one[n] == all[0][n] {
				n++
			}
			t.Errorf("the responses differ: %d and %d bytes, at %q and %q", len(one), len(all[0]), one[max(0, n-200):n+50], all[0][n:n+50])
		}
	}
}

// A thousand idle connections, of both protocols, are served when all become active at once.
func TestCrowdOverTLS(t *testing.T) {
	t.Parallel()
	crowd := 1000
	if testing.Short() {
		crowd = 150
	}
	eitherWay(t, func(t *testing.T, s *securedTest) {
		want := s.get(t, "/mdi/home.svg").body
		var clients []http.RoundTripper
		for i := range crowd {
			speak := wayOf[[]string{"h1 over TLS", "h2"}[i%2]].speak
			clients = append(clients, s.over(s.tls, speak))
		}
		for round := range 3 {
			var all sync.WaitGroup
			turn := make(chan struct{}, 50) // handshakes at a time
			for i, c := range clients {
				all.Go(func() {
					if round == 0 {
						turn <- struct{}{}
						defer func() { <-turn }()
					}
					ctx, cancel := context.WithTimeout(t.Context(), longEnough)
					defer cancel()
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://edge.test/mdi/home.svg", nil)
					must(t, err)
					resp, err := c.RoundTrip(r)
					if err != nil {
						t.Errorf("client %d, round %d: %v", i, round, err)
						return
					}
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err != nil || string(body) != want || resp.ProtoMajor != 1+i%2 {
						t.Errorf("client %d, round %d: %s, %d bytes, %v", i, round, resp.Proto, len(body), err)
					}
				})
			}
			all.Wait()
		}
		for _, c := range clients {
			c.(*http.Transport).CloseIdleConnections()
		}
		s.noneIsOpen(t)
	})
}

// A client that stops reading in the middle of large responses holds up nobody, and gets the rest
// when it reads on.
func TestUnreadOverTLS(t *testing.T) {
	t.Parallel()
	eitherWay(t, func(t *testing.T, s *securedTest) {
		want := s.get(t, "/big/of-250.svg").body
		s.get(t, "/big/of-250.svg")
		const times = 40 // more than the buffers of the system take
		c := s.dialTLS(t, trusting)
		go io.WriteString(c, strings.Repeat(getOf("/big/of-250.svg"), times-1)+getOf("/big/of-250.svg")+last)
		half := make([]byte, len(want)/2)
		_, err := io.ReadFull(c, half)
		must(t, err)

		streams := s.by(t, "h2")
		var bodies []io.ReadCloser
		for range times {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://edge.test/big/of-250.svg", nil)
			resp, err := streams.via.RoundTrip(r)
			must(t, err)
			defer resp.Body.Close()
			bodies = append(bodies, resp.Body)
		}
		for _, way := range []string{"h1", "h1 over TLS", "h2"} {
			if a := s.by(t, way).get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
				t.Errorf("another client by %s: %d", way, a.StatusCode)
			}
		}
		rest, err := io.ReadAll(c)
		if n := strings.Count(string(half)+string(rest), want); err != nil || n != times {
			t.Errorf("%d whole bodies of %d, %v", n, times, err)
		}
		for i, b := range bodies {
			if got, err := io.ReadAll(b); err != nil || string(got) != want {
				t.Errorf("stream %d: %d bytes of %d, %v", i, len(got), len(want), err)
			}
		}
	})
}

// The edge closes a connection whose client sends no TLS any more, and one whose client leaves
// without a word. It answers what a client has requested before the end of its stream.
func TestEndsOverTLS(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(c *tls.Conn, under net.Conn){
		"close_notify":   func(c *tls.Conn, _ net.Conn) { c.CloseWrite() },
		"the end of TCP": func(_ *tls.Conn, under net.Conn) { under.(*net.TCPConn).CloseWrite() },
		"garbage":        func(_ *tls.Conn, under net.Conn) { io.WriteString(under, getOf("/mdi/home.svg")) },
		"a forged record": func(_ *tls.Conn, under net.Conn) {
			io.WriteString(under, "\x17\x03\x03\x00\x20"+strings.Repeat("x", 32))
		},
		"half a record, and the end": func(_ *tls.Conn, under net.Conn) {
			io.WriteString(under, "\x17\x03\x03\x00\x20x")
			under.(*net.TCPConn).CloseWrite()
		},
		"a record that is too long": func(_ *tls.Conn, under net.Conn) { io.WriteString(under, "\x17\x03\x03\xff\xff") },
		"a handshake message of no use": func(_ *tls.Conn,
			under net.Conn) {
			io.WriteString(under, "\x16\x03\x03\x00\x04\x01\x00\x00\x00")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eitherWay(t, func(t *testing.T, s *securedTest) {
				s.get(t, "/mdi/home.svg")
				for _, wait := range []bool{false, true} {
					c := s.dialTLS(t, trusting)
					_, err := io.WriteString(c, getOf("/mdi/home.svg")+getOf("/mdi/account.svg")+getOf("/mdi/home.svg"))
					must(t, err)
					var got []byte
					if wait { // the connection rests
						p := make([]byte, 1<<20)
						for bytes.Count(got, []byte("HTTP/1.1 200")) < 3 {
							n, err := c.Read(p)
							must(t, err)
							got = append(got, p[:n]...)
						}
					}
					ends(c, c.NetConn())
					rest, _ := io.ReadAll(c)
					if n := bytes.Count(append(got, rest...), []byte("HTTP/1.1 200")); n != 3 {
						t.Errorf("%d responses", n)
					}
				}
				s.noneIsOpen(t)
			})
		})
	}
}

// A client resumes its session, whichever way serves its connections.
func TestResumptionOverTLS(t *testing.T) {
	t.Parallel()
	eitherWay(t, func(t *testing.T, s *securedTest) {
		config := trusting.Clone()
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for i := range 3 {
			c := s.dialTLS(t, config)
			io.WriteString(c, getOf("/mdi/home.svg")+last)
			if b, err := io.ReadAll(c); err != nil || bytes.Count(b, []byte("200 OK")) != 2 {
				t.Fatalf("connection %d: %q, %v", i, b, err)
			}
			if resumed := c.ConnectionState().DidResume; resumed != (i > 0) {
				t.Errorf("connection %d: resumed %v", i, resumed)
			}
		}
	})
}

// A gatherer sends its first write at once, and all others together.
type gatherer struct {
	net.Conn
	begun  bool
	gather bytes.Buffer
}

func (g *gatherer) Write(p []byte) (int, error) {
	if !g.begun {
		g.begun = true
		return g.Conn.Write(p)
	}
	return g.gather.Write(p)
}

// Requests that arrive in one piece with the end of the handshake, each in a record of its own, are
// all answered.
func TestManyRecordsOverTLS(t *testing.T) {
	t.Parallel()
	const requests = 150
	eitherWay(t, func(t *testing.T, s *securedTest) {
		s.get(t, "/mdi/home.svg")
		for _, protocol := range []string{"http/1.1", "h2"} {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
			under, err := d.Dial("tcp", s.tls)
			must(t, err)
			defer under.Close()
			must(t, under.SetDeadline(time.Now().Add(longEnough)))
			g := &gatherer{Conn: under}
			config := trusting.Clone()
			config.NextProtos = []string{protocol}
			c := tls.Client(g, config)
			must(t, c.Handshake())
			f := http2.NewFramer(c, c)
			if protocol == "h2" {
				io.WriteString(c, h2.Preface)
				must(t, f.WriteSettings())
			}
			for i := range uint32(requests) {
				if protocol == "h2" {
					block := headerBlock([]string{":method GET", ":scheme https", ":authority edge.test", ":path /mdi/home.svg"})
					must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block,
						EndHeaders: true, EndStream: true}))
				} else {
					io.WriteString(c, getOf("/mdi/home.svg"))
				}
			}
			_, err = under.Write(g.gather.Bytes())
			must(t, err)
			in := bufio.NewReader(c)
			for i := range requests {
				if protocol == "h2" {
					for ended := false; !ended; {
						frame, err := f.ReadFrame()
						must(t, err)
						ended = frame.Header().Flags.Has(http2.FlagDataEndStream) && frame.Header().StreamID > 0
					}
					continue
				}
				resp, err := http.ReadResponse(in, nil)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("response %d: %v, %v", i, resp, err)
				}
				io.Copy(io.Discard, resp.Body)
			}
		}
	})
}
