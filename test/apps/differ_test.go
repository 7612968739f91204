package apps

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A differ sends the same requests to an application and through an edge, many at a time, and
// compares the responses.
type differ struct {
	name    string
	version func(t *testing.T) string
	large   bool // only `make apps` runs it
	start   func(t *testing.T) string
	flags   []string
	corpus  func(t *testing.T, origin string) corpus
}

const (
	atATime  = 50
	aLot     = 5000 // requests of `make apps`
	aFew     = 1500 // requests of `make test`
	publicly = "shop.example"
)

var differs = []differ{differExpress, differNginx, differNext, differS3}

// TestDiffer sends thousands of generated requests to each application and through an edge.
// ICONEDGE_DIFFER is another number of requests, ICONEDGE_SEED another start of the generator.
func TestDiffer(t *testing.T) {
	for _, d := range differs {
		t.Run(d.name, func(t *testing.T) {
			if d.large && !whole() {
				t.Skip("`make apps` runs it")
			}
			d.test(t)
		})
	}
}

func (d differ) test(t *testing.T) {
	origin := d.start(t)
	v := &visit{T: t}
	// Coded bodies could not be compared, and some applications echo the fields that they get.
	edge := v.throughEdge(way{edge: true}, origin, append([]string{"--compress", "off", "--client-encoding", "as-sent"}, d.flags...))
	c := d.corpus(t, origin)
	c.learn(t, strings.TrimPrefix(origin, "http://"))
	var compared, evaluated, differences, bytesCompared atomic.Int64
	var next atomic.Int64
	n := requestsOfDiffer()
	var all sync.WaitGroup
	for range atATime {
		all.Go(func() {
			direct, through := &connection{address: strings.TrimPrefix(origin, "http://")}, &connection{address: v.host()}
			defer direct.close()
			defer through.close()
			for t.Context().Err() == nil {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				r := c.request(rand.New(rand.NewPCG(seedOfDiffer(), uint64(i))))
				want, got := direct.send(r, c.host()), through.send(r, c.host())
				compared.Add(1)
				bytesCompared.Add(int64(len(got.body)))
				difference := got.uncompressed(want).difference(want, r, c.same)
				if difference != "" && r.conditional() && outcomes[want.status] {
					// The edge has evaluated the condition or the range itself, as a cache may.
					whole := direct.send(r.unconditional(), c.host())
					evaluated.Add(1)
					difference = got.uncompressed(whole).isPartOf(whole, r)
				}
				if difference != "" {
					if differences.Add(1) <= 20 {
						t.Errorf("request %d: %s\n%s", i, r, difference)
					}
				}
			}
		})
	}
	all.Wait()
	v.count(edge)
	t.Logf("%d requests, %d of them evaluated by the edge, %d bytes compared, %d hits, %d differences",
		compared.Load(), evaluated.Load(), bytesCompared.Load(), v.hits, differences.Load())
	if whole() && !t.Failed() {
		record(t, row{Name: d.name, Version: d.version(t), Client: differClient, Did: c.did,
			Requests: int(compared.Load()), Hits: v.hits, Bytes: int(bytesCompared.Load())})
	}
}

const differClient = "the differ"

func requestsOfDiffer() int {
	if n, err := strconv.Atoi(os.Getenv("ICONEDGE_DIFFER")); err == nil {
		return n
	}
	if whole() {
		return aLot
	}
	return aFew
}

func seedOfDiffer() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("ICONEDGE_SEED"), 10, 64)
	return n
}

// A wireRequest is a request as the differ writes it.
type wireRequest struct {
	method, target string
	fields         [][2]string
	body           []byte
	chunked        bool
	old            bool // HTTP/1.0
}

func (r wireRequest) String() string {
	text := fmt.Sprintf("%s %q", r.method, r.target)
	for _, f := range r.fields {
		text += fmt.Sprintf(" %q", f[0]+": "+f[1])
	}
	if r.body != nil {
		text += fmt.Sprintf(" with a body of %d bytes, in chunks: %v", len(r.body), r.chunked)
	}
	return text
}

