//go:build linux

package main

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// secured returns a bench with a certificate, and a server of Go's library that uses it and speaks
// HTTP/1.1 and HTTP/2, and HTTP/3 by quic-go's.
func secured(t *testing.T, handler http.HandlerFunc) (*secureBench, *httptest.Server) {
	t.Helper()
	s := &secureBench{b: &bench{std: cli.Streams{Out: io.Discard, Err: io.Discard}}, pem: filepath.Join(t.TempDir(), "pair.pem")}
	var err error
	if s.pool, err = makePEM(s.pem, time.Now()); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(s.pem, s.pem)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	conn, err := net.ListenPacket("udp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	quic := &http3.Server{Handler: handler, TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}})}
	go quic.Serve(conn)
	t.Cleanup(func() { quic.Close(); conn.Close() })
	return s, server
}

func addressOf(server *httptest.Server) netip.AddrPort {
	return netip.MustParseAddrPort(server.Listener.Addr().String())
}

func TestMakePEM(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pair.pem")
	pool, err := makePEM(name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(name, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "127.0.0.1", Roots: pool}); err != nil ||
		pair.Leaf.PublicKeyAlgorithm != x509.ECDSA {
		t.Errorf("%v, with a key of %s", err, pair.Leaf.PublicKeyAlgorithm)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("other users can read the key: %v (%v)", info.Mode(), err)
	}
}

// TestCompare: each column uses its protocol, and a browser's column its fields; the responses are
// compared with the origin's, and their bytes counted.
func TestCompare(t *testing.T) {
	var mu sync.Mutex
	var columns []string
	wrong := ""
	s, server := secured(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		columns = append(columns, fmt.Sprintf("%d %s %t", r.ProtoMajor, r.Header.Get("Sec-Fetch-Dest"), r.TLS.Version == tls.VersionTLS13))
		fmt.Fprint(w, "<svg>", r.URL.Path, "</svg>", wrong)
	})
	s.paths = []string{"/a/b.svg", "/a/long.svg"}
	s.b.reference = &reference{of: map[string]load.Want{}}
	var want []int64
	for _, p := range s.paths {
		body := []byte("<svg>" + p + "</svg>")
		s.b.reference.of[p] = load.Want{Status: 200, Length: int64(len(body)), Sum: load.Checksum(body)}
		want = append(want, int64(len(body)))
	}
	c := &secureServer{"test", &peers.Server{Spec: peers.Spec{Listen: addressOf(server)}}, nil}
	for _, row := range []struct {
		column secureColumn
		seen   string
	}{
		{secureColumns[0], "1  true"}, {secureColumns[1], "2  true"}, {secureColumns[4], "3  true"},
		{secureColumns[7], "1 image true"}, {secureColumns[8], "2 image true"}, {secureColumns[11], "3 image true"},
	} {
		mu.Lock()
		columns = nil
		mu.Unlock()
		got, err := s.compare(t.Context(), c, row.column)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: bodies of %d bytes (%v), want %d", row.column.name, got, err, want)
		}
		mu.Lock()
		if !slices.Equal(columns, slices.Repeat([]string{row.seen}, 4)) {
			t.Errorf("%s: it was asked %q, want each path twice as %q", row.column.name, columns, row.seen)
		}
		mu.Unlock()
	}
	mu.Lock()
	wrong = "<!-- more -->"
	mu.Unlock()
	if _, err := s.compare(t.Context(), c, secureColumns[1]); !errors.Is(err, errWrong) {
		t.Errorf("a longer answer: %v, want %v", err, errWrong)
	}
}

