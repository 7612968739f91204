package harness

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Get sends a GET request for path, and returns the response and its body.
func Get(t *testing.T, address, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		// net/http sends a Host from its own field alone.
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// Longest is the time limit for anything that a working program does: a busy machine may stall for
// many seconds.
const Longest = 3 * time.Minute

// Eventually waits until is returns true, and fails the test if that never happens.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !WaitFor(is) {
		t.Fatalf("never: %s", what)
	}
}

// WaitFor waits until is returns true, and reports whether it did within Longest.
func WaitFor(is func() bool) bool {
	for late := time.After(Longest); ; {
		if is() {
			return true
		}
		select {
		case <-late:
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Metrics returns the metrics page of the admin listener.
func (s *Server) Metrics(t *testing.T) string {
	t.Helper()
	resp, err := http.Get("http://" + s.Address("admin") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Sum adds the values of the metrics whose lines begin with a match of line.
func Sum(metrics, line string) (n int) {
	for _, m := range regexp.MustCompile(`(?m)^`+line+`(\S+)$`).FindAllStringSubmatch(metrics, -1) {
		v, _ := strconv.ParseFloat(strings.TrimSpace(m[1]), 64)
		n += int(v)
	}
	return n
}

// AwaitDifference waits until a client that has a dictionary, by its SHA-256 in base64, gets the
// response of address as the difference to it. The first clients get it as everybody does, while
// the edge makes the difference.
func AwaitDifference(t *testing.T, client *http.Client, address, dictionary string) {
	t.Helper()
	Eventually(t, "the difference is made", func() bool {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd, dcb, dcz")
		q.Header.Set("Available-Dictionary", ":"+dictionary+":")
		a, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		io.Copy(io.Discard, a.Body)
		return a.Header.Get("Content-Encoding") == "dcz"
	})
}
