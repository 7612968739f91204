package purge

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/problem"
)

var quiet = slog.New(slog.DiscardHandler)

// newPurger returns a purger of a cache with a few entries, and the function that stores one more.
func newPurger(t *testing.T) (p *Purger, c *cache.Cache, put func(key string, tags ...string)) {
	t.Helper()
	c, err := cache.New(cache.Options{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	put = func(key string, tags ...string) {
		e := entrytest.New(key, key, tags...)
		e.Policy = cachepolicy.Entry{Stored: entrytest.T0, Lifetime: 1 << 50}
		c.Put(e, c.Generation())
	}
	put("/mdi/home.svg", "icon/mdi/home", "pack/mdi")
	put("/mdi/account.svg", "icon/mdi/account", "pack/mdi")
	put("/fc/apple.svg", "icon/fc/apple", "pack/fc")
	return New(c, library.NewNegative(1<<20), nil, nil), c, put
}

// stored returns the keys of those entries of newPurger that are left.
func stored(c *cache.Cache) (keys []string) {
	for _, key := range []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg"} {
		if c.Get(key) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// post sends a purge to the handler of the admin listener.
func post(t *testing.T, p *Purger, access *admin.Access, method, body string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost/purge", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	p.Handler(access, nil, quiet).ServeHTTP(w, r)
	return w
}

// A purge removes what it names, and says how many entries that were. It empties the negative cache
// too, because the names may exist by now.
func TestPurge(t *testing.T) {
	for _, row := range []struct {
		body string
		n    int
		left []string
	}{
		{`{"urls":["/mdi/home.svg"]}`, 1, []string{"/mdi/account.svg", "/fc/apple.svg"}},
		{`{"urls":["https://cdn.test/mdi/home.svg?v=1"]}`, 1, []string{"/mdi/account.svg", "/fc/apple.svg"}},
		{`{"prefixes":["/mdi/"]}`, 2, []string{"/fc/apple.svg"}},
		{`{"surrogate_keys":["pack/mdi","icon/fc/apple"]}`, 3, nil},
		{`{"surrogate_keys":["pack/none"]}`, 0, []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg"}},
		{`{"surrogate_keys":["pack/mdi"],"soft":true}`, 2, []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg"}},
	} {
		p, c, _ := newPurger(t)
		absent := entrytest.New("/mdi/none.svg", "404")
		absent.Status = http.StatusNotFound
		p.negative.Current().Put(absent)
		w := post(t, p, &admin.Access{}, http.MethodPost, row.body)
		if want := fmt.Sprintf("{\"purged\":%d}\n", row.n); w.Code != 200 || w.Body.String() != want ||
			w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v, want %s", row.body, w.Code, w.Body, w.Header(), want)
		}
		if left := stored(c); !slices.Equal(left, row.left) {
			t.Errorf("%s leaves %v, want %v", row.body, left, row.left)
		}
		if p.negative.Current().Find("/mdi/none.svg") != nil {
			t.Errorf("%s leaves the negative cache", row.body)
		}
	}
}

func TestWrongPurges(t *testing.T) {
	p, _, _ := newPurger(t)
	for _, row := range []struct {
		body   string
		fields []string
		code   int
		text   string
	}{
		{`{}`, nil, 400, "names nothing to purge"},
		{`{"url":["/a"]}`, nil, 400, "JSON"},
		{`[]`, nil, 400, "JSON"},
		{`{"urls":["/a"]} x`, nil, 400, "JSON"},
		{`{"urls":["a"]}`, nil, 400, `"parameter":"urls"`},
		{`{"prefixes":["mdi"]}`, nil, 400, `"parameter":"prefixes"`},
		{`{"surrogate_keys":["a b"]}`, nil, 400, `"parameter":"surrogate_keys"`},
		{`{"urls":["/a"]}`, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{`{"urls":["/` + strings.Repeat("a", MaxBody) + `"]}`, nil, 413, "1048576"},
		{named(MaxItems), nil, 200, "purged"},
		{named(MaxItems + 1), nil, 413, "10001 urls, prefixes, surrogate_keys and cache_groups; at most 10000 are allowed"},
	} {
		if w := post(t, p, &admin.Access{}, http.MethodPost, row.body, row.fields...); w.Code != row.code ||
			!strings.Contains(w.Body.String(), row.text) {
			t.Errorf("%.60s: %d %s, want %d %s", row.body, w.Code, w.Body, row.code, row.text)
		}
	}
}

// named returns a purge that names n items, of every kind.
func named(n int) string {
	call := Call{URLs: []string{"/a"}, Prefixes: []string{"/b"}}
	for i := range n - 2 {
		call.SurrogateKeys = append(call.SurrogateKeys, fmt.Sprint("key-", i))
	}
	b, _ := json.Marshal(call)
	return string(b)
}

// withToken returns the access of an admin listener with a token.
func withToken(t *testing.T, token string) *admin.Access {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	access, err := (&admin.Config{TokenFile: file}).Open()
	if err != nil {
		t.Fatal(err)
	}
	return access
}

func TestPurgeWantsToken(t *testing.T) {
	p, _, _ := newPurger(t)
	access := withToken(t, "secret")
	for _, row := range []struct {
		method, authorization string
		code                  int
	}{
		{"POST", "Bearer secret", 200},
		{"POST", "Bearer Secret", 401},
		{"POST", "Bearer ", 401},
		{"POST", "secret", 401},
		{"POST", "", 401},
		{"GET", "Bearer secret", 405},
	} {
		w := post(t, p, access, row.method, `{"urls":["/a"]}`, "Authorization", row.authorization)
		if w.Code != row.code || w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s with %q: %d, want %d", row.method, row.authorization, w.Code, row.code)
		}
	}
}

// The method PURGE needs an admin token, in the edge as in the request, and a whole address.
func TestMethod(t *testing.T) {
	secret := "0123456789abcdef0123456789abcdef"
	for _, row := range []struct {
		name, token, authorization, address string
		status                              int
		left                                int
	}{
		{"the right token", secret, "Bearer " + secret, "http://a.test/mdi/home.svg", 0, 2},
		{"another token", secret, "Bearer x", "http://a.test/mdi/home.svg", 401, 3},
		{"no token", secret, "", "http://a.test/mdi/home.svg", 401, 3},
		{"an edge without a token", "", "Bearer x", "http://a.test/mdi/home.svg", 401, 3},
		{"half an address", secret, "Bearer " + secret, "a.test", 400, 3},
	} {
		p, c, _ := newPurger(t)
		access := &admin.Access{}
		if row.token != "" {
			access = withToken(t, row.token)
		}
		status := 0
		if _, err := p.Method(access, nil, quiet)([]string{row.authorization}, row.address); err != nil {
			status = problem.From(err).Status
		}
		if left := stored(c); status != row.status || len(left) != row.left {
			t.Errorf("%s: status %d and %v, want %d and %d entries", row.name, status, left, row.status, row.left)
		}
	}
}

// An address stands for all keys under which its response may be stored: that of the edge's own
// route in canonical form, and those of forwarded responses by scheme and host.
func TestSpec(t *testing.T) {
	home, _ := routes.Canonical("/mdi/home.svg?v=1")
	targets := func(host, target string) ([]string, string) { return []string{target, "/rewritten"}, "shop" }
	for _, row := range []struct {
		name string
		call Call
		key  Targets
		want cache.Purge
	}{
		{"an own route in another spelling", Call{URLs: []string{"/mdi/home.svg?v=1"}}, nil,
			cache.Purge{Keys: append([]string{"/mdi/home.svg?v=1"}, home.Keys()...)}},
		{"surrogate keys", Call{SurrogateKeys: []string{"a"}, Soft: true}, nil, cache.Purge{Tags: []string{"a"}, Soft: true}},
		{"a path of any host", Call{URLs: []string{"/page"}}, targets,
			cache.Purge{Keys: []string{"/page"}, Tags: []string{cache.TargetTag("/page"), cache.TargetTag("/rewritten")}}},
		{"a prefix of any host", Call{Prefixes: []string{"/a/"}}, targets, cache.Purge{Prefixes: []string{"/a/"}}},
	} {
		if got := row.call.spec(row.key); !reflect.DeepEqual(normal(got), normal(row.want)) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", row.name, got, row.want)
		}
	}
	got := Call{URLs: []string{"https://A.test:443/page"}, Prefixes: []string{"http://a.test/p"}}.spec(targets)
	for _, want := range []string{routes.ForwardedKey("https", "a.test", "/page"), routes.ForwardedKey("https", "a.test", "/rewritten")} {
		if !slices.Contains(got.Keys, want) {
			t.Errorf("the keys of an address on a host lack %q: %q", want, got.Keys)
		}
	}
	if want := cache.SharedTag("shop", "/rewritten"); !slices.Contains(got.Tags, want) {
		t.Errorf("the surrogate keys of an address on a host lack %q: %q", want, got.Tags)
	}
	for _, host := range []string{"a.test", routes.AnyHost} {
		if want := routes.ForwardedKey("http", host, "/p"); !slices.Contains(got.Prefixes, want) {
			t.Errorf("the prefixes on a host lack %q: %q", want, got.Prefixes)
		}
	}
}

// normal returns a purge whose empty lists are nil.
func normal(p cache.Purge) cache.Purge {
	for _, list := range []*[]string{&p.Keys, &p.Prefixes, &p.Tags} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return p
}

// An edge repeats the purges of other edges, at once and again later, because it may have fetched
// the old response from an edge that had not purged yet. If a purge can't be read, it drops
// everything.
func TestEvents(t *testing.T) {
	all := []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg"}
	for _, row := range []struct {
		name  string
		event func(f *Follower)
		left  []string
	}{
		{"a purge", func(f *Follower) { f.OnEvent(fleet.Purge, `{"urls":["/mdi/home.svg"]}`) }, all[1:]},
		{"a purge of a later version", func(f *Follower) { f.OnEvent(fleet.Purge, `{"regexes":["x"]}`) }, nil},
		{"a purge that is too long", func(f *Follower) { f.OnEvent(fleet.Purge, strings.Repeat(" ", MaxEvent)+`{"urls":["/a"]}`) }, nil},
		{"as many items as one may name", func(f *Follower) { f.OnEvent(fleet.Purge, named(MaxItems)) }, all},
		{"one item more", func(f *Follower) { f.OnEvent(fleet.Purge, named(MaxItems+1)) }, nil},
		{"a gap", (*Follower).OnGap, nil},
		{"another kind of event", func(f *Follower) { f.OnEvent("x", `{"urls":["/mdi/home.svg"]}`) }, all},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, c, put := newPurger(t)
				f := &Follower{Peers: &Peers{log: quiet, closing: make(chan struct{})}, purger: p}
				row.event(f)
				if left := stored(c); !slices.Equal(left, row.left) {
					t.Errorf("at once: %v, want %v", left, row.left)
				}
				put("/mdi/home.svg") // the old response, from an edge that purges later
				f.later.Wait()
				if left := stored(c); !slices.Equal(left, row.left) {
					t.Errorf("later: %v, want %v", left, row.left)
				}
			})
		})
	}
}