func TestSecureColumns(t *testing.T) {
	of := map[string]int{}
	for _, c := range secureColumns {
		of[cmp.Or(c.protocol, h2load.HTTP2)]++
	}
	if of[h2load.HTTP1] != 2 || of[h2load.HTTP2] != 9 || of[h2load.HTTP3] != of[h2load.HTTP2] {
		t.Fatalf("columns by protocol: %v", of)
	}
	for _, c := range secureColumns {
		if strings.Contains(strings.Join(c.fields, "\n"), "Connection") {
			t.Errorf("%s sends Connection, which HTTP/2 has not", c.name)
		}
		// The total length is known only if all connections make the same number of requests.
		l := secureLoad{config: c.config("urls")}
		for _, n := range []int{0, leastSecure, 123_457} {
			if r := l.requestsFor(float64(n)); r < leastSecure || r%c.conns != 0 || n >= leastSecure && (r > n || n-r >= c.conns) {
				t.Errorf("%s: %d requests for about %d", c.name, r, n)
			}
		}
	}
}

// TestResultOf: the cost of a run excludes that of a short one, which makes the same connections.
func TestResultOf(t *testing.T) {
	few := &h2load.Result{Done: 100, CPU: 30 * time.Millisecond, Time: 20 * time.Millisecond}
	all := &h2load.Result{Done: 10_100, OK: 10_100, Data: 1, CPU: 130 * time.Millisecond, Time: time.Second, Mean: time.Millisecond}
	if r := resultOf(few, all); r.CPUMicros != 10 || r.PerSecond != 10_100 || r.Answers != 10_100 || r.Latency.Mean != 1000 {
		t.Errorf("%+v", r)
	}
	l := secureLoad{h2load.Config{Conns: 4}, []int64{1, 10, 100}}
	for requests, want := range map[int]int64{4: 4, 12: 444, 20: 488} {
		if got := l.bytes(requests); got != want {
			t.Errorf("%d bytes for %d requests, want %d", got, requests, want)
		}
	}
}

func TestAgree(t *testing.T) {
	var s secureBench
	for _, row := range []struct {
		cipher string
		want   error
	}{{"AES", nil}, {"AES", nil}, {"ChaCha", errWrong}} {
		if err := s.agree(row.cipher); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.cipher, err, row.want)
		}
	}
}

func TestPick(t *testing.T) {
	s := &secureBench{b: &bench{reference: &reference{of: map[string]load.Want{}}}}
	for i := range 300 {
		p := fmt.Sprintf("/pack/%d.svg", i)
		s.b.paths = append(s.b.paths, p)
		s.b.reference.of[p] = load.Want{Length: int64(10 * i)}
	}
	tooLong := "/pack/" + strings.Repeat("x", maxLiteral) + ".svg"
	s.b.paths = append(s.b.paths, tooLong)
	s.b.reference.of[tooLong] = load.Want{Length: secureBody}
	if err := s.pick(); err != nil {
		t.Fatal(err)
	}
	if s.paths[0] != "/pack/100.svg" || slices.Contains(s.paths, tooLong) || len(s.paths) != securePaths ||
		s.result.Body < 990 || s.result.Body > 1010 {
		t.Errorf("%d paths of %v bytes, %s first", len(s.paths), s.result.Body, s.paths[0])
	}
	s.b.paths = s.b.paths[:securePaths-1]
	if err := s.pick(); err == nil {
		t.Error("too few icons were taken")
	}
}

