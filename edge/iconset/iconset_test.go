package iconset_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/test/sequential"
)

// A test is a room of the edge's own routes, which knows the release and the names of its origin.
type test struct{ *owntest.Room }

func newDrawn(t testing.TB, d *owntest.Drawer) *test {
	t.Helper()
	e := &test{owntest.New(t, d)}
	e.Learn(t)
	return e
}

// icons requests the data of icons and compares it with the origin's.
func (e *test) icons(t testing.TB, d *owntest.Drawer, icons string, fields ...string) pipelinetest.Answer {
	t.Helper()
	return e.sameAs(t, d, "/mdi.json?icons="+icons, fields...)
}

// sameAs requests an address and compares the response with the origin's: as a tree, if it is JSON.
func (e *test) sameAs(t testing.TB, d *owntest.Drawer, target string, fields ...string) pipelinetest.Answer {
	t.Helper()
	a := e.Get(t, target, fields...)
	body := a.Decoded(t)
	path, query, _ := strings.Cut(target, "?")
	media, want := d.Answer(path, query)
	unwrapped := func(s string) any {
		if media == "text/css; charset=utf-8" {
			return s
		}
		if start, rest, ok := strings.Cut(s, "("); ok && strings.HasPrefix(s, "/**/") {
			return []any{start, tree(t, strings.TrimSuffix(rest, ");"))}
		}
		return tree(t, s)
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != media || !reflect.DeepEqual(unwrapped(body), unwrapped(want)) {
		t.Fatalf("%s: %d, %s %.600s\nwant %s %.600s", target, a.StatusCode, a.Header.Get("Content-Type"), body, media, want)
	}
	return a
}

func tree(t testing.TB, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %.300q", err, body)
	}
	return v
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the origin was asked for %q, want %q", got, want)
	}
}

func TestIconDataIsCachedInPieces(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "home", "house:home", "villa:house", "zoo")
	e := newDrawn(t, d)
	first := e.icons(t, d, "home,account")
	same(t, d.Requests(), "account,home")
	if s := first.Header.Get("Cache-Status"); !strings.Contains(s, "fwd=uri-miss") || first.Header.Get("Link") == "" {
		t.Errorf("the first response: %q", first.Header)
	}
	again := e.icons(t, d, "account,home")
	if s := again.Header.Get("Cache-Status"); !strings.Contains(s, "; hit") || again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("the same icons again: %q, before %q", again.Header, first.Header)
	}
	e.icons(t, d, "home")
	e.icons(t, d, "account")
	same(t, d.Requests())
	e.icons(t, d, "account,zoo,home")
	same(t, d.Requests(), "zoo")
	e.icons(t, d, "villa") // an alias of an alias
	same(t, d.Requests(), "villa")
	e.icons(t, d, "house,villa,zoo")
	same(t, d.Requests())
	for _, fields := range [][]string{{"Accept-Encoding", "gzip"}, {"Accept-Encoding", "br, gzip;q=0.5"}, {"Accept-Encoding", "gzip;q=0"}} {
		e.icons(t, d, "account,house,zoo", fields...)
	}
	e.Compressed(t)
	// Only a response that is joined from deflated pieces has an entity tag that stays. A busy
	// cache may drop a deflated piece, which a later request then has deflated again.
	fetchtest.Settled(t, "another order of the icons has the same entity tag", func() bool {
		a := e.icons(t, d, "account,house,zoo", "Accept-Encoding", "gzip")
		if a.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("with gzip: %q", a.Header)
		}
		other := e.Get(t, "/mdi.json?icons=zoo,account,house", "Accept-Encoding", "gzip", "If-None-Match", a.Header.Get("ETag"))
		return other.StatusCode == http.StatusNotModified
	})
	head := e.Send(t, pipelinetest.Message{Method: http.MethodHead, URL: "/mdi.json?icons=zoo"})
	if a := head; a.StatusCode != http.StatusOK || a.ContentLength <= 0 {
		t.Errorf("HEAD: %d %q", a.StatusCode, a.Header)
	}
	same(t, d.Requests())
}

