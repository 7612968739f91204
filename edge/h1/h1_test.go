package h1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/request"
)

func TestParse(t *testing.T) {
	const host = "Host: a\r\n"
	for _, row := range []struct {
		name, head string
		want       state
	}{
		{"eligible", "GET /mdi/home.svg HTTP/1.1\r\n" + host + "\r\n", forHitPath},
		{"a query", "GET /mdi/home.svg?color=%23f00 HTTP/1.1\r\n" + host + "\r\n", forHitPath},
		{"a browser's fields", "GET /a HTTP/1.1\r\n" + host + "User-Agent: M\r\nAccept: */*\r\nAccept-Encoding: gzip, " +
			"br\r\nCookie: a=\xc3\xa9\r\nConnection: Keep-Alive\r\nCache-Control: no-cache\r\n\r\n", forHitPath},
		{"a tab in a value", "GET /a HTTP/1.1\r\n" + host + "X: a\tb\r\n\r\n", forHitPath},
		{"half a head", "GET /a HTTP/1.1\r\n" + host, partial},
		{"half a line", "GET /a HT", partial},
		{"another method", "POST /a HTTP/1.1\r\n" + host + "\r\n", other},
		{"HEAD", "HEAD /a HTTP/1.1\r\n" + host + "\r\n", forHitPath},
		{"a method that begins with HEAD", "HEADER /a HTTP/1.1\r\n" + host + "\r\n", other},
		{"no Host", "GET /a HTTP/1.1\r\nX: y\r\n\r\n", other},
		{"two Hosts", "GET /a HTTP/1.1\r\n" + host + host + "\r\n", other},
		{"an absolute target", "GET http://a/ HTTP/1.1\r\n" + host + "\r\n", other},
		{"a fragment", "GET /a#b HTTP/1.1\r\n" + host + "\r\n", other},
		{"a space in the target", "GET /a b HTTP/1.1\r\n" + host + "\r\n", other},
		{"a long target", "GET /" + strings.Repeat("a", request.MaxTarget) + " HTTP/1.1\r\n" + host + "\r\n", other},
		{"a range", "GET /a HTTP/1.1\r\n" + host + "Range: bytes=0-1\r\n\r\n", forHitPath},
		{"two ranges", "GET /a HTTP/1.1\r\n" + host + "Range: bytes=0-1\r\nRange: bytes=2-3\r\n\r\n", other},
		{"Connection: close", "GET /a HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", other},
		{"Authorization", "GET /a HTTP/1.1\r\n" + host + "Authorization: Bearer x\r\n\r\n", forHitPath},
		{"another version", "GET /a HTTP/1.2\r\n" + host + "\r\n", opaque},
		{"Content-Length", "GET /a HTTP/1.1\r\n" + host + "content-length: 0\r\n\r\n", other},
		{"Transfer-Encoding", "GET /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n", coded},
		{"Expect", "GET /a HTTP/1.1\r\n" + host + "Expect: 100-continue\r\n\r\n", other},
		{"Upgrade", "GET /a HTTP/1.1\r\n" + host + "Upgrade: h2c\r\n\r\n", other},
		{"a folded line", "GET /a HTTP/1.1\r\n" + host + "X: a\r\n b\r\n\r\n", malformed},
		{"a space before the colon", "GET /a HTTP/1.1\r\nHost : a\r\n\r\n", malformed},
		{"a space in a name", "GET /a HTTP/1.1\r\n" + host + "X A: b\r\n\r\n", malformed},
		{"no colon", "GET /a HTTP/1.1\r\n" + host + "X\r\n\r\n", malformed},
		{"no name", "GET /a HTTP/1.1\r\n" + host + ": x\r\n\r\n", malformed},
		{"a NUL", "GET /a HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", malformed},
		{"a DEL at the end of a value", "GET /a HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 21) + "\x7f\r\n\r\n", malformed},
		{"a bare LF", "GET /a HTTP/1.1\r\n" + host + "X: a\nY: b\r\n\r\n", malformed},
		{"bare LFs only", "GET /a HTTP/1.1\nHost: a\n\n", malformed},
		{"a bare CR", "GET /a HTTP/1.1\r\n" + host + "X: a\rY: b\r\n\r\n", malformed},
		{"HTTP/1.0", "GET /a HTTP/1.0\r\n" + host + "\r\n", other},
		{"a method in lower case", "get /a HTTP/1.1\r\n" + host + "\r\n", other},
		{"Trailer", "GET /a HTTP/1.1\r\n" + host + "Trailer: X\r\n\r\n", other},
		{"two Content-Length", "GET /a HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", opaque},
		{"Content-Length with a sign", "GET /a HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\n", opaque},
		{"an empty Content-Length", "GET /a HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\n", opaque},
		{"Content-Length above 2^64", "GET /a HTTP/1.1\r\n" + host + "Content-Length: 18446744073709551617\r\n\r\n", opaque},
		{"Content-Length and Transfer-Encoding", "GET /a HTTP/1.1\r\n" + host +
			"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", opaque},
		{"a bare LF after the first line", "GET /a HTTP/1.1\n" + host + "\r\n", malformed},
		{"an empty line first", "\r\nGET /a HTTP/1.1\r\n" + host + "\r\n", forHitPath},
		{"empty lines first", "\r\n\r\n\r\n\r\nPOST /a HTTP/1.1\r\n" + host + "\r\n", other},
		{"only an empty line", "\r\n", partial},
		{"half of an empty line", "\r\n\r", partial},
		{"too many empty lines", strings.Repeat("\r\n", 5) + "GET /a HTTP/1.1\r\n" + host + "\r\n", malformed},
		{"a bare CR first", "\rGET /a HTTP/1.1\r\n" + host + "\r\n", malformed},
		{"a bare LF first", "\nGET /a HTTP/1.1\r\n" + host + "\r\n", malformed},
		{"a TLS handshake", "\x16\x03\x01\x02", malformed},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", opaque},
		{"HTTP/0.9, followed by an empty line", "GET /a\r\n\r\n", opaque},
		{"HTTP/0.9", "GET /a\r\n", malformed},
		{"another protocol", "HELP\r\n", malformed},
		{"a request line", "GET /a HTTP/1.1\r\n", partial},
	} {
		var r parsedHead
		if got := parse([]byte(row.head), &r); got.state != row.want ||
			got.state <= other && got.state != partial && got.size != len(row.head) {
			t.Errorf("%s: %+v, want %v", row.name, got, row.want)
		}
	}
}

// Line returns each line of any field, and no line of the previous request.
func TestLine(t *testing.T) {
	var r parsedHead
	parse([]byte("GET /a HTTP/1.1\r\nHost: a\r\nuser-AGENT: \tx y \r\nForwarded: for=a\r\nEmpty:\r\nFORWARDED: "+
		"for=b\r\n\r\nUser-Agent: body"), &r)
	for _, row := range []struct {
		name string
		nth  int
		want string
		no   bool
	}{{"user-agent", 0, "x y", false}, {"user-agent", 1, "", true}, {"forwarded", 0, "for=a", false},
		{"forwarded", 1, "for=b", false}, {"forwarded", 2, "", true}, {"empty", 0, "", false}, {"referer", 0, "", true}} {
		if got := r.Line(row.name, row.nth); string(got) != row.want || (got == nil) != row.no {
			t.Errorf("line %d of %s is %q", row.nth, row.name, got)
		}
	}
	if parse([]byte("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"), &r); r.Line("user-agent", 0) != nil {
		t.Error("a field of the previous request is left")
	}
}

func TestParsed(t *testing.T) {
	var r parsedHead
	head := "GET /a?b HTTP/1.1\r\nhOST: \ta.test:80 \r\nAccept-Encoding:\r\nIf-None-Match: \"x\"\r\nX-Forwarded-For: b\r\n\r\nGET"
	if v := parse([]byte(head), &r); v.state != forHitPath || v.size != len(head)-3 {
		t.Fatalf("%+v", v)
	}
	if string(r.Target) != "/a?b" || string(r.Host) != "a.test:80" || r.AcceptEncoding == nil ||
		len(r.AcceptEncoding) != 0 || string(r.IfNoneMatch) != `"x"` || !r.Forwarded {
		t.Errorf("%q %q %q %q", r.Target, r.Host, r.AcceptEncoding, r.IfNoneMatch)
	}
}

// net/http reads an eligible request in the same way: one request, the same target, the same
// fields. A request for the server has the same end for both.
func FuzzParse(f *testing.F) {
	f.Add([]byte("GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\nIf-None-Match: \"x\"\r\n\r\n"))
	f.Add([]byte("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"))
	f.Add([]byte("GET /a HTTP/1.1\r\nHost: a\r\nX: a\nb\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		var r parsedHead
		v := parse(b, &r)
		if v.state != forHitPath && v.state != other {
			return
		}
		buffered := strings.NewReader(string(b[v.blank:v.size]))
		br := bufio.NewReader(buffered)
		req, err := http.ReadRequest(br)
		if v.state == other {
			if err == nil && (br.Buffered() != 0 || req.ContentLength != r.length || len(req.TransferEncoding) != 0) {
				t.Fatalf("%d bytes behind %q; net/http reads %+v", r.length, b[:v.size], req)
			}
			return
		}
		if err != nil {
			if host := string(r.Host); !strings.ContainsAny(host, "/\\?#%[] ") {
				if strings.Contains(err.Error(), "malformed Host") ||
					strings.Contains(err.Error(), "invalid URL escape") || strings.Contains(err.Error(), "parse") {
					return // the Answerer validates the host
				}
				t.Fatalf("net/http: %v: %q", err, b[:v.size])
			}
			return
		}
		if br.Buffered() != 0 || req.ContentLength != 0 || len(req.TransferEncoding) != 0 ||
			req.RequestURI != string(r.Target) || req.Host != string(r.Host) ||
			req.Header.Get("If-None-Match") != string(r.IfNoneMatch) || req.Header.Get("Accept-Encoding") != string(r.AcceptEncoding) {
			t.Fatalf("%+v of %q; net/http reads %+v", r, b[:v.size], req)
		}
	})
}

// hits answers requests whose path begins with /hit.
type hits struct{}

const hitHead = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"

func (hits) Answer(dst []byte, r *request.Request) ([]byte, bool) {
	if !strings.HasPrefix(string(r.Target), "/hit") {
		return dst, false
	}
	if body, ok := longBodies[string(r.Target)]; ok {
		dst = fmt.Appendf(dst, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body))
		if r.TakesBody {
			r.Body = body
			return dst, true
		}
		return append(dst, body...), true
	}
	return append(append(dst, hitHead...), r.Target[len(r.Target)-3:]...), true
}

