package edge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/icon/viewbox"
	"github.com/iconedge/iconedge/test/sequential"
)

// A drawer is our own origin with one pack of icons, whose data it answers. An alias has its parent
// after a colon in the list of names.
type drawer struct {
	*listing
	mu      sync.Mutex
	parents map[string]string
	drawing map[string]string // by name
	asked   []string          // the icons of each request for data
	hold    chan struct{}     // nil: none
	fails   bool
	date    string // of every response with data, however long the test takes
}

// iconTime is the time of the release in which all icons of a drawer were last changed.
const iconTime = "Thu, 26 Nov 2026 10:00:00 GMT"

var drawerInfo = map[string]any{"name": "Material Design Icons", "palette": false}

func newDrawer(names ...string) *drawer {
	d := &drawer{parents: map[string]string{}, drawing: map[string]string{}, date: time.Now().UTC().Format(http.TimeFormat)}
	list := "mdi"
	for _, name := range names {
		name, parent, _ := strings.Cut(name, ":")
		if list += " " + name; parent != "" {
			d.parents[name] = parent
		} else {
			d.drawing[name] = strings.Repeat("<path d='"+name+"'/>", 5)
		}
	}
	d.listing = newListing(list)
	return d
}

func (d *drawer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/iconify/mdi.") {
		d.listing.ServeHTTP(w, r)
		return
	}
	d.mu.Lock()
	icons, hold, fails := r.URL.Query().Get("icons"), d.hold, d.fails
	d.asked = append(d.asked, icons)
	media, body := d.answer(r.URL.Path, r.URL.RawQuery)
	d.mu.Unlock()
	w.Header().Set("Date", d.date)
	d.listing.ourOrigin.mu.Lock()
	release := d.release
	d.listing.ourOrigin.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if fails {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set(icon.FieldRelease, release)
	w.Header().Set("Cache-Control", iconLife)
	if strings.Contains(body, "not_found") {
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set(cachepolicy.OurField, iconLife)
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Surrogate-Key", "pack/mdi")
	w.Header().Set("Last-Modified", iconTime)
	w.Header().Set("Link", `<https://licences.test/mit>; rel="license"`)
	io.WriteString(w, body)
}

// answer answers a request for data, a script or a stylesheet. The caller has the lock.
func (d *drawer) answer(path, query string) (media, body string) {
	address, _ := iconify.Find(path, false)
	r, err := iconify.Parse(address, query)
	if err != nil {
		panic(err)
	}
	data := d.data(r.Names)
	if address.Kind == iconify.Stylesheet {
		var styled []iconify.Styled
		for _, name := range r.Names {
			of := name
			for d.parents[of] != "" {
				of = d.parents[of]
			}
			if d.drawing[of] != "" {
				styled = append(styled, iconify.Styled{Name: name, Body: d.drawing[of], Box: viewbox.Box{Width: 24, Height: 24}})
			}
		}
		absent, _ := data["not_found"].([]string)
		return "text/css; charset=utf-8", r.Style.Sheet("mdi", false, styled, len(absent))
	}
	if r.Info {
		data["info"] = drawerInfo
	}
	object, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	if r.Callback != "" {
		return "application/javascript", "/**/" + r.Callback + "(" + string(object) + ");"
	}
	return "application/json", string(object)
}

// sameAs requests an address and compares the response with the origin's: as a tree, if it is JSON.
func (e *edgeTest) sameAs(t testing.TB, d *drawer, target string, fields ...string) answer {
	t.Helper()
	a := e.get(t, target, fields...)
	body := decoded(t, a)
	path, query, _ := strings.Cut(target, "?")
	d.mu.Lock()
	media, want := d.answer(path, query)
	d.mu.Unlock()
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
		t.Fatalf("%s: %s, %s %.600s\nwant %s %.600s", target, a.Status, a.Header.Get("Content-Type"), body, media, want)
	}
	return a
}

// data returns the data of icons, as the origin answers it. The caller has the lock.
func (d *drawer) data(names []string) map[string]any {
	icons, aliases, absent := map[string]any{}, map[string]any{}, []string{}
	var add func(name string)
	add = func(name string) {
		switch {
		case d.drawing[name] != "":
			icons[name] = map[string]any{"body": d.drawing[name]}
		case d.parents[name] != "":
			aliases[name] = map[string]any{"parent": d.parents[name]}
			add(d.parents[name])
		default:
			absent = append(absent, name)
		}
	}
	for _, name := range names {
		add(name)
	}
	body := map[string]any{"prefix": "mdi", "lastModified": 1, "width": 24, "height": 24, "icons": icons, "aliases": aliases}
	if len(absent) > 0 {
		slices.Sort(absent)
		body["not_found"] = absent
	}
	return body
}