// Also a response whose pieces have just been fetched comes in gzip, whether none or only some of
// them are deflated. A later one, which is joined from deflated pieces, has other bytes and another
// entity tag.
func TestIconDataInGzipFromTheFirst(t *testing.T) {
	t.Parallel()
	old := []string{"account", "house", "zoo"}
	for i := range 20 {
		old = append(old, fmt.Sprintf("old%02d", i))
	}
	added := []string{"new1", "new2"}
	d := owntest.NewDrawer(slices.Sorted(slices.Values(append(slices.Concat(old, added), "villa:house")))...)
	e := newDrawn(t, d)
	for _, names := range [][]string{old, slices.Concat(old, added, []string{"villa"})} {
		tags := map[string]string{}
		fetchtest.Settled(t, "the pieces are deflated", func() bool {
			list := strings.Join(names, ",")
			names = append(names[1:], names[0]) // another order, which is not stored whole
			a := e.icons(t, d, list, "Accept-Encoding", "gzip")
			if a.Header.Get("Content-Encoding") != "gzip" {
				t.Fatalf("a response without gzip: %q", a.Header)
			}
			tag, body := a.Header.Get("ETag"), string(a.Body)
			if known, ok := tags[tag]; ok && known != body {
				t.Errorf("two bodies have the entity tag %s", tag)
			}
			tags[tag] = body
			return len(tags) > 1
		})
	}
}

func TestIconDataThatIsAbsent(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("home", "zoo")
	e := newDrawn(t, d)
	a := e.icons(t, d, "nowhere,home,UPPER")
	same(t, d.Requests(), "home")
	if c := a.Header.Get("Cache-Control"); !strings.Contains(c, "max-age=300") {
		t.Errorf("a response without an icon is cached: %s", c)
	}
	for range 2 { // the icons that are found are cached for as long as others
		e.icons(t, d, "zoo,f016")
		if s := e.Cache.Get("/iconify/mdi.json#zoo"); s == nil || s.Policy.Lifetime < time.Hour {
			t.Fatalf("an icon that was requested with a missing one: %+v", s)
		}
	}
	same(t, d.Requests(), "f016,zoo")
	if a := e.icons(t, d, "home,zoo"); a.Header.Get("Cache-Control") != owntest.IconLife || a.Header.Get(cachepolicy.OurField) != "" {
		t.Errorf("icons that were requested with missing ones: %q", a.Header)
	}
	e.icons(t, d, "f015") // perhaps a font character, which is in no list
	e.icons(t, d, "f015")
	e.icons(t, d, "1f442-1f3fd") // an emoji with a skin tone
	same(t, d.Requests(), "f015", "1f442-1f3fd")
	for _, name := range []string{"..", "%00", "a%20b", "%3Cscript%3E", "%22", "é"} {
		a := e.Get(t, "/mdi.json?icons=home,"+name)
		if a.StatusCode == http.StatusOK {
			tree(t, a.Body)
		}
	}
	same(t, d.Requests())
}

// A response without a requested icon has no Last-Modified: the time of the other icons says
// nothing about an icon that comes, goes or is withdrawn.
func TestIconDataThatComesAndGoes(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("home", "zoo")
	e := newDrawn(t, d)
	for _, target := range []string{"/mdi.json?icons=home,zoo", "/mdi.css?icons=home,zoo", "/mdi.js?icons=home,zoo"} {
		for range 3 { // from the origin, from pieces, stored whole
			if a := e.Get(t, target); a.Header.Get("Last-Modified") != owntest.IconTime {
				t.Errorf("%s: %q", target, a.Header)
			}
			if a := e.Get(t, target, "If-Modified-Since", owntest.IconTime); a.StatusCode != http.StatusNotModified {
				t.Errorf("%s since its change: %d", target, a.StatusCode)
			}
			lacking := strings.Replace(target, "zoo", "nowhere", 1)
			if a := e.Get(t, lacking); a.Header.Get("Last-Modified") != "" {
				t.Errorf("%s: %q", lacking, a.Header)
			}
			if a := e.Get(t, lacking, "If-Modified-Since", owntest.IconTime); a.StatusCode != http.StatusOK {
				t.Errorf("%s since the last change of the icon that is there: %d", lacking, a.StatusCode)
			}
		}
	}
}

// A list of the greatest length is requested in two parts, which another tier accepts.
func TestIconDataOfLongNames(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("%080d", i))
	}
	d := owntest.NewDrawer(names...)
	e := newDrawn(t, d)
	list := strings.Join(names, ",") // 8,099 bytes
	e.icons(t, d, list)
	asked := d.Requests()
	if len(asked) != 2 || strings.Join(asked, ",") != list {
		t.Errorf("%d requests to the origin: %q", len(asked), asked)
	}
	e.icons(t, d, list)
	same(t, d.Requests())
}