// longBodies are the bodies that an event loop writes itself.
var longBodies = map[string][]byte{
	"/hit/long":   bytes.Repeat([]byte("0123456789abcdef"), maxJoined/16),
	"/hit/longer": bytes.Repeat([]byte("fedcba987654321"), 5000),
	"/hit/short":  []byte("short"),
}

// newServer runs a server behind a Conn, which reads whole requests and answers "srv".
func newServer(t *testing.T) (client net.Conn, conn *Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() { c, _ := ln.Accept(); accepted <- c }()
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	conn = NewConn(<-accepted, hits{}, &Limits{Idle: time.Minute, Request: time.Minute, Answer: time.Minute})
	t.Cleanup(func() { client.Close(); conn.Close() })
	go func() {
		defer conn.Close()
		for br := bufio.NewReaderSize(conn, 16<<10); ; {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			io.WriteString(conn, hitHead+"srv")
		}
	}()
	return client, conn
}

func read(t *testing.T, br *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Responses come in the order of the requests, whether the Conn or the server answers and however
// the bytes are split.
func TestOrder(t *testing.T) {
	hit := func(n string) string { return "GET /hit/" + n + " HTTP/1.1\r\nHost: a\r\n\r\n" }
	miss := "GET /miss HTTP/1.1\r\nHost: a\r\n\r\n"
	post := "POST /hit/000 HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\nGET /hit/999 HTTP/1.1\r\nHost: a\r\n\r\n    "
	chunks := "POST /hit/000 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n26\r\nGET /hit/999 " +
		"HTTP/1.1\r\nHost: a\r\n\r\n    \r\n0\r\n\r\n"
	for _, row := range []struct{ sent, want string }{
		{hit("001") + hit("002") + hit("003"), "001 002 003"},
		{hit("001") + miss + hit("002") + miss + miss + hit("003"), "001 srv 002 srv srv 003"},
		{miss + hit("001"), "srv 001"},
		{hit("001") + post + hit("002"), "001 srv 002"},   // the server gets the body
		{hit("001") + chunks + hit("002"), "001 srv srv"}, // and everything after chunks
		{"\r\n" + hit("001") + "\r\n\r\n" + miss, "001 srv"},
		{"HEAD /miss HTTP/1.1\r\nHost: a\r\n\r\n" + hit("001"), "srv 001"},
	} {
		for _, cut := range []int{1, 7, 50, 1 << 20} {
			client, _ := newServer(t)
			go func() {
				for b := row.sent; b != ""; {
					n := min(cut, len(b))
					io.WriteString(client, b[:n])
					b = b[n:]
				}
			}()
			br := bufio.NewReader(client)
			var got []string
			for range strings.Fields(row.want) {
				got = append(got, read(t, br))
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("%q in parts of %d: %v, want %s", row.sent, cut, got, row.want)
			}
		}
	}
}

// The server gets every byte of its requests unchanged, and Strict reports whether a request is
// malformed.
func TestStrict(t *testing.T) {
	for sent, want := range map[string]bool{
		"GET /miss HTTP/1.1\r\nHost: a\r\n\r\n":                                                 true,
		"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab":                            true,
		"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n": true,
		"GET /miss HTTP/1.1\nHost: a\r\n\r\n":                                                   false,
		"POST /a HTTP/1.1\r\nHost: a\r\nX: a\nContent-Length: 2\r\n\r\nab":                      false,
	} {
		client, server := net.Pipe()
		conn := NewConn(server, hits{}, &Limits{Idle: time.Minute, Request: time.Minute, Answer: time.Minute})
		go func() { io.WriteString(client, sent); client.Close() }()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != sent {
			t.Errorf("the server got %q, %v", got, err)
		}
		if conn.Strict() != want {
			t.Errorf("Strict() of %q: %v, want %v", sent, conn.Strict(), want)
		}
		conn.Close()
	}
}

// The server refuses a malformed request at once: it gets the bytes, and then an error, although
// the client has sent neither the rest nor the end. Empty lines alone do not look like the end of
// the connection.
func TestMalformedIsRefusedAtOnce(t *testing.T) {
	for _, sent := range []string{
		"GET /a HTTP/1.1\r\nHost: a\nX: b", "GET /a\r\n", "\x00", "GET /a HTTP/1.1\r\n Host: a\r\n\r\n",
		strings.Repeat("\r\n", blankLines+1), strings.Repeat("\r\n", blankLines+1) + "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\r",
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			defer client.Close()
			conn := NewConn(server, hits{}, &Limits{Idle: time.Minute, Request: time.Minute, Answer: time.Minute})
			defer conn.Close()
			began := time.Now()
			go io.WriteString(client, sent)
			got := make([]byte, 16<<10)
			n, err := conn.Read(got)
			if err != nil || n != len(sent) || len(strings.Trim(string(got[:n]), "\r\n")) == 0 {
				t.Errorf("%q: the server got %q, %v", sent, got[:n], err)
			}
			if n, err := conn.Read(got); n != 0 || err != errMalformed || conn.Strict() {
				t.Errorf("%q: then the server got %q, %v; want %v", sent, got[:n], err, errMalformed)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%q: it is refused after %v", sent, took)
			}
		})
	}
}

