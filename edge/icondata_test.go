package edge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
)

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the origin was asked for %q, want %q", got, want)
	}
}

// An origin of other software gets the client's own addresses, at its root, and each is cached.
func TestIconDataOfOtherSoftware(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == routes.ReleasePath {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		mu.Lock()
		asked = append(asked, r.RequestURI)
		mu.Unlock()
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, r.RequestURI)
	})
	e := newEdgeTest(t, origin, func(c *Config) { c.IconifyHosts = []string{"icons.test"} })
	if err := e.library.Poll(); !errors.Is(err, library.ErrNoReleases) {
		t.Fatal(err)
	}
	for _, row := range []struct{ host, target, want string }{
		{"a.test", "/mdi.json?icons=b,a", "/mdi.json?icons=b,a"},
		{"a.test", "/iconify/mdi.json?icons=b,a", ""}, // the same, from the cache
		{"icons.test", "/mdi.json?icons=b,a", ""},
		{"a.test", "/mdi.json?icons=a,b&x=1", "/mdi.json?icons=a,b&x=1"},
		{"a.test", "/mdi.css?icons=a%2Cb&color=Red", "/mdi.css?icons=a%2Cb&color=Red"},
		{"a.test", "/iconify/mdi/home.svg?color=Red&height=auto", "/mdi/home.svg?color=Red&height=auto"},
		{"icons.test", "/mdi/home.svg?rotate=45", "/mdi/home.svg?rotate=45"},
		{"a.test", "/collections?prefix=mdi", "/collections?prefix=mdi"},
		{"a.test", "/search?query=home", "/search?query=home"},
	} {
		for range 2 { // a form of an icon is stored at its second request
			e.as(t, row.host, http.MethodGet, row.target)
		}
		a := e.as(t, row.host, http.MethodGet, row.target)
		if want := cmp.Or(row.want, "/mdi.json?icons=b,a"); a.body != want || !strings.Contains(a.Header.Get("Cache-Status"), "; hit") {
			t.Errorf("%s%s: %q, %q; want %q", row.host, row.target, a.body, a.Header.Get("Cache-Status"), want)
		}
	}
	mu.Lock()
	asked = nil
	mu.Unlock()
	if status, body := e.purge(t, `{"urls":["/mdi.json?icons=b,a"]}`); status != http.StatusOK || !strings.Contains(body, `"purged":1`) {
		t.Errorf("purge: %d %s", status, body)
	}
	e.as(t, "icons.test", http.MethodGet, "/mdi.json?icons=b,a")
	mu.Lock()
	defer mu.Unlock()
	same(t, asked, "/mdi.json?icons=b,a")
}

// Before the edge knows its origin, requests wait for a poll, so that an origin of other software
// gets no address below /iconify. Failures of such an origin do not change what the edge knows.
func TestIconDataBeforeTheFirstPoll(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	fails := true
	set := func(f bool) { mu.Lock(); defer mu.Unlock(); fails = f }
	origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		fails := fails
		mu.Unlock()
		switch {
		case fails:
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == routes.ReleasePath:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Cache-Control", "max-age=60")
			io.WriteString(w, r.RequestURI)
		}
	})
	e := newEdgeTest(t, origin)
	targets := []string{"/mdi.json?icons=a", "/iconify/mdi.css?icons=a", "/mdi:a.svg", "/collections",
		"/iconify/search?query=a", "/mdi.json"}
	var group sync.WaitGroup
	for i := range 120 {
		group.Go(func() {
			if a := e.get(t, targets[i%len(targets)]); a.StatusCode != http.StatusBadGateway {
				t.Errorf("%s, while the origin fails: %s", targets[i%len(targets)], a.Status)
			}
		})
	}
	group.Wait()
	set(false)
	settled(t, "the edge asks again", func() bool { return e.get(t, "/mdi.json?icons=a").StatusCode == http.StatusOK })
	for _, target := range targets {
		if a := e.get(t, target); a.StatusCode != http.StatusOK || a.body != strings.TrimPrefix(target, "/iconify") {
			t.Errorf("%s: %s %q", target, a.Status, a.body)
		}
	}
	set(true)
	if err := e.library.Poll(); err == nil {
		t.Fatal("the poll succeeds")
	}
	if a := e.get(t, "/mdi.json?icons=a"); a.StatusCode != http.StatusOK {
		t.Errorf("a stored response, while the origin fails: %s", a.Status)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, path := range asked {
		if strings.HasPrefix(path, "/iconify") {
			t.Errorf("the origin was asked for %s", path)
		}
	}
}