// An edge that closes does the repetitions that wait at once, and begins no more.
func TestClosing(t *testing.T) {
	p, c, put := newPurger(t)
	s := &Peers{log: quiet, closing: make(chan struct{})}
	s.repeat(p.Drop)
	close(s.closing)
	s.later.Wait()
	if left := stored(c); left != nil {
		t.Errorf("%v are left", left)
	}
	put("/mdi/home.svg")
	s.repeat(p.Drop)
	s.later.Wait()
	if c.Get("/mdi/home.svg") == nil {
		t.Error("a repetition has begun after the end")
	}
}

// A purge of cache groups removes the responses of the origin that it names, in any spelling of its
// host, and no others.
func TestPurgeOfGroups(t *testing.T) {
	for body, want := range map[string]int{
		`{"cache_groups":{"https://shop.test":["a"]}}`:               1,
		`{"cache_groups":{"https://SHOP.test:443":["a","b"]}}`:       2,
		`{"cache_groups":{"https://shop.test":["c"]},"soft":true}`:   0,
		`{"cache_groups":{"http://shop.test":["a"]}}`:                0,
		`{"cache_groups":{"https://other.test":["a"]}}`:              0,
		`{"surrogate_keys":["a"]}`:                                   0,
		`{"cache_groups":{"https://shop.test":["a"]},"urls":["/x"]}`: 1,
		`{"cache_groups":{"https://shop.test":[]}}`:                  -1,
		`{"cache_groups":{"shop.test":["a"]}}`:                       -1,
		`{"cache_groups":{"https://shop.test/path":["a"]}}`:          -1,
		`{"cache_groups":{"https://shop.test/":["a"]}}`:              -1,
		`{"cache_groups":["a"]}`:                                     -1,
	} {
		p, _, put := newPurger(t)
		put("/a", cache.GroupTag("https://shop.test", "a"))
		put("/b", cache.GroupTag("https://shop.test", "b"))
		w := post(t, p, &admin.Access{}, http.MethodPost, body)
		got := fmt.Sprintf("{\"purged\":%d}\n", want)
		if right := w.Body.String() == got; want >= 0 && !right || want < 0 && w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s; want %d entries, or 400", body, w.Code, w.Body, want)
		}
	}
}