// appendTo appends the request in the form of HTTP/1.1.
func (r wireRequest) appendTo(b []byte, host string) []byte {
	version := "HTTP/1.1"
	if r.old {
		version = "HTTP/1.0"
	}
	b = fmt.Appendf(b, "%s %s %s\r\nHost: %s\r\n", r.method, r.target, version, host)
	for _, f := range r.fields {
		b = fmt.Appendf(b, "%s: %s\r\n", f[0], f[1])
	}
	switch {
	case r.body == nil:
		return append(b, "\r\n"...)
	case !r.chunked:
		return append(fmt.Appendf(b, "Content-Length: %d\r\n\r\n", len(r.body)), r.body...)
	}
	b = append(b, "Transfer-Encoding: chunked\r\n\r\n"...)
	for part := range slices.Chunk(r.body, 5000) {
		b = append(append(fmt.Appendf(b, "%x\r\n", len(part)), part...), "\r\n"...)
	}
	return append(b, "0\r\n\r\n"...)
}

// A wireResponse is a response as the differ compares it.
type wireResponse struct {
	status int
	fields []string // NAME: VALUE, sorted by name
	length int64    // Content-Length; -1: none
	body   []byte
	err    error
}

// added are the fields that the edge adds, and those of the connection.
var added = []string{"Age", "Via", "Cache-Status", "Date", "Alt-Svc", "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length"}

// unmodified are the fields that a 304 must have if the 200 has them (RFC 9110, section 15.4.5). A
// cache leaves out others.
var unmodified = []string{"Cache-Control", "Content-Location", "Etag", "Expires", "Vary", "Set-Cookie"}

// ofContent are fields that applications often leave out of the response to a HEAD, because they
// determine them with the content (RFC 9110, section 9.3.2).
var ofContent = []string{"Content-Encoding", "Vary", "Accept-Ranges", "Etag"}

// difference describes how the response differs from the application's own, or returns "". same
// replaces the parts that differ between any two responses of the application.
func (got wireResponse) difference(want wireResponse, r wireRequest, same func(string) string) string {
	switch {
	case want.err != nil && got.err == nil && got.status == http.StatusBadGateway, want.err != nil && got.err != nil:
		return "" // the application has ended the connection without a response
	case want.err != nil || got.err != nil:
		return fmt.Sprintf("error %v, directly %v (status %d, directly %d)", got.err, want.err, got.status, want.status)
	case got.status != want.status:
		return fmt.Sprintf("status %d, directly %d\n\t%q\n\t%q", got.status, want.status, got.fields, want.fields)
	}
	if got.status == http.StatusNotModified { // that of an application may lack some
		got.fields = slices.DeleteFunc(slices.Clone(got.fields), func(f string) bool {
			name, _, _ := strings.Cut(f, ": ")
			return want.field(name) == ""
		})
	}
	for i := range max(len(got.fields), len(want.fields)) {
		g, w := "nothing", "nothing"
		if i < len(got.fields) {
			g = same(got.fields[i])
		}
		if i < len(want.fields) {
			w = same(want.fields[i])
		}
		if g != w {
			return fmt.Sprintf("status %d, field %q, directly %q\n\t%q\n\t%q", got.status, g, w, got.fields, want.fields)
		}
	}
	if r.method != http.MethodHead && got.length != want.length && got.length >= 0 && want.length >= 0 {
		return fmt.Sprintf("status %d, Content-Length %d, directly %d", got.status, got.length, want.length)
	}
	if !bytes.Equal(got.body, want.body) && same(string(got.body)) != same(string(want.body)) {
		return fmt.Sprintf("status %d, body %s\ndirectly %s", got.status, firstDifference(got.body, want.body),
			firstDifference(want.body, got.body))
	}
	return ""
}

// outcomes are the statuses of requests with conditions and ranges.
var outcomes = map[int]bool{http.StatusOK: true, http.StatusPartialContent: true, http.StatusNotModified: true,
	http.StatusPreconditionFailed: true, http.StatusRequestedRangeNotSatisfiable: true}

var conditions = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Range", "If-Range"}

func (r wireRequest) has(names ...string) bool {
	return slices.ContainsFunc(r.fields, func(f [2]string) bool { return slices.Contains(names, f[0]) })
}

// conditional reports whether the status depends on a condition or a range, which a cache evaluates
// by RFC 9110 and applications often by rules of their own.
func (r wireRequest) conditional() bool {
	return (r.method == http.MethodGet || r.method == http.MethodHead) && r.has(conditions...)
}

