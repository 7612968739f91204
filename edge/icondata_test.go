package edge

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
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
}

func newDrawer(names ...string) *drawer {
	d := &drawer{parents: map[string]string{}, drawing: map[string]string{}}
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
	if r.URL.Path != "/iconify/mdi.json" {
		d.listing.ServeHTTP(w, r)
		return
	}
	d.mu.Lock()
	icons, hold, fails := r.URL.Query().Get("icons"), d.hold, d.fails
	d.asked = append(d.asked, icons)
	body := d.data(strings.Split(icons, ","))
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if fails {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	d.listing.ourOrigin.mu.Lock()
	release := d.release
	d.listing.ourOrigin.mu.Unlock()
	w.Header().Set(icon.FieldRelease, release)
	w.Header().Set("Cache-Control", iconLife)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Surrogate-Key", "pack/mdi")
	w.Header().Set("Link", `<https://licences.test/mit>; rel="license"`)
	json.NewEncoder(w).Encode(body)
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
	body := a.body
	if a.Header.Get("Content-Encoding") == "gzip" {
		r, err := gzip.NewReader(strings.NewReader(body))
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		body = string(content)
	}
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
	a := e.icons(t, d, "account,house,zoo", "Accept-Encoding", "gzip")
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

func TestIconDataThatIsAbsent(t *testing.T) {
	t.Parallel()
	d := newDrawer("home", "zoo")
	e := newDrawn(t, d)
	a := e.icons(t, d, "nowhere,home,UPPER")
	same(t, d.requests(), "home")
	if c := a.Header.Get("Cache-Control"); !strings.Contains(c, "max-age=300") {
		t.Errorf("a response without an icon is cached: %s", c)
	}
	e.icons(t, d, "f015") // perhaps a font character, which is in no list
	e.icons(t, d, "f015")
	same(t, d.requests(), "f015")
	for _, name := range []string{"..", "%00", "a%20b", "%3Cscript%3E", "%22", "é"} {
		a := e.get(t, "/mdi.json?icons=home,"+name)
		if a.StatusCode == http.StatusOK {
			tree(t, a.body)
		}
	}
	same(t, d.requests())
}

// A thousand clients that request overlapping icons at once make the origin answer each icon once.
func TestIconDataInFlight(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("icon-%02d", i))
	}
	d := newDrawer(names...)
	e := newDrawn(t, d)
	hold := make(chan struct{})
	d.change(func() { d.hold = hold })
	var group sync.WaitGroup
	for i := range 200 {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		picked := map[string]bool{}
		for range 5 {
			picked[names[r.IntN(len(names))]] = true
		}
		var icons []string
		for name := range picked {
			icons = append(icons, name)
		}
		group.Go(func() { e.icons(t, d, strings.Join(icons, ",")) })
	}
	time.AfterFunc(20*time.Millisecond, func() { close(hold) })
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

// Random requests, purges and releases: each response is the origin's.
func TestIconDataModel(t *testing.T) {
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
		e.icons(t, d, strings.Join(icons, ","), "Accept-Encoding", []string{"identity", "gzip"}[r.IntN(2)])
	}
}
