package edge

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// idOrigin answers with the id that it gets, in the body and in the field that the edge writes.
func idOrigin(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "fresh") {
		w.Header().Set("Cache-Control", "max-age=600")
	}
	w.Header().Set("X-Request-Id", "of-the-origin")
	w.Header().Set("Server-Timing", "db;dur=5")
	fmt.Fprintf(w, "%q %q", r.Header["X-Request-Id"], r.Header["X_request_id"])
}

var madeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// The origin, the access log and the response have the same id of a request, which a stranger can't
// choose, and no stored response has the id of another request.
func TestRequestID(t *testing.T) {
	long := strings.Repeat("x", 129)
	for _, row := range []struct {
		mode, trusted string
		sent          []string
		want          string // empty: one that the edge makes
	}{
		{"make", "192.0.2.0/24", nil, ""},
		{"make", "192.0.2.0/24", []string{"mine"}, ""},
		{"make", "127.0.0.0/8", []string{"of-a.proxy_1~"}, "of-a.proxy_1~"},
		{"make", "127.0.0.0/8", []string{"a", "b"}, ""},
		{"keep", "192.0.2.0/24", []string{"mine"}, "mine"},
		{"keep", "192.0.2.0/24", []string{long}, ""},
		{"keep", "192.0.2.0/24", []string{long[1:]}, long[1:]},
		{"keep", "192.0.2.0/24", []string{`a"b`}, ""},
		{"keep", "192.0.2.0/24", []string{"a b"}, ""},
		{"keep", "192.0.2.0/24", []string{""}, ""},
		{"keep", "192.0.2.0/24", []string{"a\tb"}, ""},
		{"keep", "192.0.2.0/24", []string{"\xff"}, ""},
	} {
		file := filepath.Join(t.TempDir(), "access.log")
		e := newFileEdgeWith(t, map[string]http.Handler{"http://10.0.0.5:3000": http.HandlerFunc(idOrigin)}, fmt.Sprintf(`version: 1
request_id: %s
trusted_proxies: [%s]
access_log: %s
access_log_format: '{path} {cache} {request_id}'
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
    rules:
      - {match: {path: "/own"}, respond: {body: own}}
      - {match: {path: "/denied"}, deny: ["0.0.0.0/0"]}
`, row.mode, row.trusted, file))
		known, want := map[string]bool{}, ""
		for _, path := range []string{"/x", "/fresh", "/fresh", "/own", "/own", "/denied", "/a b"} {
			id, body := askID(t, e, path, row.sent)
			switch {
			case row.want != "" && path != "/a b" && id != row.want:
				t.Errorf("%v %q: %s has the id %q", row.mode, row.sent, path, id)
			case row.want == "" && (!madeID.MatchString(id) || known[id]):
				t.Errorf("%v %q: %s has the id %q, again %v", row.mode, row.sent, path, id, known[id])
			}
			if path == "/x" && body != fmt.Sprintf(`["%s"] []`, id) {
				t.Errorf("%v %q: the origin got %s and not %s", row.mode, row.sent, body, id)
			}
			known[id] = true
			if path != "/a b" {
				want += " " + id + "\n"
			}
		}
		settled(t, "the lines of the access log", func() bool {
			text, _ := os.ReadFile(file)
			found := 0
			for line := range strings.Lines(string(text)) {
				if at := strings.LastIndexByte(line, ' '); strings.Contains(want, line[at:]) && strings.Contains(line, "/") {
					found++
				}
			}
			return found >= 6 && strings.Contains(string(text), "/fresh hit ")
		})
	}
}

func askID(t *testing.T, e *fileEdge, path string, sent []string) (id, body string) {
	t.Helper()
	r, err := http.NewRequest("GET", "http://a.test"+strings.ReplaceAll(path, " ", "%20"), nil)
	must(t, err)
	r.Header["X-Request-Id"], r.Header["X_request_id"] = sent, []string{"other spelling"}
	resp, err := e.client.Do(r)
	must(t, err)
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Body.Close()
	if n := len(resp.Header["X-Request-Id"]); n != 1 {
		t.Errorf("%s has %d ids", path, n)
	}
	return resp.Header.Get("X-Request-Id"), string(text)
}

// Without ids the field is one as any other, and nothing shows times that no rule shows.
func TestRequestIDOffAndTimes(t *testing.T) {
	e := newFileEdgeWith(t, map[string]http.Handler{"http://10.0.0.5:3000": http.HandlerFunc(idOrigin)}, `version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
    rules:
      - {match: {path: "/own"}, respond: {body: own}}
  - name: b
    hosts: [b.test]
    server_timing: true
    origins: {app: {urls: ["http://10.0.0.5:3000"]}}
    rules:
      - {match: {path: "/own"}, respond: {body: own}}
      - {match: {header: X-Quiet}, server_timing: false}
`)
	miss, hit := `cache;desc="miss", edge;dur=`, `cache;desc="hit", edge;dur=`
	e.run(t, []fileStep{
		{"GET http://a.test/fresh", []string{"X-Request-Id", "mine"}, 200, `["mine"]|X-Request-Id: of-the-origin|!edge;dur`},
		{"GET http://a.test/fresh", []string{"X-Request-Id", "other"}, 200, `["mine"]|X-Request-Id: of-the-origin|Server-Timing: db;dur=5`},
		{"GET http://a.test/own", nil, 200, "own|!X-Request-Id|!Server-Timing"},
		{"GET http://b.test/fresh", nil, 200, "Server-Timing: db;dur=5|Server-Timing: " + miss + "|, origin;dur="},
		{"GET http://b.test/fresh", nil, 200, "Server-Timing: db;dur=5|Server-Timing: " + hit + "|!miss|!origin;dur"},
		{"GET http://b.test/fresh", []string{"X-Quiet", "1"}, 200, "Server-Timing: db;dur=5|!edge;dur"},
		{"POST http://b.test/x", nil, 200, `Server-Timing: cache;desc="pass`},
		{"GET http://b.test/own", nil, 200, `Server-Timing: cache;desc="own", edge;dur=`},
	})
}