// oddTargets resemble requests for icon data, but the hit path does not join their responses.
var oddTargets = []string{"/mdi.json?icons=", "/mdi.json?icons=,", "/mdi.json?icons=home,", "/mdi.json?icons=,home",
	"/mdi.json?icons=home,none", "/mdi.json?icons=home&info=1", "/mdi.json?icons=home&x=1", "/mdi.json?icons=home%00",
	"/mdi.json?icons=home%2", "/mdi.json?icons=home%2x", "/mdi.json?icons=HOME", "/mdi.json?icons=home/zoo",
	"/mdi.json?x=1&icons=home", "/mdi/icons.json?icons=home", "/none.json?icons=home", "/.json?icons=home", "/iconify.json?icons=home",
	"/iconify/iconify/mdi.json?icons=home", "//mdi.json?icons=home", "/mdi.json?icons=home?icons=zoo",
	"/mdi.json?icons=home#zoo", "/mdi.css?icons=home", "/mdi.js?icons=home", "/mdi.json?icons=home&callback=x"}

// joinable returns an edge whose table has the pieces of all icons, deflated.
func joinable(t testing.TB, d *owntest.Drawer, change ...func(*Config)) *edgeTest {
	e := newEdgeTest(t, d, change...)
	must(t, e.library.Poll())
	names := slices.Concat(slices.Sorted(maps.Keys(d.Bodies)), slices.Sorted(maps.Keys(d.Parents)))
	round := 0
	settled(t, "the codings of all pieces are made", func() bool {
		round++
		// A second response to one target is stored whole. A piece is prepared at its second use.
		e.get(t, fmt.Sprintf("/mdi.json?icons=%s,none-%d", strings.Join(names, ","), round))
		for _, name := range names {
			if piece := e.cache.Get(routes.PieceKey("mdi", name)); piece == nil || piece.Variant(entry.Gzip) == nil {
				return false
			}
		}
		return e.Proxy.Compression().Pending == 0
	})
	return e
}

// Joined responses are the same, byte for byte, from the hit path and from the pipeline, in all
// spellings, for all fields and hosts.
func TestJoinedFastEqualsPipeline(t *testing.T) {
	t.Parallel()
	names := []string{"house:icon00", "villa:house"}
	for i := range 20 {
		names = append(names, fmt.Sprintf("icon%02d", i))
	}
	d := owntest.NewDrawer(names...)
	e := joinable(t, d, func(c *Config) { c.IconifyHosts = []string{"icons.test"} })
	fast, slow := bothWays(t, e)
	r := rand.New(rand.NewPCG(9, 10))
	compare := func(request string) {
		if a, b := ask(t, fast, request), ask(t, slow, request); uncounted(a) != uncounted(b) {
			t.Errorf("%q\nhit path: %.1500q\npipeline:  %.1500q", request, a, b)
		}
	}
	lists := 400
	if testing.Short() {
		lists = 150
	}
	for n := range lists {
		var list []string // a new one, because a second response is stored whole, and gets brotli
		for _, i := range r.Perm(len(names))[:3+r.IntN(len(names)-3)] {
			name, _, _ := strings.Cut(names[i], ":")
			list = append(list, slices.Repeat([]string{name}, 1+r.IntN(2))...)
		}
		target := []string{"", "/iconify"}[r.IntN(2)] + "/mdi.json?icons=" + strings.Join(list, []string{",", "%2C", "%2c"}[r.IntN(3)])
		compare("GET " + target + " HTTP/1.1\r\nHost: " + []string{"a", "icons.test"}[r.IntN(2)] + "\r\n" +
			manyFields[n%len(manyFields)] + "\r\n" + last)
	}
	for _, target := range oddTargets {
		for _, host := range []string{"a", "icons.test"} {
			request := "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" + last
			for range 3 {
				ask(t, slow, request) // so that it is in the cache, if it ever is
			}
			compare(request)
		}
	}
}

