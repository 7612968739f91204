package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A body that ends with its connection may have been cut. On our own routes the client gets it, but
// neither the edge nor another cache stores it. A body that declares its end is stored.
func TestHostileEndless(t *testing.T) {
	w := newRawEdge(t, true)
	const head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nCDN-Cache-Control: max-age=900\r\nExpires: Fri, 01 " +
		"Jan 2100 00:00:00 GMT\r\n"
	for target, row := range map[string]struct {
		origin, cacheControl string
		stored               bool
	}{
		"/mdi/endless.svg": {head + "\r\nfine", "no-store", false},
		"/mdi/chunked.svg": {head + "Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n", "max-age=600", true},
		"/mdi/length.svg":  {head + "Content-Length: 4\r\n\r\nfine", "max-age=600", true},
		"/endless":         {head + "\r\nfine", "max-age=600", true},
	} {
		w.origin.lies[target] = corpusCase{origin: row.origin, then: "close"}
		m := w.ask(t, target)
		if m.status() != 200 || m.body != "fine" || strings.Join(m.fields["cache-control"], ",") != row.cacheControl {
			t.Errorf("%s: %s %q %q, want Cache-Control: %s", target, m.line, m.body, m.fields, row.cacheControl)
		}
		stored := func() bool { return w.stored(target) != nil }
		if row.stored { // perhaps a moment after its last byte
			settled(t, target+" is stored", stored)
		} else if stored() {
			t.Errorf("%s is stored", target)
		}
		if row.cacheControl == "no-store" && m.fields["expires"] != nil {
			t.Errorf("%s expires %q", target, m.fields["expires"])
		}
	}
}

// A 304 for another response than the stored one does not freshen it (RFC 9111, section 4.3.4): the
// edge fetches the whole response. If that fails too, clients get the stored response, as stale as
// it was.
func TestHostileRevalidationByAnother(t *testing.T) {
	for tag, fresh := range map[string]bool{`"e"`: true, `W/"e"`: true, "": true, `"other"`: false, `W/"other"`: false} {
		for _, target := range []string{"/mdi/home.svg", "/page"} {
			t.Run(target+" "+tag, func(t *testing.T) {
				w := newRawEdge(t, target == "/page")
				w.warm(t, target)
				w.age(t, target, 700*time.Second)
				w.origin.take()
				w.origin.lies[target] = corpusCase{origin: "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nETag: " + tag +
					"\r\n\r\n"}
				if tag == "" {
					w.origin.lies[target] = corpusCase{origin: "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\n\r\n"}
				}
				m := w.ask(t, target)
				if m.status() != 200 || m.body != echoed("GET", target, "") {
					t.Fatalf("%s %q", m.line, m.body)
				}
				if e := w.stored(target); e == nil || e.Freshness().Fresh(w.ages.now()) != fresh {
					t.Errorf("the stored response is fresh: %v, want %v", !fresh, fresh)
				}
				seen, _ := w.origin.take()
				if last := seen[len(seen)-1]; !fresh && (len(seen) != 2 || last.fields["if-none-match"] != nil) {
					t.Errorf("the origin received %d requests, the last with %q", len(seen), last.fields)
				}
			})
		}
	}
}

// On our own routes no cookie passes, in either direction, whatever the status of the response.
func TestHostileNoCookies(t *testing.T) {
	w := newRawEdge(t, false)
	for i, status := range []string{"200 OK", "404 Not Found", "301 Moved", "403 No", "410 Gone"} {
		target := fmt.Sprintf("/mdi/cookie-%d.svg", i)
		w.origin.lies[target] = corpusCase{origin: "HTTP/1.1 " + status +
			"\r\nCache-Control: max-age=600\r\nSet-Cookie: a=b\r\nSet-Cookie2: c=d\r\nVary: Cookie\r\nContent-Length: 4\r\n\r\nfine"}
		for range 2 {
			m := w.ask(t, target, "Cookie: session=secret\r\n")
			if m.fields["set-cookie"] != nil || m.fields["set-cookie2"] != nil ||
				strings.Contains(strings.Join(m.fields["vary"], ","), "Cookie") {
				t.Errorf("%s: %q", m.line, m.fields)
			}
		}
	}
	seen, _ := w.origin.take()
	for _, m := range seen {
		if m.fields["cookie"] != nil {
			t.Errorf("the origin saw %q", m.fields["cookie"])
		}
	}
}

// If an origin answers a HEAD with a body, that body does not become the response to another
// request.
func TestHostileBodyOfHead(t *testing.T) {
	quiet(t)
	w := newRawEdge(t, true)
	for i, body := range []string{"evil", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", strings.Repeat("evil", 20_000)} {
		target := fmt.Sprintf("/head-%d", i)
		w.origin.lies[target] = corpusCase{origin: fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)}
		if m := w.tell(t, "HEAD "+target+" HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n"); m.status() != 200 {
			t.Errorf("%s", m.line)
		}
		for n := range 3 {
			next := fmt.Sprintf("/after-%d-%d", i, n)
			if m := w.ask(t, next); m.body != echoed("GET", next, "") {
				t.Errorf("the next response is %s %.80q", m.line, m.body)
			}
		}
	}
}