func (r wireRequest) unconditional() wireRequest {
	r.fields = slices.DeleteFunc(slices.Clone(r.fields), func(f [2]string) bool { return slices.Contains(conditions, f[0]) })
	return r
}

// isPartOf returns the problem of a response to a request with a condition or a range, if it is not
// one of the whole response without them.
func (got wireResponse) isPartOf(whole wireResponse, r wireRequest) string {
	var first, last, size int
	switch got.status {
	case whole.status:
		if bytes.Equal(got.body, whole.body) {
			return ""
		}
	case http.StatusPartialContent:
		if _, err := fmt.Sscanf(got.field("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); err != nil {
			return "Content-Range: " + err.Error()
		}
		if r.has("Range") && (r.method == http.MethodHead ||
			size == len(whole.body) && last < size && bytes.Equal(got.body, whole.body[first:last+1])) {
			return ""
		}
	case http.StatusNotModified:
		if r.has("If-None-Match", "If-Modified-Since") && got.field("Etag") == whole.field("Etag") {
			return ""
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if r.has("Range") {
			return ""
		}
	}
	return fmt.Sprintf("status %d with %d bytes, %q; the whole has %d bytes, %q", got.status, len(got.body),
		got.fields, len(whole.body), whole.fields)
}

func (got wireResponse) field(name string) string {
	for _, f := range got.fields {
		if value, ok := strings.CutPrefix(f, name+": "); ok {
			return value
		}
	}
	return ""
}

// A connection sends one request after another.
type connection struct {
	address string
	conn    net.Conn
	r       *bufio.Reader
}

func (c *connection) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// send sends a request and reads its response. A connection that was closed since its last response
// is replaced.
func (c *connection) send(r wireRequest, host string) wireResponse {
	reused := c.conn != nil
	if !reused {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			return wireResponse{err: err}
		}
		c.conn, c.r = conn, bufio.NewReader(conn)
	}
	conn := c.conn
	written := make(chan struct{})
	go func() { // the response may come before the end of the request
		defer close(written)
		conn.Write(r.appendTo(nil, host))
	}()
	begun := false
	if _, err := c.r.Peek(1); err == nil {
		begun = true
	}
	answer, keep := c.read(r)
	if !keep {
		c.close()
	}
	<-written
	if answer.err != nil && reused && !begun {
		return c.send(r, host)
	}
	return answer
}

func (c *connection) read(r wireRequest) (answer wireResponse, keep bool) {
	resp, err := http.ReadResponse(c.r, &http.Request{Method: r.method})
	for err == nil && resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
		resp, err = http.ReadResponse(c.r, &http.Request{Method: r.method})
	}
	if err != nil {
		return wireResponse{err: err}, false
	}
	defer resp.Body.Close()
	answer = wireResponse{status: resp.StatusCode, length: -1}
	answer.body, answer.err = io.ReadAll(resp.Body)
	if length := resp.Header.Get("Content-Length"); length != "" {
		answer.length, _ = strconv.ParseInt(length, 10, 64)
	}
	for _, name := range added {
		resp.Header.Del(name)
	}
	for name, values := range resp.Header {
		if answer.status == http.StatusNotModified && !slices.Contains(unmodified, name) ||
			answer.status == http.StatusPartialContent && name == "Accept-Ranges" {
			continue // a 206 says by itself that ranges are accepted
		}
		if r.method == http.MethodHead && slices.Contains(ofContent, name) {
			continue
		}
		for _, value := range values {
			answer.fields = append(answer.fields, name+": "+value)
		}
	}
	slices.SortStableFunc(answer.fields, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, ":")
		nameB, _, _ := strings.Cut(b, ":")
		return strings.Compare(nameA, nameB)
	})
	return answer, answer.err == nil && !resp.Close && !r.old
}