// A connection that is closed while a response is being written is closed after it.
func TestCloseAfterAnswer(t *testing.T) {
	client, conn := newServer(t)
	conn.mu.Lock()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Conn.Write([]byte("x")); err != nil {
		t.Fatalf("closed in the middle of a response: %v", err)
	}
	conn.unlock()
	if _, err := conn.Conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("not closed after the response: %v", err)
	}
	client.Close()
}

func BenchmarkParse(b *testing.B) {
	for name, head := range map[string]string{
		"minimal": "GET /mdi/home.svg HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
		"browser": "GET /mdi/home.svg HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\nsec-ch-ua: " +
			"\"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\n" +
			"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 " +
			"Safari/537.36\r\nAccept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\n" +
			"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\nReferer: " +
			"https://example.org/\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			var r parsedHead
			data := []byte(head)
			b.ReportAllocs()
			for b.Loop() {
				if parse(data, &r).state != forHitPath {
					b.Fatal("not eligible")
				}
			}
		})
	}
}

// An endless connection sends the same request again and again, and accepts every response.
type longTarget struct {
	net.Conn
	request []byte
	left    int
}

func (e *longTarget) Read(p []byte) (int, error) {
	if e.left--; e.left < 0 {
		return 0, io.EOF
	}
	return copy(p, e.request), nil
}

func (*longTarget) Write(p []byte) (int, error)      { return len(p), nil }
func (*longTarget) SetReadDeadline(time.Time) error  { return nil }
func (*longTarget) SetWriteDeadline(time.Time) error { return nil }
func (*longTarget) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }
func (*longTarget) Close() error                     { return nil }

// BenchmarkHit measures a request on a connection without the network and the Answerer.
func BenchmarkHit(b *testing.B) {
	e := &longTarget{request: []byte("GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n"), left: b.N}
	conn := NewConn(e, hits{}, &Limits{Idle: 20 * time.Second, Request: 20 * time.Second, Answer: 30 * time.Second})
	p := make([]byte, 16<<10)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := conn.Read(p); err != io.EOF {
		b.Fatal(err)
	}
}