func (d *drawer) change(f func()) { d.mu.Lock(); defer d.mu.Unlock(); f() }

// requests returns the icons of the requests since the last call.
func (d *drawer) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.asked = nil }()
	return d.asked
}

// want returns the body that the origin would give for icons, as a tree.
func (d *drawer) want(t testing.TB, icons string) any {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	body, err := json.Marshal(d.data(strings.Split(icons, ",")))
	must(t, err)
	return tree(t, string(body))
}

func tree(t testing.TB, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %.300q", err, body)
	}
	return v
}

func newDrawn(t *testing.T, d *drawer, change ...func(*Config)) *edgeTest {
	t.Helper()
	e := newEdgeTest(t, d, change...)
	e.learnAll(t)
	return e
}

// icons requests the data of icons and compares it with the origin's.
func (e *edgeTest) icons(t testing.TB, d *drawer, icons string, fields ...string) answer {
	t.Helper()
	a := e.get(t, "/mdi.json?icons="+icons, fields...)
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %.300s", icons, a.Status, a.body)
	}
	body := decoded(t, a)
	if want := d.want(t, icons); !reflect.DeepEqual(tree(t, body), want) {
		t.Fatalf("%s: got %.600s, want %.600v", icons, body, want)
	}
	return a
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the origin was asked for %q, want %q", got, want)
	}
}