// TestResting: a server that speaks HTTP/2 and a server that knows only TLS both accept a resting
// client.
func TestResting(t *testing.T) {
	body := strings.Repeat("x", 1000)
	asked := 0
	s, server := secured(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Host != r.Context().Value(http.LocalAddrContextKey).(fmt.Stringer).String() || r.URL.Path != "/a/b.svg" || r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusBadRequest)
		}
		if r.URL.Path == "/a/b.svg" {
			io.WriteString(w, body)
		}
	})
	client := &resting{target: addressOf(server), path: "/a/b.svg", want: 1000,
		config: &tls.Config{RootCAs: s.pool, NextProtos: []string{"h2"}}}
	defer client.close()
	if err := client.open(t.Context(), 3); err != nil || asked != 3 || len(client.conns) != 3 {
		t.Errorf("%v, %d connections, asked %d times", err, len(client.conns), asked)
	}
	client.want++
	if err := client.open(t.Context(), 1); !errors.Is(err, errWrong) {
		t.Errorf("a shorter answer: %v, want %v", err, errWrong)
	}
	client.path, client.want = "/other", 0
	if err := client.open(t.Context(), 1); err != nil { // a response without a body
		t.Error(err)
	}
	client.target, client.want = listening(t, "hold", "--pem", s.pem, "--body", "77"), 77
	if err := client.open(t.Context(), 2); err != nil {
		t.Error(err)
	}
	// a second response on the same connection
	if err := client.ask(client.conns[len(client.conns)-1]); err != nil {
		t.Error(err)
	}
}

// TestRestingAsks: the client acknowledges the server's settings, as the server may require (RFC
// 9113, section 6.5.3); a stream that the server resets ends with an error.
func TestRestingAsks(t *testing.T) {
	for _, row := range []struct {
		last []byte
		want string
	}{
		{append(frame(frameData, flagEndStream, firstStream, 2), "ok"...), ""},
		{append(frame(frameReset, 0, firstStream, 4), 0, 0, 0, 7), "a frame of type 3: 00000007"},
		{frame(frameGoAway, 0, 0, 0), "a frame of type 7"},
	} {
		client := &resting{path: "/a/b.svg", want: 2}
		ours, theirs := net.Pipe()
		acknowledged := make([]byte, frameHead)
		served := make(chan struct{})
		go func() { // the server's end stays open until the client is done
			defer close(served)
			io.ReadFull(theirs, make([]byte, len(opening(client.target.String(), client.path))))
			theirs.Write(append(frame(frameSettings, flagAck, 0, 0), frame(frameSettings, 0, 0, 0)...))
			io.ReadFull(theirs, acknowledged)
			theirs.Write(row.last)
		}()
		err := client.ask(ours)
		ours.Close()
		<-served
		theirs.Close()
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) ||
			!bytes.Equal(acknowledged, frame(frameSettings, flagAck, 0, 0)) {
			t.Errorf("%v, %x acknowledged; want %q", err, acknowledged, row.want)
		}
	}
}

// FuzzReadFrame: readFrame accepts the output of frame.
func FuzzReadFrame(f *testing.F) {
	f.Add(append(frame(frameSettings, flagAck, 0, 0), "next"...))
	f.Add(append(frame(frameData, flagEndStream, firstStream, 3), "abc"...))
	f.Add(append(frame(frameData, 0, firstStream, maxFrame+1), make([]byte, maxFrame+1)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		kind, flags, payload, err := readFrame(r)
		if err != nil {
			return
		}
		read := b[:len(b)-r.Len()]
		if !bytes.Equal(read[:5], frame(kind, flags, 0, len(payload))[:5]) ||
			!bytes.Equal(read[frameHead:], payload) || len(payload) > maxFrame {
			t.Fatalf("%x is read as type %d, flags %d, %x", read, kind, flags, payload)
		}
	})
}

// TestSecureDocs: the figures over TLS are stored beside the others, and shown.
func TestSecureDocs(t *testing.T) {
	docs := t.TempDir()
	s := &report.Secure{Cipher: "TEST_CIPHER", Rests: []report.Rest{{Server: report.TLSAlone, Connections: 10, After: 250_000}}}
	if err := writeDocs(docs, report.Page{Secure: s}); err != nil {
		t.Fatal(err)
	}
	if err := writeDocs(docs, report.Page{Bench: &report.Bench{Machine: report.Machine{CPU: "Testium 9000"}}}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(docs, "performance", "lab-book.md"))
	for _, want := range []string{"Testium 9000", "TEST_CIPHER", "| TLS alone | 25.0 |"} {
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("the output has no %q (%v):\n%s", want, err, b)
		}
	}
}