// The hit path joins responses without an allocation, and leaves others to the pipeline. A second
// request for the same is left to the pipeline too, which stores the whole response.
func TestJoinedFast(t *testing.T) {
	d := owntest.NewDrawer("account", "home", "house:home", "villa:house", "zoo")
	e := joinable(t, d)
	answer := func(target string, change ...func(*request.Request)) (string, bool) {
		q := ready(target)
		for _, f := range change {
			f(q)
		}
		out, ok := e.Answer(nil, q)
		return string(out), ok
	}
	first, ok := answer("/mdi.json?icons=home,villa")
	if !ok || !strings.Contains(first, "\r\nContent-Encoding: gzip\r\n") ||
		!strings.Contains(first, "\r\nSurrogate-Key: pack/mdi icon/mdi/home icon/mdi/house icon/mdi/villa release/"+
			owntest.ReleaseA+"\r\n") ||
		!strings.Contains(first, "Cache-Status: iconedge; hit; ttl=") {
		t.Fatalf("joined: %v %q", ok, first)
	}
	if _, ok := answer("/mdi.json?icons=home,villa"); ok {
		t.Error("the second request took the hit path, so the response is not stored whole")
	}
	e.get(t, "/mdi.json?icons=home,villa")
	if again, ok := answer("/mdi.json?icons=home,villa"); !ok || e.stored("/iconify/mdi.json?icons=home,villa") == nil || again == "" {
		t.Errorf("the response is not stored whole: %v %q", ok, again)
	}
	q, out := ready(""), make([]byte, 0, 16<<10)
	n := 0
	if got := testing.AllocsPerRun(500, func() {
		n++
		q.Now, q.Target = time.Now(), fmt.Appendf(q.Target[:0], "/mdi.json?icons=zoo,home,account%s", strings.Repeat(",zoo", n%100))
		e.Answer(out, q)
	}); got > 2 && raceFactor == 1 { // those of this test; and some requests come again
		t.Errorf("a joined response allocates %v times", got)
	}
	e.purge(t, `{"surrogate_keys":["icon/mdi/zoo"]}`)
	if a, ok := answer("/mdi.json?icons=home,zoo"); ok {
		t.Errorf("after a purge: %q", a)
	}
}

// BenchmarkJoined measures a joined response of 30 icons on the hit path, and beside it one of the
// same size that is stored whole, without a connection.
func BenchmarkJoined(b *testing.B) {
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprintf("icon-of-test-%04d", i))
	}
	d := owntest.NewDrawer(names...)
	for _, name := range names {
		d.Bodies[name] = strings.Repeat("M1 2.5c-"+name, 12)
	}
	e := newEdgeTest(b, d, func(c *Config) { c.CacheBytes = 256 << 20 })
	e.library.Poll()
	for range 3 {
		for chunk := range slices.Chunk(names, 250) {
			e.get(b, "/mdi.json?icons="+strings.Join(chunk, ","))
		}
	}
	e.compressed(b)
	r := rand.New(rand.NewPCG(5, 6))
	list := func() []byte {
		var icons []string
		for range 30 {
			icons = append(icons, names[r.IntN(len(names))])
		}
		slices.Sort(icons)
		return []byte("/mdi.json?icons=" + strings.Join(slices.Compact(icons), ","))
	}
	for _, coding := range []string{"", "gzip"} {
		q, out := ready(""), make([]byte, 0, 64<<10)
		q.AcceptEncoding = []byte(coding)
		var lists [][]byte
		for range 2000 {
			lists = append(lists, list())
		}
		for _, l := range lists[:500] {
			for range 3 {
				e.get(b, string(l), "Accept-Encoding", cmp.Or(coding, "identity"))
			}
		}
		stored := slices.DeleteFunc(slices.Clone(lists[:500]), func(l []byte) bool { return e.stored("/iconify"+string(l)) == nil })
		for kind, of := range map[string][][]byte{"stored": stored, "joined": nil} {
			b.Run(kind+"/"+cmp.Or(coding, "identity"), func(b *testing.B) {
				b.ReportAllocs()
				pipeline := 0 // two lists with the same place in a table
				defer func() { b.ReportMetric(float64(pipeline)/float64(b.N), "pipeline/op") }()
				for n := 0; b.Loop(); n++ {
					if of == nil {
						if n%1500 == 0 {
							b.StopTimer()
							for i := range lists[500:] {
								lists[500+i] = list()
							}
							b.StartTimer()
						}
						q.Target = lists[500+n%1500]
					} else {
						q.Target = of[n%len(of)]
					}
					q.Now = time.Now()
					got, ok := e.Answer(out, q)
					if !ok {
						pipeline++
					}
					b.SetBytes(int64(len(got)))
				}
			})
		}
	}
}

// BenchmarkMissed measures a response of 30 icons that the edge has to fetch, with the test's
// origin in the same process.
func BenchmarkMissed(b *testing.B) {
	var names []string
	for i := range 30000 {
		names = append(names, fmt.Sprintf("icon-of-test-%05d", i))
	}
	d := owntest.NewDrawer(names...)
	for _, name := range names {
		d.Bodies[name] = strings.Repeat("M1 2.5c-"+name, 12)
	}
	e := newEdgeTest(b, d, func(c *Config) { c.CacheBytes = 256 << 20 })
	e.library.Poll()
	b.ReportAllocs()
	for n := 0; b.Loop(); n += 30 {
		if n+30 > len(names) {
			b.StopTimer()
			e.cache.Invalidate("pack/mdi")
			n = 0
			b.StartTimer()
		}
		e.get(b, "/mdi.json?icons="+strings.Join(names[n:n+30], ","))
	}
}
