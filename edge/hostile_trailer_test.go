package edge

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The trailer fields of an origin reach a client that takes them only if they are well-formed and
// may be trailer fields. They are never header fields, and no response after them has any. What a
// client of HTTP/1.1 gets is strictly valid chunks, or the connection is cut.
func TestHostileTrailersOfOrigins(t *testing.T) {
	t.Parallel()
	w := newRawEdge(t, true)
	for name, row := range map[string]struct{ trailer, want string }{
		"good":                     {"X-Trailer: y\r\n", "x-trailer=y"},
		"the same twice":           {"X-Trailer: y\r\nX-Trailer: z\r\n", "x-trailer=y, z"},
		"Set-Cookie":               {"Set-Cookie: evil\r\nX-Trailer: y\r\n", "x-trailer=y"},
		"Content-Length":           {"Content-Length: 1\r\n", ""},
		"Transfer-Encoding":        {"Transfer-Encoding: chunked\r\n", ""},
		"Connection":               {"Connection: close\r\n", ""},
		"Cache-Control":            {"Cache-Control: max-age=600\r\nCDN-Cache-Control: max-age=600\r\n", ""},
		"Www-Authenticate":         {"WWW-Authenticate: Basic\r\nAuthorization: evil\r\n", ""},
		"Location":                 {"Location: https://evil.test/\r\n", ""},
		"the tier secret":          {"Iconedge-Tier-Secret: evil\r\n", ""},
		"X_Forwarded_For":          {"X_Forwarded_For: 192.0.2.1\r\n", ""},
		"a NUL in a value":         {"X-Trailer: a\x00b\r\n", "cut"},
		"a bare CR in a value":     {"X-Trailer: a\rEvil: b\r\n", "cut"},
		"a line end in a value":    {"X-Trailer: a\nX-Other: b\r\n", "x-other=b x-trailer=a"},
		"a space in a name":        {"X Trailer: y\r\n", ""},
		"no colon":                 {"evil\r\n", "cut"},
		"a whole response":         {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "cut"},
		"100 kB of one":            {"X-Trailer: " + strings.Repeat("a", 100_000) + "\r\n", "cut"},
		"100 kB of many":           {strings.Repeat("X-Trailer: aaaaaaaaa\r\n", 5000), "cut"},
		"the name of the protocol": {":status: 200\r\n", "cut"},
	} {
		path := "/" + strings.ReplaceAll(name, " ", "-")
		for _, policy := range []string{"no-store", "max-age=600"} {
			w.origin.lies[path+"/"+policy] = corpusCase{then: "close",
				origin: "HTTP/1.1 200 OK\r\nCache-Control: " + policy +
					"\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n" + row.trailer + "\r\n"}
			c := w.call(t)
			c.send("GET " + path + "/" + policy + " HTTP/1.1\r\nHost: edge.test\r\nTE: trailers\r\nConnection: TE\r\n\r\n")
			m, err := c.answer("GET", false)
			if row.want == "cut" {
				if err == nil && m.status() != http.StatusBadGateway {
					t.Errorf("%s, %s: %s %q %q, want a 502 or the end of the connection", name, policy, m.line, m.body, m.trailer)
				}
				c.Close()
				continue
			}
			if err != nil || m.status() != 200 || m.body != "fine" || textOf(m.trailer) != row.want ||
				m.fields["x-trailer"] != nil || m.fields["set-cookie"] != nil {
				t.Errorf("%s, %s: %v %s %q, trailer %q, fields %q; want trailer %q", name, policy, err, m.line,
					m.body, m.trailer, m.fields, row.want)
			}
			c.send("GET /mdi/last.svg HTTP/1.1\r\nHost: edge.test\r\nTE: trailers\r\nConnection: close\r\n\r\n")
			if m, err := c.answer("GET", false); err != nil || m.status() != 200 || len(m.trailer) > 0 {
				t.Errorf("%s, %s: the response after it: %v %s %q", name, policy, err, m.line, m.trailer)
			}
			c.Close()
		}
	}
}