// learn asks the application for the validators of its pages, which conditional requests repeat.
func (c *corpus) learn(t *testing.T, address string) {
	t.Helper()
	conn := &connection{address: address}
	defer conn.close()
	for _, p := range c.pages {
		answer := conn.send(wireRequest{method: "GET", target: p, fields: c.credentials("GET", p)}, c.host())
		if answer.err != nil && !errors.Is(answer.err, io.EOF) {
			t.Fatalf("GET %s: %v", p, answer.err)
		}
		if answer.status != http.StatusOK {
			continue // Next.js answers 304 instead of 404 too, which a cache can't
		}
		for _, f := range answer.fields {
			if tag, ok := strings.CutPrefix(f, "Etag: "); ok {
				c.tags = append(c.tags, tag)
			}
		}
	}
}

// setCookie matches the value of a session's cookie and its expiry.
var setCookie = regexp.MustCompile(`sid=[^;]*|Expires=[^;]*`)

func sameSession(text string) string { return setCookie.ReplaceAllString(text, "…") }

var differExpress = differ{
	name:    "Express, static files and sessions",
	version: func(t *testing.T) string { return npmVersion(t, npm(t, "express")) },
	start:   express.start,
	corpus: func(t *testing.T, origin string) corpus {
		c := corpus{did: "files, sessions, echoes of requests, errors", same: sameSession}
		for _, folder := range []string{"/static", "/revalidated", "/listed"} {
			for _, file := range []string{"/page.html", "/folder/", "/folder", "/style.css", "/data.json",
				"/empty.txt", "/one.txt", "/a%20b+c%2520%C3%A9.txt", "/script.js", "/large.bin", "/none", "/", "/page"} {
				c.pages = append(c.pages, folder+file)
			}
		}
		c.pages = append(c.pages, "/", "/account", "/login", "/json?a=1&b[]=2", "/shared", "/cookie?n=1",
			"/streamed/3", "/streamed/100", "/coded", "/moved", "/moved?a=%20b", "/fields",
			"/download", "/throws", "/no-page", "/status/200", "/status/201", "/status/204", "/status/400",
			"/status/403", "/status/404", "/status/410", "/status/418", "/status/429", "/status/500", "/status/503")
		c.uploads = []string{"/echo", "/echo/a", "/login", "/basket", "/logout", "/no-page"}
		c.odd = []string{"/echo/a/../b", "/echo/./a", "/echo//a", "/echo/a//", "/echo/%2e%2e/a", "/echo/a%2Fb",
			"/echo/a;b=c", "/echo?", "/echo/?a=b?c", "/echo?a=%zz", "/echo/a%20b?c=d+e", "/echo/~a'(b)*",
			"/echo/%E2%82%AC", "/echo/{a}|b^c", "/echo/\"a\"", "/echo?a&a&a=&=b",
			"/echo?" + strings.Repeat("long=value&", 300), "/echo/" + strings.Repeat("long/", 300), "/echo/%61",
			"/echo/%7Ea", "/static/%70age.html",
			"/static/../static/page.html", "/static//page.html", "/static/%zz", "/static/%00", "/ECHO/A",
			"/echo/a\\b", "/static/page.html?v=1"}
		return c
	},
}

// corpus, the generator of requests.

// A corpus generates the requests for one application.
type corpus struct {
	did     string
	name    string   // Host; empty: publicly
	pages   []string // targets of GET and HEAD
	uploads []string // targets of methods with a body
	odd     []string // targets of GET that proxies may be tempted to change
	tags    []string // entity tags of the pages
	same    func(string) string
	sign    func(method, target string) [][2]string // fields that authenticate a request; nil: none
}

func (c *corpus) host() string {
	if c.name != "" {
		return c.name
	}
	return publicly
}