// A thousand clients that request overlapping icons at once make the origin answer each icon once.
// During a release that changes all icons, each of their responses is of one release.
func TestIconDataInFlight(t *testing.T) {
	t.Parallel()
	clients := 1000
	if testing.Short() {
		clients = 200
	}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("icon-%02d", i))
	}
	d := owntest.NewDrawer(names...)
	e := newDrawn(t, d)
	hold := make(chan struct{})
	d.Change(func() { d.Wait = hold })
	list := func(r *rand.Rand) string {
		picked := map[string]bool{}
		for range 5 {
			picked[names[r.IntN(len(names))]] = true
		}
		return strings.Join(slices.Collect(maps.Keys(picked)), ",")
	}
	var group sync.WaitGroup
	for i := range clients {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		group.Go(func() { e.icons(t, d, list(r)) })
	}
	fetchtest.Settled(t, "all clients wait for icons", func() bool { return e.Cache.Callers() >= 3*clients })
	close(hold)
	group.Wait()
	seen := map[string]int{}
	for _, icons := range d.Requests() {
		for _, name := range strings.Split(icons, ",") {
			seen[name]++
		}
	}
	for name, n := range seen {
		if n > 1 {
			t.Errorf("the origin was asked for %s %d times", name, n)
		}
	}
	d.Change(func() { d.Wait = nil })
	var before atomic.Int64
	var begun sync.WaitGroup // the first half of the clients have a response of the old release
	begun.Add(clients / 2)
	for i := range clients {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		group.Go(func() {
			for n := range 4 {
				a := e.Get(t, "/mdi.json?icons="+list(r), "Accept-Encoding", []string{"identity", "gzip"}[r.IntN(2)])
				body := a.Decoded(t)
				if strings.Contains(body, "path d='") {
					before.Add(1)
				}
				if old, now := strings.Contains(body, "path d='"),
					strings.Contains(body, "release two"); a.StatusCode != http.StatusOK || old == now {
					t.Errorf("%d, of the old release: %v, of the new one: %v: %.300s", a.StatusCode, old, now, body)
				}
				if n == 0 && i < clients/2 {
					begun.Done()
				}
			}
		})
		if i == clients/2-1 {
			begun.Wait()
			d.Change(func() {
				d.Set(func() { d.Release, d.Changed = owntest.ReleaseB, nil })
				for _, name := range names {
					d.Bodies[name] = "release two " + name
					d.Set(func() { d.Changed = append(d.Changed, "icon/mdi/"+name) })
				}
			})
			e.Learn(t)
		}
	}
	group.Wait()
	if a := e.Get(t, "/mdi.json?icons="+names[0]); !strings.Contains(a.Body, "release two") || before.Load() == 0 {
		t.Errorf("after the release: %s", a.Body)
	}
}

// A release and a purge drop the pieces that they concern alone, and no response mixes releases.
func TestIconDataIsDropped(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "home", "zoo")
	e := newDrawn(t, d)
	e.icons(t, d, "account,home,zoo")
	same(t, d.Requests(), "account,home,zoo")
	if n := e.Purge("icon/mdi/home"); n != 1 {
		t.Fatalf("%d entries were purged, want 1", n)
	}
	e.icons(t, d, "account,home,zoo")
	same(t, d.Requests(), "home")

	d.Change(func() { d.Bodies["home"] = "changed" })
	d.Set(func() { d.Release = owntest.ReleaseB; d.Changed = []string{"icon/mdi/home"} })
	e.icons(t, d, "account,zoo") // the edge has not heard of the release yet
	same(t, d.Requests())
	e.Learn(t)
	e.icons(t, d, "account,home,zoo")
	if asked := d.Requests(); len(asked) != 1 || !strings.Contains(asked[0], "home") {
		t.Errorf("after a release that changed home, the origin was asked for %q", asked)
	}
	e.icons(t, d, "account,home,zoo")
	same(t, d.Requests())
}

// A piece of a release that the edge does not know yet is not joined with older ones.
func TestIconDataIsOfOneRelease(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "home")
	e := newDrawn(t, d)
	e.icons(t, d, "account")
	d.Requests()
	d.Change(func() { d.Bodies["account"], d.Bodies["home"] = "new account", "new home" })
	d.Set(func() { d.Release = owntest.ReleaseB })
	e.icons(t, d, "account,home") // want compares with the new release
	e.icons(t, d, "account,home")
}