// textOf returns trailer fields as text.
func textOf(trailer map[string][]string) string {
	var list []string
	for name, values := range trailer {
		list = append(list, name+"="+strings.Join(values, ","))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Hostile trailer fields of a client of HTTP/2 end its stream, or its connection if they are too
// long to decode. Those that may not be trailer fields do not reach the origin. Another client is
// answered.
func TestHostileTrailersOverH2(t *testing.T) {
	t.Parallel()
	w := newRawEdge(t, true)
	for name, row := range map[string]struct {
		fields []string
		want   string // the trailer that the origin gets; reset; or closed
	}{
		"good":      {[]string{"x-trailer y"}, "x-trailer=y"},
		"no fields": {nil, ""},
		"framing": {[]string{"content-length 5", "transfer-encoding chunked", "host evil.test",
			"connection close", "x y"}, "x=y"},
		"credentials": {[]string{"authorization Bearer evil", "cookie a=b", "set-cookie a=b", "proxy-authorization evil"}, ""},
		"routing": {[]string{"x-forwarded-for 192.0.2.1", "forwarded for=192.0.2.1",
			"x_forwarded_host evil.test", "via 1.1 evil", "cdn-loop evil", "x-original-url /evil"}, ""},
		"conditions":           {[]string{"if-none-match *", "range bytes=0-1", "expect 100-continue", "cache-control no-store"}, ""},
		"a pseudo field":       {[]string{":path /evil"}, "reset"},
		"a line end":           {[]string{"x a\r\nevil: b"}, "reset"},
		"a NUL":                {[]string{"x a\x00b"}, "reset"},
		"a name in upper case": {[]string{"X-Trailer y"}, "reset"},
		"40 kB":                {[]string{"x " + strings.Repeat("a", 40_000)}, "reset"},
		"200 fields":           {slices.Repeat([]string{"x y"}, 200), "reset"},
		"100 kB":               {slices.Repeat([]string{"x " + strings.Repeat("a", 10_000)}, 10), "closed"},
	} {
		for _, length := range []string{"", "5"} { // a body that streams, and one that is collected
			w.origin.take()
			got := w.postH2(t, row.fields, length)
			seen, wrong := w.origin.take()
			seen = slices.DeleteFunc(seen, func(m message) bool { return !strings.HasPrefix(m.line, "POST") })
			switch {
			case got != row.want && (row.want == "reset" || row.want == "closed"), got != "200" &&
				row.want != "reset" && row.want != "closed":
				t.Errorf("%s, length %q: the client gets %s, want %q", name, length, got, row.want)
			case got == "200" && (len(seen) != 1 || textOf(seen[0].trailer) != row.want || len(wrong) > 0 || seen[0].body != "hello"):
				t.Errorf("%s, length %q: the origin got %+v and %q, want the trailer %q", name, length, seen, wrong, row.want)
			}
		}
	}
	if m := w.ask(t, "/mdi/last.svg"); m.status() != 200 {
		t.Errorf("another client: %s", m.line)
	}
}

// postH2 sends a request with trailer fields, each a name and a value, and returns the status of
// the response, reset, or closed.
func (w *rawEdge) postH2(t *testing.T, trailer []string, length string) string {
	t.Helper()
	c, f := dialH2(t, w.public)
	defer c.Close()
	head := []string{":method POST", ":scheme http", ":authority edge.test", ":path /page"}
	if length != "" {
		head = append(head, "content-length "+length)
	}
	must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headerBlock(head), EndHeaders: true}))
	must(t, f.WriteData(1, false, []byte("hello")))
	block := headerBlock(trailer)
	part := block[:min(len(block), 16<<10)]
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: part, EndStream: true, EndHeaders: len(part) == len(block)})
	for rest := block[len(part):]; len(rest) > 0; {
		part, rest = rest[:min(len(rest), 16<<10)], rest[min(len(rest), 16<<10):]
		f.WriteContinuation(1, len(rest) == 0, part)
	}
	for {
		switch frame, err := f.ReadFrame(); got := frame.(type) {
		case *http2.RSTStreamFrame:
			return "reset"
		case *http2.GoAwayFrame:
			return "closed"
		case *http2.MetaHeadersFrame:
			return got.PseudoValue("status")
		default:
			if err != nil {
				return "closed"
			}
		}
	}
}

// headerBlock returns a block of fields, each a name and a value, that uses no table.
func headerBlock(fields []string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, " ")
		e.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: true})
	}
	return b.Bytes()
}