func (c *corpus) credentials(method, target string) [][2]string {
	if c.sign == nil {
		return nil
	}
	return c.sign(method, target)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// request returns the request that a state of the generator stands for.
func (c *corpus) request(r *rand.Rand) (q wireRequest) {
	defer func() { q.fields = append(q.fields, c.credentials(q.method, q.target)...) }()
	switch n := r.IntN(100); {
	case n < 15 && len(c.uploads) > 0:
		return c.upload(r)
	case n < 30 && len(c.odd) > 0:
		q = wireRequest{method: "GET", target: pick(r, c.odd)}
	default:
		q = wireRequest{method: "GET", target: pick(r, c.pages)}
	}
	switch n := r.IntN(100); {
	case n < 15:
		q.method = "HEAD"
	case n < 20:
		q.method = "OPTIONS"
	case n < 22:
		q.old = true
	}
	c.addFields(r, &q)
	return q
}

func (c *corpus) upload(r *rand.Rand) wireRequest {
	q := wireRequest{method: pick(r, []string{"POST", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "REPORT", "GET"}),
		target: pick(r, c.uploads)}
	switch r.IntN(5) {
	case 0:
		q.body = []byte("user=ada&password=sesame")
		q.fields = append(q.fields, [2]string{"Content-Type", "application/x-www-form-urlencoded"})
	case 1:
		q.body = []byte(pick(r, []string{`{"article":"tea"}`, `{"broken":`, `[]`}))
		q.fields = append(q.fields, [2]string{"Content-Type", "application/json"})
	case 2:
		q.body = random(byte(r.Uint32()), r.IntN(200_000))
	case 3:
		q.body = []byte{}
	default:
		q.body = random(byte(r.Uint32()), r.IntN(1000))
		q.fields = append(q.fields, [2]string{"Content-Type", "application/octet-stream"})
	}
	q.chunked = r.IntN(3) == 0
	if r.IntN(4) == 0 {
		c.addFields(r, &q)
	}
	return q
}

// Values of fields. Dates are about fixedTime.
var (
	dates = []string{"Fri, 02 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 2026 03:04:04 GMT",
		"Sat, 03 Jan 2026 03:04:05 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "yesterday", ""}
	spans = []string{"bytes=0-0", "bytes=0-", "bytes=-5", "bytes=5-9", "bytes=10-2", "bytes=0-9,20-29",
		"bytes=999999999-", "bytes=1000-100000", "bytes=-0", "bytes=a-b", "lines=1-2", "bytes=0-,0-,0-", "bytes=0-0,-1", "bytes= 1-2"}
	plain = [][2]string{
		{"Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}, {"Accept", "image/webp"},
		{"Accept-Language", "de"}, {"Accept-Language", "en, de;q=0.5"}, {"Accept-Encoding", "gzip"},
		{"Accept-Encoding", "gzip, deflate, br, zstd"}, {"Accept-Encoding", "identity"},
		{"Accept-Encoding", "gzip;q=0"}, {"Cookie", "sid=s%3Aunknown.value"}, {"Cookie", "a=b; c=d"}, {"Authorization", "Basic dTpw"},
		{"User-Agent", "another"}, {"Referer", "https://other.example/page"}, {"Origin", "https://other.example"},
		{"X-Requested-With", "XMLHttpRequest"}, {"X-Empty", ""}, {"X-Odd", "a\tb  c; \"d\""},
		{"X-Latin", "caf\xe9"}, {"Access-Control-Request-Method", "PUT"}, {"Sec-Fetch-Mode", "navigate"},
		{"DNT", "1"}, {"X-Several", "one"}, {"X-Several", "two"}, {"From", "a@b.example"}, {"Max-Forwards", "9"},
	}
)

func (c *corpus) addFields(r *rand.Rand, q *wireRequest) {
	add := func(name, value string) { q.fields = append(q.fields, [2]string{name, value}) }
	for range r.IntN(4) {
		if f := pick(r, plain); (!q.has(f[0]) || f[0] == "X-Several") && (c.sign == nil || f[0] != "Authorization") {
			add(f[0], f[1])
		}
	}
	tag := func() string {
		if len(c.tags) == 0 || r.IntN(4) == 0 {
			return pick(r, []string{`"none"`, `W/"none"`, `*`, `none`, `"a", "b"`, `"`})
		}
		t := pick(r, c.tags)
		switch r.IntN(4) {
		case 0:
			return strings.TrimPrefix(t, "W/")
		case 1:
			return `"other", ` + t
		}
		return t
	}
	if r.IntN(4) == 0 {
		add("If-None-Match", tag())
	}
	if r.IntN(6) == 0 {
		add("If-Modified-Since", pick(r, dates))
	}
	if r.IntN(5) == 0 {
		add("Range", pick(r, spans))
		if r.IntN(3) == 0 {
			add("If-Range", pick(r, []string{tag(), pick(r, dates)}))
		}
	}
	if r.IntN(20) == 0 {
		add("If-Match", tag())
	}
	if r.IntN(20) == 0 {
		add("If-Unmodified-Since", pick(r, dates))
	}
}
