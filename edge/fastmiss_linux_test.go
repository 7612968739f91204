package edge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/proxy"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/icon"
)

// manyOrigin has any number of icons in three packs, as our own origin sends them. The icons of one
// pack have no gzip, those of another have no licence.
func manyOrigin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set(icon.FieldRelease, owntest.ReleaseA)
	pack, name, ok := strings.Cut(strings.TrimSuffix(r.URL.Path[1:], ".svg"), "/")
	switch {
	case !ok || !strings.HasSuffix(r.URL.Path, ".svg"):
		manyNames.ServeHTTP(w, r)
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
		h.Set("Cache-Control", owntest.IconLife)
	}
	body := []byte("<svg>" + strings.Repeat(name, 60) + "</svg>")
	etag := fmt.Sprintf("%x", sha256.Sum256(body))
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")
	h.Set("Surrogate-Key", "icon/"+pack+"/"+name+" pack/"+pack+" release/"+owntest.ReleaseA)
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

// manyNames lists the icons of manyOrigin that the tests request.
var manyNames = func() *owntest.Listing {
	names := " broken damaged first icon-0 icon-1 icon-2 icon-3 icon-4 icon-9 private second"
	return owntest.NewListing("free"+names, "mdi"+names, "small"+names)
}()

// A fetching counts the requests whose response is fetched on an event loop.
type fetching struct {
	*proxy.Proxy
	fetches atomic.Int64
	began   chan request.Pending // nil: nobody expires them
}

func (f *fetching) Fetch(q *request.Request, client interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) request.Pending {
	p := f.Proxy.Fetch(q, client, ready)
	if p == nil {
		return nil
	}
	f.fetches.Add(1)
	if f.began != nil {
		f.began <- p
	}
	return p
}

// fetchedDates are those of responses of two edges, which may be from different seconds.
var fetchedDates = regexp.MustCompile("Date: [^\r]*")

// A miss on an event loop has the same response as one by the pipeline, byte for byte: the first
// one of a pack, whose head is read field by field, and the later ones, whose head is known. So do
// the hits that follow, and responses that are errors, or not stored.
func TestFastMissEqualsPipeline(t *testing.T) {
	t.Parallel()
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
			e.learnAll(t)
			e.get(t, "/mdi/first.svg") // it makes the edge know that the origin is one of ours
			ln := listenTest(t)
			fetches := &fetching{Proxy: e.Proxy}
			var handler listen.Handler = fetches
			if loop == listen.LoopOff {
				handler = pipelineOnly{e.Proxy}
			}
			e.serveToo(t, ln, handler, func(o *listen.Options) { o.Capacity.Loop = loop })
			var requests strings.Builder
			for range 3 {
				for _, name := range names {
					requests.WriteString("GET " + name + " HTTP/1.1\r\nHost: last\r\n" + fields + "\r\n")
				}
			}
			ask(t, ln.Addr().String(), "GET /mdi/second.svg HTTP/1.1\r\nHost: last\r\n\r\n"+last)
			defer func() {
				if n := fetches.fetches.Load(); loop == listen.LoopOn && n < 15 {
					t.Errorf("%q: %d responses were fetched on the loop", fields, n)
				}
			}()
			got[i] = fetchedDates.ReplaceAllString(uncountedAll(ask(t, ln.Addr().String(), requests.String()+last)), "Date: ")
		}
		if got[0] != got[1] {
			n := 0
			for n < min(len(got[0]), len(got[1])) && got[0][n] == got[1][n] {
				n++
			}
			t.Errorf("%q: %d and %d bytes differ after %q: %.300q and %.300q", fields, len(got[0]), len(got[1]),
				got[0][max(0, n-700):n], got[0][n:], got[1][n:])
		}
		if strings.Count(got[0], "fwd=uri-miss; stored") < len(names)-5 {
			t.Errorf("not every icon was missed: %s", got[0])
		}
	}
}

