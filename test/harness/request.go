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

// get asks for path and returns status, header and body.
func Get(t *testing.T, address, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
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

// longest is what a test waits for that a program does unless it is broken: a busy machine stands still for many seconds.
const Longest = 3 * time.Minute

// eventually asks again until the answer is as wanted: what the contract allows some seconds for.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !Comes(is) {
		t.Fatalf("never: %s", what)
	}
}

// comes waits until it is so, and reports whether it ever was.
func Comes(is func() bool) bool {
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

// metrics are what the admin listener tells.
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

// sum adds the values of the metrics whose lines begin so.
func Sum(metrics, line string) (n int) {
	for _, m := range regexp.MustCompile(`(?m)^`+line+`(\S+)$`).FindAllStringSubmatch(metrics, -1) {
		v, _ := strconv.ParseFloat(strings.TrimSpace(m[1]), 64)
		n += int(v)
	}
	return n
}