// Groups are announced together, in purges of at most MaxItems.
func TestGroupsSplit(t *testing.T) {
	many := map[group]bool{}
	for i := range MaxItems + 7 {
		many[group{"https://a.test", fmt.Sprint(i), false}] = true
	}
	for i := range 9 {
		many[group{"https://b.test", fmt.Sprint(i), false}] = true
	}
	all, n := calls(many, true), 0
	for _, c := range all {
		n += c.groups()
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := readPurge(strings.NewReader(string(b))); err != nil || !again.Soft || again.groups() != c.groups() {
			t.Errorf("a call of %d groups is refused: %v", c.groups(), err)
		}
	}
	if len(all) != 2 || n != len(many) || len(calls(many, false)) != 0 {
		t.Errorf("%d calls with %d groups", len(all), n)
	}
}

// Without a fleet an edge has no peers, and announces nothing.
func TestAlone(t *testing.T) {
	p, _, _ := newPurger(t)
	s := NewPeers(nil, quiet)
	if err := s.announce(p, Call{URLs: []string{"/a"}}, 1); err != nil || s != nil {
		t.Errorf("%v, %v", s, err)
	}
	s.AnnounceRelease("x")
	if f := s.Follow(p, nil, true); f != nil {
		t.Errorf("%v", f)
	}
	s.Close()
}