func TestIconDataIsCachedInPieces(t *testing.T) {
	t.Parallel()
	d := newDrawer("account", "home", "house:home", "villa:house", "zoo")
	e := newDrawn(t, d)
	first := e.icons(t, d, "home,account")
	same(t, d.requests(), "account,home")
	if s := first.Header.Get("Cache-Status"); !strings.Contains(s, "fwd=uri-miss") || first.Header.Get("Link") == "" {
		t.Errorf("the first response: %q", first.Header)
	}
	again := e.icons(t, d, "account,home")
	if s := again.Header.Get("Cache-Status"); !strings.Contains(s, "; hit") || again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("the same icons again: %q, before %q", again.Header, first.Header)
	}
	e.icons(t, d, "home")
	e.icons(t, d, "account")
	same(t, d.requests())
	e.icons(t, d, "account,zoo,home")
	same(t, d.requests(), "zoo")
	e.icons(t, d, "villa") // an alias of an alias
	same(t, d.requests(), "villa")
	e.icons(t, d, "house,villa,zoo")
	same(t, d.requests())
	for _, fields := range [][]string{{"Accept-Encoding", "gzip"}, {"Accept-Encoding", "br, gzip;q=0.5"}, {"Accept-Encoding", "gzip;q=0"}} {
		e.icons(t, d, "account,house,zoo", fields...)
	}
	e.compressed(t)
	a := e.icons(t, d, "account,house,zoo", "Accept-Encoding", "gzip")
	e.compressed(t)
	if a.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("with gzip: %q", a.Header)
	}
	if a := e.get(t, "/mdi.json?icons=zoo,account,house", "Accept-Encoding", "gzip", "If-None-Match", a.Header.Get("ETag")); a.StatusCode != http.StatusNotModified {
		t.Errorf("another order with the same entity tag: %s", a.Status)
	}
	if a := e.do(t, http.MethodHead, "/mdi.json?icons=zoo"); a.StatusCode != http.StatusOK || a.ContentLength <= 0 {
		t.Errorf("HEAD: %s %q", a.Status, a.Header)
	}
	same(t, d.requests())
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
	d := newDrawer(slices.Sorted(slices.Values(append(slices.Concat(old, added), "villa:house")))...)
	e := newDrawn(t, d)
	for _, names := range [][]string{old, slices.Concat(old, added, []string{"villa"})} {
		tags := map[string]string{}
		settled(t, "the pieces are deflated", func() bool {
			list := strings.Join(names, ",")
			names = append(names[1:], names[0]) // another order, which is not stored whole
			a := e.icons(t, d, list, "Accept-Encoding", "gzip")
			if a.Header.Get("Content-Encoding") != "gzip" {
				t.Fatalf("a response without gzip: %q", a.Header)
			}
			tag, body := a.Header.Get("ETag"), string(a.body)
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
	d := newDrawer("home", "zoo")
	e := newDrawn(t, d)
	a := e.icons(t, d, "nowhere,home,UPPER")
	same(t, d.requests(), "home")
	if c := a.Header.Get("Cache-Control"); !strings.Contains(c, "max-age=300") {
		t.Errorf("a response without an icon is cached: %s", c)
	}
	for range 2 { // the icons that are found are cached for as long as others
		e.icons(t, d, "zoo,f016")
		if s := e.stored("/iconify/mdi.json#zoo"); s == nil || s.Policy.Lifetime < time.Hour {
			t.Fatalf("an icon that was requested with a missing one: %+v", s)
		}
	}
	same(t, d.requests(), "f016,zoo")
	if a := e.icons(t, d, "home,zoo"); a.Header.Get("Cache-Control") != iconLife || a.Header.Get(cachepolicy.OurField) != "" {
		t.Errorf("icons that were requested with missing ones: %q", a.Header)
	}
	e.icons(t, d, "f015") // perhaps a font character, which is in no list
	e.icons(t, d, "f015")
	e.icons(t, d, "1f442-1f3fd") // an emoji with a skin tone
	same(t, d.requests(), "f015", "1f442-1f3fd")
	for _, name := range []string{"..", "%00", "a%20b", "%3Cscript%3E", "%22", "é"} {
		a := e.get(t, "/mdi.json?icons=home,"+name)
		if a.StatusCode == http.StatusOK {
			tree(t, a.body)
		}
	}
	same(t, d.requests())
}

// A response without a requested icon has no Last-Modified: the time of the other icons says
// nothing about an icon that comes, goes or is withdrawn.
func TestIconDataThatComesAndGoes(t *testing.T) {
	t.Parallel()
	d := newDrawer("home", "zoo")
	e := newDrawn(t, d)
	for _, target := range []string{"/mdi.json?icons=home,zoo", "/mdi.css?icons=home,zoo", "/mdi.js?icons=home,zoo"} {
		for range 3 { // from the origin, from pieces, stored whole
			if a := e.get(t, target); a.Header.Get("Last-Modified") != iconTime {
				t.Errorf("%s: %q", target, a.Header)
			}
			if a := e.get(t, target, "If-Modified-Since", iconTime); a.StatusCode != http.StatusNotModified {
				t.Errorf("%s since its change: %s", target, a.Status)
			}
			lacking := strings.Replace(target, "zoo", "nowhere", 1)
			if a := e.get(t, lacking); a.Header.Get("Last-Modified") != "" {
				t.Errorf("%s: %q", lacking, a.Header)
			}
			if a := e.get(t, lacking, "If-Modified-Since", iconTime); a.StatusCode != http.StatusOK {
				t.Errorf("%s since the last change of the icon that is there: %s", lacking, a.Status)
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
	d := newDrawer(names...)
	e := newDrawn(t, d)
	list := strings.Join(names, ",") // 8,099 bytes
	e.icons(t, d, list)
	asked := d.requests()
	if len(asked) != 2 || strings.Join(asked, ",") != list {
		t.Errorf("%d requests to the origin: %q", len(asked), asked)
	}
	e.icons(t, d, list)
	same(t, d.requests())
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
	d := newDrawer(names...)
	e := newDrawn(t, d)
	hold := make(chan struct{})
	d.change(func() { d.hold = hold })
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
	settled(t, "all clients wait for icons", func() bool { return e.cache.Callers() >= 3*clients })
	close(hold)
	group.Wait()
	seen := map[string]int{}
	for _, icons := range d.requests() {
		for _, name := range strings.Split(icons, ",") {
			seen[name]++
		}
	}
	for name, n := range seen {
		if n > 1 {
			t.Errorf("the origin was asked for %s %d times", name, n)
		}
	}
	d.change(func() { d.hold = nil })
	var before atomic.Int64
	var begun sync.WaitGroup // the first half of the clients have a response of the old release
	begun.Add(clients / 2)
	for i := range clients {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		group.Go(func() {
			for n := range 4 {
				a := e.get(t, "/mdi.json?icons="+list(r), "Accept-Encoding", []string{"identity", "gzip"}[r.IntN(2)])
				body := decoded(t, a)
				if strings.Contains(body, "path d='") {
					before.Add(1)
				}
				if old, now := strings.Contains(body, "path d='"), strings.Contains(body, "release two"); a.StatusCode != http.StatusOK || old == now {
					t.Errorf("%s, of the old release: %v, of the new one: %v: %.300s", a.Status, old, now, body)
				}
				if n == 0 && i < clients/2 {
					begun.Done()
				}
			}
		})
		if i == clients/2-1 {
			begun.Wait()
			d.change(func() {
				d.listing.ourOrigin.set(func() { d.release, d.changed = releaseB, nil })
				for _, name := range names {
					d.drawing[name] = "release two " + name
					d.listing.ourOrigin.set(func() { d.changed = append(d.changed, "icon/mdi/"+name) })
				}
			})
			e.learnAll(t)
		}
	}
	group.Wait()
	if a := e.get(t, "/mdi.json?icons="+names[0]); !strings.Contains(a.body, "release two") || before.Load() == 0 {
		t.Errorf("after the release: %s", a.body)
	}
}

// A release and a purge drop the pieces that they concern alone, and no response mixes releases.
func TestIconDataIsDropped(t *testing.T) {
	t.Parallel()
	d := newDrawer("account", "home", "zoo")
	e := newDrawn(t, d)
	e.icons(t, d, "account,home,zoo")
	same(t, d.requests(), "account,home,zoo")
	if status, body := e.purge(t, `{"surrogate_keys":["icon/mdi/home"]}`); status != http.StatusOK || !strings.Contains(body, `"purged":1`) {
		t.Fatalf("purge: %d %s", status, body)
	}
	e.icons(t, d, "account,home,zoo")
	same(t, d.requests(), "home")

	d.change(func() { d.drawing["home"] = "changed" })
	d.listing.ourOrigin.set(func() { d.release = releaseB; d.changed = []string{"icon/mdi/home"} })
	e.icons(t, d, "account,zoo") // the edge has not heard of the release yet
	same(t, d.requests())
	e.learnAll(t)
	e.icons(t, d, "account,home,zoo")
	if asked := d.requests(); len(asked) != 1 || !strings.Contains(asked[0], "home") {
		t.Errorf("after a release that changed home, the origin was asked for %q", asked)
	}
	e.icons(t, d, "account,home,zoo")
	same(t, d.requests())
}

// A piece of a release that the edge does not know yet is not joined with older ones.
func TestIconDataIsOfOneRelease(t *testing.T) {
	t.Parallel()
	d := newDrawer("account", "home")
	e := newDrawn(t, d)
	e.icons(t, d, "account")
	d.requests()
	d.change(func() { d.drawing["account"], d.drawing["home"] = "new account", "new home" })
	d.listing.ourOrigin.set(func() { d.release = releaseB })
	e.icons(t, d, "account,home") // want compares with the new release
	e.icons(t, d, "account,home")
}

func TestIconDataWhenTheOriginFails(t *testing.T) {
	t.Parallel()
	d := newDrawer("account", "home")
	e := newDrawn(t, d)
	e.icons(t, d, "account,home")
	d.requests()
	d.change(func() { d.fails = true })
	for _, name := range []string{"", "account", "home"} {
		e.age(t, "/iconify/mdi.json#"+name, 25*time.Hour)
	}
	e.icons(t, d, "account,home")
	if a := e.get(t, "/mdi.json?icons=account,home", "Cache-Control", "only-if-cached"); a.StatusCode != http.StatusOK {
		t.Errorf("only-if-cached: %s", a.Status)
	}
	other := newDrawn(t, d)
	if a := other.get(t, "/mdi.json?icons=home"); a.StatusCode != http.StatusBadGateway {
		t.Errorf("nothing is stored and the origin fails: %s", a.Status)
	}
	if a := other.get(t, "/mdi.json?icons=home", "Cache-Control", "only-if-cached"); a.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("nothing is stored and only-if-cached: %s", a.Status)
	}
}

// Stylesheets, scripts, and data with info or indented come from the same pieces as data.
func TestIconDataInOtherForms(t *testing.T) {
	t.Parallel()
	d := newDrawer("account", "home", "house:home", "zoo")
	e := newDrawn(t, d)
	e.icons(t, d, "account,house,zoo")
	d.requests()
	tags := map[string]string{}
	for _, target := range []string{
		"/mdi.css?icons=zoo,house", "/mdi.css?icons=zoo,house&mode=bg&color=red", "/mdi.css?icons=zoo,house&format=compressed", "/mdi.css?icons=missing,house&selector=.a-{name}",
		"/mdi.js?icons=zoo,house", "/mdi.js?icons=zoo,house&callback=a.b", "/mdi/icons.js?icons=zoo&callback=a.b", "/mdi.json?icons=zoo,house&info=true", "/mdi.json?icons=zoo,house&pretty=1",
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
	same(t, d.requests())
	spelt := e.sameAs(t, d, "/iconify/mdi.css?icons=house,zoo,zoo&mode=background&color=%23F00&unknown=1")
	if tags[spelt.Header.Get("ETag")] != "/mdi.css?icons=zoo,house&mode=bg&color=red" {
		t.Errorf("another spelling has another entity tag: %q", spelt.Header)
	}
	if a := e.get(t, "/mdi.css?icons=zoo&download=1"); a.Header.Get("Content-Disposition") != `attachment; filename="mdi.css"` {
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
	d := newDrawer("account", "bear", "fox", "home", "lion", "owl", "tiger", "wolf", "zoo")
	e := newDrawn(t, d)
	for _, target := range []string{"/mdi.json?icons=account,bear,fox,home,lion,owl,tiger,wolf,zoo", "/mdi.css?icons=home,lion,zoo"} {
		whole := func() bool { return e.stored("/iconify"+target) != nil }
		e.sameAs(t, d, target)
		if whole() {
			t.Fatalf("%s is stored whole at its first request", target)
		}
		again := func() bool { e.sameAs(t, d, target); return whole() }
		settled(t, target+" is stored whole", again)    // once its pieces are deflated
		e.sameAs(t, d, target, "Accept-Encoding", "br") // has it made
		e.compressed(t)
		if a := e.sameAs(t, d, target, "Accept-Encoding", "br, gzip"); a.Header.Get("Content-Encoding") != "br" {
			t.Errorf("%s: no brotli: %q", target, a.Header)
		}
		e.purge(t, `{"surrogate_keys":["icon/mdi/home"]}`)
		if whole() {
			t.Errorf("%s is stored after a purge of one of its icons", target)
		}
		settled(t, target+" is stored again", again)
		d.listing.ourOrigin.set(func() { d.release = releaseB; d.changed = []string{"icon/mdi/other"} })
		e.learnAll(t)
		if whole() {
			t.Errorf("%s is stored after a release", target)
		}
		d.listing.ourOrigin.set(func() { d.release = releaseA; d.changed = nil })
		e.learnAll(t)
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
	targets := []string{"/mdi.json?icons=a", "/iconify/mdi.css?icons=a", "/mdi:a.svg", "/collections", "/iconify/search?query=a", "/mdi.json"}
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

// A request after a new release does not get a piece whose fetch began before it.
func TestIconDataDuringARelease(t *testing.T) {
	t.Parallel()
	d := newDrawer("account")
	e := newDrawn(t, d)
	e.icons(t, d, "account")
	d.requests()
	hold := make(chan struct{})
	d.change(func() { d.hold = hold })
	e.purge(t, `{"surrogate_keys":["pack/mdi"],"soft":true}`)
	e.icons(t, d, "account") // stale, and fetched again in the background
	settled(t, "the background fetch is at the origin", func() bool { return len(d.requests()) > 0 })
	d.change(func() { d.hold, d.drawing["account"] = nil, "new" })
	d.listing.ourOrigin.set(func() {
		d.release, d.changed = fmt.Sprintf("%032x", 1), []string{"icon/mdi/account"}
	})
	e.learnAll(t)
	got := make(chan answer)
	go func() { got <- e.get(t, "/mdi.json?icons=account") }()
	settled(t, "the request waits", func() bool { return e.cache.Callers() > 1 })
	close(hold)
	if a := <-got; !strings.Contains(a.body, "new") {
		t.Errorf("the response is of the release before: %s", a.body)
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
	d := newDrawer(names...)
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
			e.purge(t, `{"surrogate_keys":["icon/mdi/`+name+`"]}`)
		case 1:
			e.purge(t, `{"surrogate_keys":["pack/mdi"],"soft":true}`)
		case 2:
			d.change(func() {
				if d.drawing[name] != "" {
					d.drawing[name] = fmt.Sprint("step ", step)
				}
			})
			d.listing.ourOrigin.set(func() {
				d.release = fmt.Sprintf("%032x", step)
				d.changed = []string{"icon/mdi/" + name}
			})
			e.learnAll(t)
		}
		list, accept := strings.Join(icons, ","), []string{"identity", "gzip", "br"}[r.IntN(3)]
		e.icons(t, d, list, "Accept-Encoding", accept)
		form := []string{"/mdi.css?icons=%s", "/mdi.js?icons=%s&callback=f", "/mdi.json?icons=%s&info=1", "/mdi.css?icons=%s&mode=bg"}[r.IntN(4)]
		for range 1 + r.IntN(4) { // from the second on it is stored whole
			e.sameAs(t, d, fmt.Sprintf(form, list), "Accept-Encoding", accept)
		}
	}
}

// oddTargets resemble requests for icon data, but the fast path does not join their responses.
var oddTargets = []string{"/mdi.json?icons=", "/mdi.json?icons=,", "/mdi.json?icons=home,", "/mdi.json?icons=,home", "/mdi.json?icons=home,none", "/mdi.json?icons=home&info=1", "/mdi.json?icons=home&x=1", "/mdi.json?icons=home%00",
	"/mdi.json?icons=home%2", "/mdi.json?icons=home%2x", "/mdi.json?icons=HOME", "/mdi.json?icons=home/zoo", "/mdi.json?x=1&icons=home", "/mdi/icons.json?icons=home", "/none.json?icons=home", "/.json?icons=home", "/iconify.json?icons=home",
	"/iconify/iconify/mdi.json?icons=home", "//mdi.json?icons=home", "/mdi.json?icons=home?icons=zoo", "/mdi.json?icons=home#zoo", "/mdi.css?icons=home", "/mdi.js?icons=home", "/mdi.json?icons=home&callback=x"}

// joinable returns an edge whose table has the pieces of all icons, deflated.
func joinable(t testing.TB, d *drawer, change ...func(*Config)) *edgeTest {
	e := newEdgeTest(t, d, change...)
	must(t, e.library.Poll())
	names := slices.Concat(slices.Sorted(maps.Keys(d.drawing)), slices.Sorted(maps.Keys(d.parents)))
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

// Joined responses are the same, byte for byte, from the fast path and from the pipeline, in all
// spellings, for all fields and hosts.
func TestJoinedFastEqualsPipeline(t *testing.T) {
	t.Parallel()
	names := []string{"house:icon00", "villa:house"}
	for i := range 20 {
		names = append(names, fmt.Sprintf("icon%02d", i))
	}
	d := newDrawer(names...)
	e := joinable(t, d, func(c *Config) { c.IconifyHosts = []string{"icons.test"} })
	fast, slow := bothWays(t, e)
	r := rand.New(rand.NewPCG(9, 10))
	compare := func(request string) {
		if a, b := ask(t, fast, request), ask(t, slow, request); uncounted(a) != uncounted(b) {
			t.Errorf("%q\nfast path: %.1500q\npipeline:  %.1500q", request, a, b)
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
		compare("GET " + target + " HTTP/1.1\r\nHost: " + []string{"a", "icons.test"}[r.IntN(2)] + "\r\n" + manyFields[n%len(manyFields)] + "\r\n" + last)
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

// The fast path joins responses without an allocation, and leaves others to the pipeline. A second
// request for the same is left to the pipeline too, which stores the whole response.
func TestJoinedFast(t *testing.T) {
	d := newDrawer("account", "home", "house:home", "villa:house", "zoo")
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
	if !ok || !strings.Contains(first, "\r\nContent-Encoding: gzip\r\n") || !strings.Contains(first, "\r\nSurrogate-Key: pack/mdi icon/mdi/home icon/mdi/house icon/mdi/villa release/"+releaseA+"\r\n") ||
		!strings.Contains(first, "Cache-Status: iconedge; hit; ttl=") {
		t.Fatalf("joined: %v %q", ok, first)
	}
	if _, ok := answer("/mdi.json?icons=home,villa"); ok {
		t.Error("the second request took the fast path, so the response is not stored whole")
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

// BenchmarkJoined measures a joined response of 30 icons on the fast path, and beside it one of the
// same size that is stored whole, without a connection.
func BenchmarkJoined(b *testing.B) {
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprintf("icon-of-test-%04d", i))
	}
	d := newDrawer(names...)
	for _, name := range names {
		d.drawing[name] = strings.Repeat("M1 2.5c-"+name, 12)
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
	d := newDrawer(names...)
	for _, name := range names {
		d.drawing[name] = strings.Repeat("M1 2.5c-"+name, 12)
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