// A request on an event loop for a stale icon does not wait for the origin that confirms it, as in
// the pipeline: it gets the stale response, and no error of the origin.
func TestFastMissLeavesStaleResponses(t *testing.T) {
	held, hold := make(chan struct{}), atomic.Bool{}
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hold.Load() && r.URL.Path == "/mdi/first.svg" {
			<-held
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		manyOrigin(w, r)
	}))
	e.learnAll(t)
	e.get(t, "/mdi/second.svg")
	ln := listenTest(t)
	e.serveToo(t, ln, e.Proxy, func(o *listen.Options) { o.Capacity.Loop = listen.LoopOn })
	request := "GET /mdi/first.svg HTTP/1.1\r\nHost: last\r\n\r\n" + last
	ask(t, ln.Addr().String(), request)
	e.cache.Purge(cache.Purge{Keys: []string{"/mdi/first.svg"}, Soft: true}, e.ages.now())
	e.ages.move(time.Second)
	hold.Store(true)
	for i := range 3 {
		if got := ask(t, ln.Addr().String(), request); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, "hit; ttl=-1") {
			t.Errorf("request %d, while the origin is asked: %.300q", i, got)
		}
	}
	close(held)
}

// A path that only resembles that of an icon is left to the pipeline: with --proxy-all it belongs
// to another application, and otherwise it is no cache key.
func TestFastMissLeavesOtherPaths(t *testing.T) {
	e := newEdgeTest(t, http.HandlerFunc(manyOrigin))
	fetches := &fetching{Proxy: e.Proxy}
	ln := listenTest(t)
	e.get(t, "/mdi/second.svg") // without a list of names
	e.serveToo(t, ln, fetches, func(o *listen.Options) { o.Capacity.Loop = listen.LoopOn })
	request := "GET %s HTTP/1.1\r\nHost: last\r\n\r\n" + last
	ask(t, ln.Addr().String(), fmt.Sprintf(request, "/mdi/first.svg"))
	e.learnAll(t)
	for _, path := range []string{"/img/My_Logo.svg", "/mdi/%66irst.svg", "/mdi/unknown.svg", "/unknown/first.svg"} {
		ask(t, ln.Addr().String(), fmt.Sprintf(request, path))
	}
	if n := fetches.fetches.Load(); n != 0 {
		t.Errorf("%d of these paths were fetched on the event loop", n)
	}
	if ask(t, ln.Addr().String(), fmt.Sprintf(request, "/mdi/icon-1.svg")); fetches.fetches.Load() != 1 {
		t.Error("an icon was not fetched on the event loop")
	}
}

// Clients of a fetch that takes too long get a 504 each, though the fetch goes on. No slot stays
// taken, and the response is stored for later requests.
func TestFastMissExpires(t *testing.T) {
	held := make(chan struct{})
	var asked atomic.Int64
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mdi/first.svg" {
			asked.Add(1)
			<-held
		}
		manyOrigin(w, r)
	}))
	e.learnAll(t)
	e.get(t, "/mdi/second.svg")
	const clients = 40
	fetches := &fetching{Proxy: e.Proxy, began: make(chan request.Pending, clients)}
	ln := listenTest(t)
	e.serveToo(t, ln, fetches, func(o *listen.Options) { o.Capacity.Loop = listen.LoopOn })
	request := "GET %s HTTP/1.1\r\nHost: last\r\n\r\n" + last
	// The hit path knows the host from then on.
	ask(t, ln.Addr().String(), fmt.Sprintf(request, "/mdi/second.svg"))
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			got := ask(t, ln.Addr().String(), fmt.Sprintf(request, "/mdi/first.svg"))
			if !strings.HasPrefix(got, "HTTP/1.1 504 ") || !strings.Contains(got, "Retry-After: ") ||
				!strings.Contains(got, `"status":504`) {
				t.Errorf("after the time is over: %.300q", got)
			}
		})
	}
	for range clients {
		p := <-fetches.began
		if until := time.Until(p.Due()); until <= 0 || until > 3*longEnough {
			t.Errorf("the client waits for %v", until)
		}
		p.Expire()
		p.Expire() // as if it ended at the same moment
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("the origin got %d requests", n)
	}
	if n := e.origin.Waiting(); n != 0 {
		t.Errorf("%d requests wait for the origin", n)
	}
	close(held)
	for got := ""; !strings.Contains(got, "hit;"); { // by then the response may still be on its way
		got = ask(t, ln.Addr().String(), fmt.Sprintf(request, "/mdi/first.svg"))
		if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Fatalf("after the origin has answered: %.300q", got)
		}
	}
}
