package edge

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/exchange"
)

// trailerOrigin answers with the trailer fields of the request, and with trailer fields of its own:
// one that it announces, one that it does not, and some that are no trailer fields.
func trailerOrigin(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	h := w.Header()
	if r.URL.Path == "/stored" {
		h.Set("Cache-Control", "max-age=60")
	} else {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("Trailer", "X-Sum, X-Unused")
	h.Set("X-Te", r.Header.Get("Te"))
	if r.URL.Path != "/empty" {
		text := fmt.Sprint("[", fieldText(r.Trailer), "]")
		if r.URL.Path == "/long" {
			text += strings.Repeat("x", 300_000)
		}
		io.WriteString(w, text)
	}
	w.(http.Flusher).Flush()
	h.Set("X-Sum", "42")
	h[http.TrailerPrefix+"X-Late"] = []string{"a", "b"}
	for _, name := range []string{"Set-Cookie", "Expires", "Age", "Surrogate-Key", "X-Forwarded-For", "Location"} {
		h.Set(http.TrailerPrefix+name, "1")
	}
}

// fieldText returns fields as text.
func fieldText(h http.Header) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(h[name]) > 0 {
			list = append(list, name+"="+strings.Join(h[name], ","))
		}
	}
	return strings.Join(list, " ")
}

// Trailer fields pass in both directions over every protocol, to origins of HTTP/1.1 and HTTP/2:
// those that may be trailer fields, and no others. A client of HTTP/1.1 gets them if its TE says
// that it takes them.
func TestTrailers(t *testing.T) {
	t.Parallel()
	h2c, _ := newHTTP2Origin(t, trailerOrigin, false)
	for name, origin := range map[string]string{"to HTTP/1.1": "", "to h2c": h2c} {
		for way, of := range wayOf {
			t.Run(way+" "+name, func(t *testing.T) {
				t.Parallel()
				s := newSecured(t, http.HandlerFunc(trailerOrigin), append(of.changes(), func(c *Config) {
					if c.ProxyAll = true; origin != "" {
						must(t, c.Origins.Set(origin))
					}
				})...).by(t, way)
				for _, row := range []sized{
					{"GET", "/short", 0}, {"GET", "/long", 0}, {"GET", "/empty", 0}, {"GET", "/stored", 0},
					{"POST", "/short", 5}, {"POST", "/long", 200_000}, {"PUT", "/empty", 5}, {"POST", "/short", 0},
				} {
					for _, te := range []string{"trailers", ""} {
						s.trailers(t, of, row, te, origin == "")
					}
				}
			})
		}
	}
}

// A sized request has a body of size bytes, unless it is a GET.
type sized struct {
	method, path string
	size         int
}

// trailers sends one request with trailer fields, if it has a body, and checks those of the
// response.
func (s *securedTest) trailers(t *testing.T, of wayIn, q sized, te string, toH1 bool) {
	t.Helper()
	var body io.Reader
	if q.method != "GET" {
		body = io.MultiReader(bytes.NewReader(make([]byte, q.size)), endOf{}) // of unknown length
	}
	scheme := map[bool]string{true: "https", false: "http"}[of.secure]
	r, err := http.NewRequestWithContext(t.Context(), q.method, scheme+"://edge.test"+q.path, body)
	must(t, err)
	sent := ""
	if q.method != "GET" {
		r.Trailer = http.Header{"X-Check": {"1"}}
		if sent = "X-Check=1"; of.protocol != exchange.H1 { // HTTP/1.1 refuses these
			for _, name := range []string{"X-Forwarded-For", "X_forwarded_for", "Cookie", "X-Original-Url", "Forwarded"} {
				r.Trailer[name] = []string{"1"}
			}
		}
	}
	if te != "" {
		r.Header.Set("TE", te)
	}
	resp, err := s.via.RoundTrip(r)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	at := fmt.Sprintf("%s %s with TE %q and %d bytes", q.method, q.path, te, q.size)
	want := "X-Late=a,b X-Sum=42"
	if of.protocol == exchange.H1 {
		if want = strings.Replace(want, "a,b", "a, b", 1); te == "" {
			want = ""
		}
	}
	hit := strings.Contains(resp.Header.Get("Cache-Status"), "; hit")
	if got := fieldText(resp.Trailer); got != want && !hit {
		t.Errorf("%s: the trailer fields are %q, want %q", at, got, want)
	}
	if got := fieldText(resp.Trailer); hit && got != "" {
		t.Errorf("%s: a stored response has %q", at, got)
	}
	for _, name := range []string{"X-Sum", "X-Late", "Set-Cookie", "Trailer", "Location"} {
		if resp.Header.Get(name) != "" {
			t.Errorf("%s: %s is a header field", at, name)
		}
	}
	if got, _, _ := strings.Cut(string(b), "x"); q.path != "/empty" && got != "["+sent+"]" {
		t.Errorf("%s: the origin got %.100q, want %q", at, b, sent)
	}
	if want := map[bool]string{true: te, false: "trailers"}[toH1]; resp.Header.Get("X-Te") != want && !hit {
		t.Errorf("%s: the origin got TE: %q, want %q", at, resp.Header.Get("X-Te"), want)
	}
}

// An endOf reader is at its end.
type endOf struct{}

func (endOf) Read([]byte) (int, error) { return 0, io.EOF }
