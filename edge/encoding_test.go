package edge

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/sites"
)

// negotiates answers with the first of gzip, br and zstd that the request names, and with the field
// as it came.
func negotiates(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=600")
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("X-Got", fmt.Sprintf("%q", r.Header["Accept-Encoding"]))
	for _, coding := range []string{"gzip", "br", "zstd"} {
		if strings.Contains(r.Header.Get("Accept-Encoding"), coding) {
			w.Header().Set("Content-Encoding", coding)
			break
		}
	}
	fmt.Fprint(w, "page")
}

// spellings returns n spellings of Accept-Encoding, at random.
func encodingSpellings(n int) (all []string) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var items []string
		for _, i := range random.Perm(9)[:random.IntN(9)] {
			item := []string{"gzip", "br", "zstd", "x-gzip", "deflate", "identity", "*", "dcb", fmt.Sprintf("x-%d", random.IntN(1000))}[i]
			if random.IntN(2) == 0 {
				item = strings.ToUpper(item)
			}
			if weight := random.IntN(1000); weight < 900 {
				item += fmt.Sprintf(" ; q=0.%03d", weight-weight/300*300) // a third has a small one
			}
			items = append(items, item)
		}
		all = append(all, strings.Join(items, strings.Repeat(" ", random.IntN(3))+","))
	}
	return all
}

// However many spellings clients have for Accept-Encoding, a response that varies by it is fetched
// for each of its normal forms, of which there are eight.
func TestHostileAcceptEncoding(t *testing.T) {
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/page": negotiates})
	forms := map[string]bool{}
	e.get(t, "/page")
	for _, spelling := range encodingSpellings(300) {
		a := e.get(t, "/page", "Accept-Encoding", spelling)
		forms[a.Header.Get("X-Got")] = true
		if coding := a.Header.Get("Content-Encoding"); coding != "" && !strings.Contains(strings.ToLower(spelling), coding) && !strings.Contains(spelling, "*") {
			t.Errorf("%q gets %s", spelling, coding)
		}
	}
	if n := len(s.requests("/page")); n > 8 || len(forms) < 7 {
		t.Errorf("the origin received %d requests: %v", n, forms)
	}
	if got := s.requests("/page")[0]["Accept-Encoding"]; got != nil {
		t.Errorf("without the field the origin gets %q", got)
	}
}

// The origin gets the normal form with every method, or the field as it came if the operator says
// so, and if a signature covers it.
func TestClientEncoding(t *testing.T) {
	const sent = "br;q=0.5, x-1, gzip"
	for _, row := range []struct {
		encoding sites.Encoding
		method   string
		fields   []string
		want     string
	}{
		{"", "GET", nil, "gzip, br"}, {sites.Normal, "HEAD", nil, "gzip, br"}, {"", "POST", nil, "gzip, br"}, {sites.AsSent, "GET", nil, sent}, {sites.AsSent, "POST", nil, sent},
		{"", "GET", []string{"Cookie", "a=b"}, "gzip, br"}, {"", "GET", []string{"Authorization", "Basic YTpi"}, "gzip, br"},
		{"", "GET", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=accept-encoding;host, Signature=b"}, sent},
		{"", "GET", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=b"}, "gzip, br"},
	} {
		s := newSite(map[string]http.HandlerFunc{"/page": negotiates})
		e := newEdgeTest(t, s, func(c *Config) { c.ProxyAll, c.ClientEncoding = true, row.encoding })
		e.do(t, row.method, "/page", append([]string{"Accept-Encoding", sent}, row.fields...)...)
		if got := s.requests("/page")[0].Get("Accept-Encoding"); got != row.want {
			t.Errorf("%+v: the origin gets %q", row, got)
		}
	}
}

// A client gets the coding that it prefers, also of a variant that was stored for the normal form:
// the edge's own codings follow the field as it came.
func TestPreferredEncoding(t *testing.T) {
	page := strings.Repeat("page ", 400)
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": says(page, "Cache-Control", "max-age=600", "Content-Type", "text/html", "Vary", "Accept-Encoding")})
	e.warm(t, "/page", "br")
	e.warm(t, "/page", "gzip")
	for accept, want := range map[string]string{"gzip;q=0.1, br;q=0.9": "br", "gzip;q=0.9, br;q=0.1": "gzip"} {
		for range 3 {
			e.get(t, "/page", "Accept-Encoding", accept)
			e.compressed(t)
		}
		if a := e.get(t, "/page", "Accept-Encoding", accept); a.Header.Get("Content-Encoding") != want {
			t.Errorf("%s: %s, want %s", accept, a.Header.Get("Content-Encoding"), want)
		}
	}
}

// A key of the configuration file that names Accept-Encoding has the normal form too.
func TestEncodingInKey(t *testing.T) {
	e := newFileEdge(t, `
version: 1
defaults: {client_encoding: normal}
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.5:80"]}}
    key: {headers: [Accept-Encoding]}
  - name: b
    hosts: [b.test]
    client_encoding: as-sent
    origins: {app: {urls: ["http://10.0.0.5:80"]}}
    key: {headers: [Accept-Encoding]}
`)
	e.run(t, []fileStep{
		{"GET http://a.test/fresh", []string{"Accept-Encoding", "gzip, br"}, 200, "stored"},
		{"GET http://a.test/fresh", []string{"Accept-Encoding", "BR,x-1, gzip;q=0.5"}, 200, "hit"},
		{"GET http://a.test/fresh", []string{"Accept-Encoding", "gzip"}, 200, "stored"},
		{"GET http://b.test/fresh", []string{"Accept-Encoding", "gzip, br"}, 200, "stored"},
		{"GET http://b.test/fresh", []string{"Accept-Encoding", "br, gzip"}, 200, "stored"},
	})
}
