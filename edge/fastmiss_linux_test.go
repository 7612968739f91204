package edge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/icon"
)

// manyOrigin has any number of icons in three packs, as our own origin sends them. The icons of one
// pack have no gzip, those of another have no licence.
func manyOrigin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set(icon.FieldRelease, releaseA)
	pack, name, ok := strings.Cut(strings.TrimSuffix(r.URL.Path[1:], ".svg"), "/")
	switch {
	case !ok || !strings.HasSuffix(r.URL.Path, ".svg"):
		newOurOrigin().ServeHTTP(w, r)
		return
	case name == "broken":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case name == "none":
		h.Set("Surrogate-Key", "icon/"+pack+"/"+name)
		w.WriteHeader(http.StatusNotFound)
		return
	case name == "private":
		h.Set("Cache-Control", "no-store")
	default:
		h.Set("Cache-Control", iconLife)
	}
	body := []byte("<svg>" + strings.Repeat(name, 60) + "</svg>")
	etag := fmt.Sprintf("%x", sha256.Sum256(body))
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")
	h.Set("Surrogate-Key", "icon/"+pack+"/"+name+" pack/"+pack+" release/"+releaseA)
	h.Set(icon.FieldMonochrome, "?1")
	h.Set("Vary", "Accept-Encoding")
	if pack != "free" {
		h.Set("Link", `<https://licences.test/mit>; rel="license"`)
	}
	if pack != "small" && r.Header.Get("Accept-Encoding") == "gzip" {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body)
		z.Close()
		body, etag = b.Bytes(), etag+"-gz"
		h.Set("Content-Encoding", "gzip")
		if name == "damaged" {
			body[len(body)-1] ^= 1
		}
	}
	h.Set("Etag", `"`+etag+`"`)
	w.Write(body)
}

// fetchedDates are those of responses of two edges, which may be from different seconds.
var fetchedDates = regexp.MustCompile("Date: [^\r]*")

// A miss on an event loop has the same response as one by the pipeline, byte for byte: the first
// one of a pack, whose head is read field by field, and the later ones, whose head is known. So do
// the hits that follow, and responses that are errors, or not stored.
func TestFastMissEqualsPipeline(t *testing.T) {
	var names []string
	for i := range 5 {
		for _, pack := range []string{"mdi", "small", "free"} {
			names = append(names, fmt.Sprintf("/%s/icon-%d.svg", pack, i))
		}
	}
	names = append(names, "/mdi/broken.svg", "/mdi/none.svg", "/free/private.svg", "/mdi/damaged.svg", "/free/icon-9.svg")
	for _, fields := range []string{"", "Accept-Encoding: gzip, br\r\n"} {
		var got [2]string
		for i, loop := range []listen.Loop{listen.LoopOn, listen.LoopOff} {
			e := newEdgeTest(t, http.HandlerFunc(manyOrigin))
			must(t, e.library.Poll())
			e.get(t, "/mdi/first.svg") // it makes the edge know that the origin is one of ours
			ln := listenTest(t)
			var handler listen.Handler = e.Proxy
			if loop == listen.LoopOff {
				handler = pipelineOnly{e.Proxy}
			}
			e.serveToo(t, ln, handler, func(o *listen.Options) { o.Capacity.Loop = loop })
			var requests strings.Builder
			for range 3 {
				for _, name := range names {
					requests.WriteString("GET " + name + " HTTP/1.1\r\nHost: edge.test\r\n" + fields + "\r\n")
				}
			}
			ask(t, ln.Addr().String(), "GET /mdi/second.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n"+last)
			got[i] = fetchedDates.ReplaceAllString(timelessAll(ask(t, ln.Addr().String(), requests.String()+last)), "Date: ")
		}
		if got[0] != got[1] {
			n := 0
			for n < min(len(got[0]), len(got[1])) && got[0][n] == got[1][n] {
				n++
			}
			t.Errorf("%q: %d and %d bytes differ after %q: %.300q and %.300q", fields, len(got[0]), len(got[1]), got[0][max(0, n-700):n], got[0][n:], got[1][n:])
		}
		if strings.Count(got[0], "fwd=uri-miss; stored") < len(names)-5 {
			t.Errorf("not every icon was missed: %s", got[0])
		}
	}
}