func TestIconDataWhenTheOriginFails(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "home")
	e := newDrawn(t, d)
	e.icons(t, d, "account,home")
	d.Requests()
	d.Change(func() { d.Fails = true })
	e.Move(25 * time.Hour)
	e.icons(t, d, "account,home")
	if a := e.Get(t, "/mdi.json?icons=account,home", "Cache-Control", "only-if-cached"); a.StatusCode != http.StatusOK {
		t.Errorf("only-if-cached: %d", a.StatusCode)
	}
	other := newDrawn(t, d)
	if a := other.Get(t, "/mdi.json?icons=home"); a.StatusCode != http.StatusBadGateway {
		t.Errorf("nothing is stored and the origin fails: %d", a.StatusCode)
	}
	if a := other.Get(t, "/mdi.json?icons=home", "Cache-Control", "only-if-cached"); a.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("nothing is stored and only-if-cached: %d", a.StatusCode)
	}
}

// Stylesheets, scripts, and data with info or indented come from the same pieces as data.
func TestIconDataInOtherForms(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "home", "house:home", "zoo")
	e := newDrawn(t, d)
	e.icons(t, d, "account,house,zoo")
	d.Requests()
	tags := map[string]string{}
	for _, target := range []string{
		"/mdi.css?icons=zoo,house", "/mdi.css?icons=zoo,house&mode=bg&color=red",
		"/mdi.css?icons=zoo,house&format=compressed", "/mdi.css?icons=missing,house&selector=.a-{name}",
		"/mdi.js?icons=zoo,house", "/mdi.js?icons=zoo,house&callback=a.b", "/mdi/icons.js?icons=zoo&callback=a.b",
		"/mdi.json?icons=zoo,house&info=true", "/mdi.json?icons=zoo,house&pretty=1",
		"/mdi.js?icons=zoo,house&pretty=1&info=yes",
	} {
		for _, accept := range []string{"identity", "gzip", "br, gzip"} {
			a := e.sameAs(t, d, target, "Accept-Encoding", accept)
			if s := a.Header.Get("Cache-Status"); !strings.Contains(s, "; hit") {
				t.Errorf("%s: %s", target, s)
			}
			if accept == "identity" {
				if other := tags[a.Header.Get("ETag")]; other != "" {
					t.Errorf("%s has the entity tag of %s", target, other)
				}
				tags[a.Header.Get("ETag")] = target
			}
		}
	}
	same(t, d.Requests())
	spelt := e.sameAs(t, d, "/iconify/mdi.css?icons=house,zoo,zoo&mode=background&color=%23F00&unknown=1")
	if tags[spelt.Header.Get("ETag")] != "/mdi.css?icons=zoo,house&mode=bg&color=red" {
		t.Errorf("another spelling has another entity tag: %q", spelt.Header)
	}
	if a := e.Get(t, "/mdi.css?icons=zoo&download=1"); a.Header.Get("Content-Disposition") != `attachment; filename="mdi.css"` {
		t.Errorf("download: %q", a.Header)
	}
	if a := e.sameAs(t, d, "/mdi.css?icons=missing"); !strings.Contains(a.Header.Get("Cache-Control"), "max-age=300") {
		t.Errorf("a stylesheet without an icon is cached: %q", a.Header)
	}
}

// A response that is requested again is stored whole, with brotli, until an icon of it is purged or
// a release comes.
func TestJoinedIsStoredWhole(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "bear", "fox", "home", "lion", "owl", "tiger", "wolf", "zoo")
	e := newDrawn(t, d)
	for _, target := range []string{"/mdi.json?icons=account,bear,fox,home,lion,owl,tiger,wolf,zoo", "/mdi.css?icons=home,lion,zoo"} {
		whole := func() bool { return e.Cache.Get("/iconify"+target) != nil }
		e.sameAs(t, d, target)
		if whole() {
			t.Fatalf("%s is stored whole at its first request", target)
		}
		again := func() bool { e.sameAs(t, d, target); return whole() }
		fetchtest.Settled(t, target+" is stored whole", again) // once its pieces are deflated
		e.sameAs(t, d, target, "Accept-Encoding", "br")        // has it made
		e.Compressed(t)
		if a := e.sameAs(t, d, target, "Accept-Encoding", "br, gzip"); a.Header.Get("Content-Encoding") != "br" {
			t.Errorf("%s: no brotli: %q", target, a.Header)
		}
		e.Purge("icon/mdi/home")
		if whole() {
			t.Errorf("%s is stored after a purge of one of its icons", target)
		}
		fetchtest.Settled(t, target+" is stored again", again)
		d.Set(func() { d.Release = owntest.ReleaseB; d.Changed = []string{"icon/mdi/other"} })
		e.Learn(t)
		if whole() {
			t.Errorf("%s is stored after a release", target)
		}
		d.Set(func() { d.Release = owntest.ReleaseA; d.Changed = nil })
		e.Learn(t)
	}
}

