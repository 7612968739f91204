package edge

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
)

// h2spec has 145 tests. Without TLS one fails: it begins a connection with an invalid preface, and
// expects that the server closes it silently. The edge's listener also speaks HTTP/1.1, in which
// those bytes are a malformed request that gets a response.
const h2specException = "Sends invalid connection preface"

// h2specBeforeBodies are the parts of h2spec in which the edge may answer a hit before it has read
// all that a test sends. Of the others, http2/8.1 has malformed ends of requests, and the last of
// http2/6.9.1 a window that is too large, on a stream that the edge resets 100 ms after its
// response (RFC 9113, section 8.1). TestFramesAfterTheResponse in edge/h2 tests those.
var h2specBeforeBodies = []string{"generic", "hpack", "http2/3", "http2/4", "http2/5", "http2/6.1", "http2/6.2",
	"http2/6.3", "http2/6.4", "http2/6.5",
	"http2/6.7", "http2/6.8", "http2/6.9/1", "http2/6.9/2", "http2/6.9/3", "http2/6.9.1/1", "http2/6.9.1/2", "http2/6.9.2", "http2/6.10",
	"http2/7", "http2/8.1.2.2", "http2/8.1.2.3", "http2/8.2"}

var h2specResult = regexp.MustCompile(`(\d+) tests, \d+ passed, (\d+) skipped, (\d+) failed`)

// TestH2Spec runs the public suite for HTTP/2, with cached responses and with responses of the
// origin, with TLS and without.
func TestH2Spec(t *testing.T) {
	t.Parallel()
	// go tool builds the program once, and -n prints its path.
	path, err := exec.Command("go", "tool", "-modfile=../tools/go.mod", "-n", "h2spec").Output()
	if err != nil {
		t.Fatalf("building h2spec: %v", err)
	}
	program := strings.TrimSpace(string(path))
	s := newSecured(t, newSite(map[string]http.HandlerFunc{
		"/mdi/home.svg": says(owntest.SVG(owntest.ReleaseA), "Cache-Control", "max-age=600", "Content-Type", "image/svg+xml"),
		"/fresh": func(w http.ResponseWriter, r *http.Request) {
			// The response does not begin before the end of the request.
			io.Copy(io.Discard, r.Body)
			says("made for you", "Cache-Control", "no-store", "Content-Type", "text/plain")(w, r)
		},
	}), func(c *Config) { c.ProxyAll = true })
	for range 3 {
		s.by(t, "h1").get(t, "/mdi/home.svg")
	}
	for target, parts := range map[string][]string{"/mdi/home.svg": h2specBeforeBodies, "/fresh": nil} {
		for _, secure := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, TLS %v", target, secure), func(t *testing.T) {
				args, least, failed := []string{"--port", port(s.plain)}, 145, "1"
				if secure {
					args, failed = []string{"--tls", "--insecure", "--port", port(s.tls)}, "0"
				}
				if parts != nil {
					least = 120
				}
				out, err := exec.Command(program, slices.Concat(parts, args,
					[]string{"--path", target, "--timeout", "60"})...).CombinedOutput()
				m := h2specResult.FindStringSubmatch(string(out))
				if m == nil {
					t.Fatalf("it ended without a result: %v\n%s", err, out)
				}
				_, failures, _ := strings.Cut(string(out), "Failures:")
				if n, _ := strconv.Atoi(m[1]); n < least || m[2] != "0" || m[3] != failed ||
					!secure && !strings.Contains(failures, h2specException) {
					t.Errorf("%s; want at least %d tests and %s failures:\n%s", m[0], least, failed, failures)
				}
			})
		}
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
