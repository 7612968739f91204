package apps

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// targets are request targets of all kinds that clients, crawlers and attackers send.
var targets = []string{"/", "/page", "//page", "///page", "//", "//a//b?x=//c", "//evil.example/x",
	"//evil.example:99/x", "//user@evil.example/x", "//[::1]/x", "/a//b", "/a//", "/./a", "/a/.", "/a/..", "/a/../b",
	"/a;/../b", "/../x", "/..",
	"/%2e%2e/x", "/a/%2e%2e/b", "/%2F/x", "/a%2Fb%2fc", "/@scope%2fname", "/@scope/name", "/%41%5a", "/%20",
	"/%E2%82%AC", "/a%0d%0ab", "/%25", "/%2525", "/a;b=c", "/;jsessionid=1", "/a|b", "/a{b}", "/a\"b", "/a<b>",
	"/a\\b", "/a^b`c", "/[x]", "/$metadata",
	"/a=b", "/a:b@c", "/a,b", "/a&b=c", "/'a'", "/(a)", "/a+b", "/+", "/~a", "/a!b*c", "/.env", "/.well-known/x",
	"/caf\xc3\xa9", "/caf\xe9", "/\xff\xfe", "/?", "/a?", "/a??", "/a?b?c", "/a?/../b", "/?%zz", "/?%", "/?a=\xe9",
	"/?a=[b]&c={d}|e", "/?a\"b", "/a?//b",
	"/a?http://x/", "/?a&a&a=&=b", "/?a=b;c=d", "/http://other.example/x", "/http:/x", "http://shop.example",
	"http://shop.example/", "http://shop.example//x", "http://shop.example?x", "http://shop.example/?",
	"http://shop.example/a?b", "HTTP://SHOP.example/a",
	"/" + strings.Repeat("a", 4000), "/?" + strings.Repeat("a=b&", 1000), "/%zz", "/%", "/%2", "/%00", "/%u20AC"}

// refusedTargets are those that some other proxy passes and the edge does not: a fragment, which
// servers cut off or keep, and schemes that are not HTTP's.
var refusedTargets = []string{"/a#b", "/#", "/?a#b", "ftp://shop.example/x"}

// malformedTargets are those that no proxy passes.
var malformedTargets = []string{"a", "?x", "/a\x01b", "/a b", "/a\tb", "\\x", "/a\x00b", "http://other.example/x"}

// TestTargets compares what the origin gets from the edge with what it gets from nginx.
func TestTargets(t *testing.T) {
	origin := "http://" + startEcho(t)
	v := &visit{T: t}
	v.throughEdge(way{edge: true}, origin, nil)
	edge, nginx := v.host(), ""
	if nginxPath() != "" {
		nginx = strings.TrimPrefix(startServer(t, "nginx-proxy.conf",
			"proxy_pass "+origin+"; proxy_set_header Host $http_host;", nginxPath(), "-c", "{config}"), "http://")
	}
	for range 2 { // the second responses are hits
		for _, target := range targets {
			got := passed(t, edge, target)
			if strings.HasPrefix(target, "/") && got != target {
				t.Errorf("%.80q: the origin got %.80q", target, got)
			}
			if nginx == "" {
				continue
			}
			if want := passed(t, nginx, target); got != want && !strings.HasPrefix(want, "4") {
				t.Errorf("%.80q: the origin got %.80q, from nginx %.80q", target, got, want)
			}
		}
	}
	for _, target := range append(refusedTargets, malformedTargets...) {
		if got := passed(t, edge, target); got != "400" {
			t.Errorf("%q: the origin got %q, want 400", target, got)
		}
	}
}

// startEcho starts an origin that answers with the target that it got, and returns its address.
// Go's and Node's servers refuse some targets.
func startEcho(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					first := ""
					for {
						line, err := r.ReadString('\n')
						if err != nil {
							return
						}
						if line == "\r\n" {
							break
						}
						if first == "" {
							first = line
						}
					}
					target := strings.TrimPrefix(first[:strings.LastIndex(first, " ")], "GET ")
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n%s", len(target), target)
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// passed sends a GET and returns the target that the origin got, or the status of a refusal.
func passed(t *testing.T, address, target string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, publicly)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.80q: %v", target, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%.80q: %v", target, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Sprint(resp.StatusCode)
	}
	return string(body)
}