// A request after a new release does not get a piece whose fetch began before it.
func TestIconDataDuringARelease(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account")
	e := newDrawn(t, d)
	e.icons(t, d, "account")
	d.Requests()
	hold := make(chan struct{})
	d.Change(func() { d.Wait = hold })
	e.Cache.Purge(cache.Purge{Tags: []string{"pack/mdi"}, Soft: true}, e.Now())
	e.icons(t, d, "account") // stale, and fetched again in the background
	fetchtest.Settled(t, "the background fetch is at the origin", func() bool { return len(d.Requests()) > 0 })
	d.Change(func() { d.Wait, d.Bodies["account"] = nil, "new" })
	d.Set(func() {
		d.Release, d.Changed = fmt.Sprintf("%032x", 1), []string{"icon/mdi/account"}
	})
	e.Learn(t)
	got := make(chan pipelinetest.Answer)
	go func() { got <- e.Get(t, "/mdi.json?icons=account") }()
	fetchtest.Settled(t, "the request waits", func() bool { return e.Cache.Callers() > 1 })
	close(hold)
	if a := <-got; !strings.Contains(a.Body, "new") {
		t.Errorf("the response is of the release before: %s", a.Body)
	}
}

// Random requests, purges and releases: each response is the origin's.
func TestIconDataModel(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	var names []string
	for i := range 30 {
		name := fmt.Sprintf("i%02d", i)
		if i%5 == 4 {
			name += fmt.Sprintf(":i%02d", i-r.IntN(4)-1)
		}
		names = append(names, name)
	}
	d := owntest.NewDrawer(names...)
	e := newDrawn(t, d)
	for step := range 400 {
		var icons []string
		for range 1 + r.IntN(8) {
			name, _, _ := strings.Cut(names[r.IntN(len(names))], ":")
			if r.IntN(20) == 0 {
				name += "-absent"
			}
			if !slices.Contains(icons, name) {
				icons = append(icons, name)
			}
		}
		switch name := icons[0]; r.IntN(10) {
		case 0:
			e.Purge("icon/mdi/" + name)
		case 1:
			e.Cache.Purge(cache.Purge{Tags: []string{"pack/mdi"}, Soft: true}, e.Now())
		case 2:
			d.Change(func() {
				if d.Bodies[name] != "" {
					d.Bodies[name] = fmt.Sprint("step ", step)
				}
			})
			d.Set(func() {
				d.Release = fmt.Sprintf("%032x", step)
				d.Changed = []string{"icon/mdi/" + name}
			})
			e.Learn(t)
		}
		list, accept := strings.Join(icons, ","), []string{"identity", "gzip", "br"}[r.IntN(3)]
		e.icons(t, d, list, "Accept-Encoding", accept)
		form := []string{"/mdi.css?icons=%s", "/mdi.js?icons=%s&callback=f", "/mdi.json?icons=%s&info=1",
			"/mdi.css?icons=%s&mode=bg"}[r.IntN(4)]
		for range 1 + r.IntN(4) { // from the second on it is stored whole
			e.sameAs(t, d, fmt.Sprintf(form, list), "Accept-Encoding", accept)
		}
	}
}

// A response never steps back from gzip to no coding: not when its pieces are deflated, of which a
// join would be longer than the response, and not when it is stored whole.
func TestIconDataStaysInGzip(t *testing.T) {
	t.Parallel()
	d := owntest.NewDrawer("account", "home", "zoo")
	for name := range d.Bodies {
		d.Bodies[name] = `<path d="M10 20h4v6v5h3L2 12h3v8z"/>`
	}
	e := newDrawn(t, d)
	for _, icons := range []string{"home", "zoo,account", "home,zoo,account"} {
		coded := false
		for i := range 6 {
			a := e.icons(t, d, icons, "Accept-Encoding", "gzip")
			got := a.Header.Get("Content-Encoding") == "gzip"
			if coded && !got {
				t.Errorf("%s: request %d has no coding, those before had gzip", icons, i)
			}
			coded = coded || got
			e.Compressed(t)
		}
	}
}
