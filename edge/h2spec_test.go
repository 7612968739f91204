package edge

import (
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// h2specPassed is the number of tests of h2spec, which all pass. Without TLS one fails: it begins a
// connection with an invalid preface, and expects that the server closes it silently. The edge's
// listener also speaks HTTP/1.1, in which those bytes are a malformed request that gets a response.
const (
	h2specPassed    = "145 passed"
	h2specInClear   = "144 passed"
	h2specException = "Sends invalid connection preface"
)

var h2specResult = regexp.MustCompile(`\d+ tests, (\d+ passed), \d+ skipped, \d+ failed`)

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
		"/mdi/home.svg": says(drawn(releaseA), "Cache-Control", "max-age=600", "Content-Type", "image/svg+xml"),
		"/fresh":        says("made for you", "Cache-Control", "no-store", "Content-Type", "text/plain"),
	}), func(c *Config) { c.ProxyAll = true })
	for range 3 {
		s.by(t, "h1").get(t, "/mdi/home.svg")
	}
	for _, target := range []string{"/mdi/home.svg", "/fresh"} {
		for want, args := range map[string][]string{h2specPassed: {"--tls", "--insecure", "--port", port(s.tls)}, h2specInClear: {"--port", port(s.plain)}} {
			t.Run(target+" "+want, func(t *testing.T) {
				out, err := exec.Command(program, append(args, "--path", target, "--timeout", "60")...).CombinedOutput()
				m := h2specResult.FindStringSubmatch(string(out))
				if m == nil {
					t.Fatalf("it ended without a result: %v\n%s", err, out)
				}
				_, failures, _ := strings.Cut(string(out), "Failures:")
				if t.Log(m[0]); m[1] != want || want == h2specInClear && !strings.Contains(failures, h2specException) {
					t.Errorf("want %s:\n%s", want, failures)
				}
			})
		}
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
