package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/test/sequential"
)

// A fake is the origin of a library, and its observer.
type fake struct {
	cache   *cache.Cache
	status  int
	body    string
	header  http.Header
	err     error // of a connection
	list    []byte
	asked   []string // targets
	told    []string // releases that were announced
	absent  int
	names   int
	refused int // connections, before the first that is accepted
}

const first, second = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"

func newFake(t *testing.T) *fake {
	t.Helper()
	c, err := cache.New(cache.Options{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &fake{cache: c, status: http.StatusOK, header: http.Header{}}
}

func (f *fake) library(change ...func(*Options)) *Library {
	o := Options{Cache: f.cache, CacheBytes: 1 << 20, State: &OriginState{}, Fetch: f.fetch, Do: f.do, Connect: f.connect,
		Announce: func(release string) { f.told = append(f.told, release) }, Observer: f, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func (f *fake) response(status int, body []byte) *upstream.Response {
	now := time.Now()
	h := f.header.Clone()
	if h.Get("Date") == "" {
		h.Set("Date", now.UTC().Format(http.TimeFormat))
	}
	return &upstream.Response{Status: status, Header: h, Length: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(string(body))), ResponseTime: now}
}

func (f *fake) fetch(q upstream.Request) (*upstream.WholeResponse, error) {
	f.asked = append(f.asked, q.Target)
	if f.err != nil {
		return nil, f.err
	}
	return &upstream.WholeResponse{Response: f.response(f.status, nil), Content: []byte(f.body)}, nil
}

func (f *fake) do(_ context.Context, q upstream.Request) (*upstream.Response, error) {
	f.asked = append(f.asked, q.Target)
	return f.response(f.status, f.list), f.err
}

func (f *fake) connect(context.Context) error {
	if f.refused > 0 {
		f.refused--
		return errors.New("connection refused")
	}
	return nil
}

func (f *fake) ReleaseKnown(icon.ReleaseAnswer, time.Time) {}
func (f *fake) ReleaseSwitched()                           {}
func (f *fake) NamesKnown(n int)                           { f.names = n }
func (f *fake) NameAbsent()                                { f.absent++ }

// says makes the origin say what its release is.
func (f *fake) says(r icon.ReleaseAnswer) {
	b, _ := json.Marshal(r)
	f.body = string(b)
}

// has makes the list of names that the origin gives: packs, each with its icons. It returns its
// SHA-256.
func (f *fake) has(packs ...string) (sum string) {
	f.list = icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		for _, p := range packs {
			names := strings.Fields(p)
			all := func(yield func(string, bool) bool) {
				for _, name := range names[1:] {
					if !yield(name, false) {
						return
					}
				}
			}
			if !yield(icon.PackNames{Key: names[0], Names: all}) {
				return
			}
		}
	})
	hash := sha256.Sum256(f.list)
	return hex.EncodeToString(hash[:])
}

// put stores entries of three icons, one of which is of no release.
func (f *fake) put() {
	for key, tags := range map[string][]string{"/mdi/home.svg": {"icon/mdi/home"},
		"/mdi/account.svg": {"icon/mdi/account"}, "/search": {icon.LibraryKey}} {
		e := entrytest.New(key, key, tags...)
		e.Policy = cachepolicy.Entry{Stored: entrytest.T0, Lifetime: 1 << 50}
		f.cache.Put(e, f.cache.Generation())
	}
}

func (f *fake) stored() (keys []string) {
	for _, key := range []string{"/mdi/home.svg", "/mdi/account.svg", "/search"} {
		if f.cache.Get(key) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// A new release drops the entries that it has changed, and searches; all entries, if the origin
// does not know the changes since the release that the edge knows.
func TestRelease(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer icon.ReleaseAnswer
		known  string
		left   []string
	}{
		{"the same release", icon.ReleaseAnswer{Release: first, Since: first}, first,
			[]string{"/mdi/home.svg", "/mdi/account.svg", "/search"}},
		{"a changed icon", icon.ReleaseAnswer{Release: second, Since: first, Changed: []string{"icon/mdi/home"}},
			second, []string{"/mdi/account.svg"}},
		{"everything has changed", icon.ReleaseAnswer{Release: second, Since: first, All: true}, second, nil},
		{"changes since another release", icon.ReleaseAnswer{Release: second, Since: second}, second, nil},
		{"a withdrawn icon is another state", icon.ReleaseAnswer{Release: first, State: first + "-0123456789abcdef",
			Since: first, Changed: []string{"icon/mdi/home"}}, first + "-0123456789abcdef", []string{"/mdi/account.svg"}},
	} {
		f := newFake(t)
		l := f.library()
		l.Restore(first)
		f.put()
		absent := entrytest.New("/mdi/none.svg", "404")
		absent.Status = http.StatusNotFound
		l.Negative.Current().Put(absent)
		f.says(row.answer)
		if err := l.Poll(); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		if kept := l.Negative.Current().Find(absent.Key) != nil; kept != (row.known == first) {
			t.Errorf("%s: the negative cache is kept: %v", row.name, kept)
		}
		if left := f.stored(); l.Known() != row.known || !slices.Equal(left, row.left) {
			t.Errorf("%s: release %s, left are %v; want %s, %v", row.name, l.Known(), left, row.known, row.left)
		}
		if want := row.known != first; (len(f.told) == 1) != want {
			t.Errorf("%s: announced %v", row.name, f.told)
		}
		if got := f.asked[0]; got != routes.ReleasePath+"?since="+first {
			t.Errorf("%s: asked %s", row.name, got)
		}
	}
}

// While releases switch, a reader that finds the entries dropped also finds the newest release, and
// a reader that finds the known release also finds the entries dropped. Otherwise the edge would
// keep an old response for as long as a current one, or call an old one current.
func TestOrderOfASwitch(t *testing.T) {
	f := newFake(t)
	l := f.library()
	l.Restore(fmt.Sprintf("%032x", 0))
	before := f.cache.Generation()
	number := func(release string) cache.Generation {
		var n cache.Generation
		fmt.Sscanf(release, "%x", &n)
		return n
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 3000 {
			f.says(icon.ReleaseAnswer{Release: fmt.Sprintf("%032x", i+1), Since: fmt.Sprintf("%032x", i),
				Changed: []string{"icon/mdi/home"}})
			if err := l.Poll(); err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running && !t.Failed(); {
		select {
		case <-done:
			running = false
		default:
		}
		dropped := f.cache.Generation() - before
		if newest := number(l.Newest()); newest < dropped {
			t.Errorf("the entries of release %d are dropped, the newest release is %d", dropped, newest)
		}
		known := number(l.Known())
		if dropped := f.cache.Generation() - before; dropped < known {
			t.Errorf("release %d is known, the entries of release %d are dropped", known, dropped)
		}
	}
	<-done
}

// The answer of an origin says whether it is ours.
func TestOrigins(t *testing.T) {
	for _, row := range []struct {
		name    string
		status  int
		body    string
		ready   string
		err     error
		want    error
		foreign bool
	}{
		{"ours", 200, `{"release":"` + first + `"}`, "", nil, nil, false},
		{"no such path", 404, "", "", nil, ErrNoReleases, true},
		{"a page", 200, "<html>", "", nil, ErrNoReleases, true},
		{"JSON of others", 200, `{"release":"../x"}`, "", nil, ErrNoReleases, true},
		{"ours without a release", 503, "", "?0", nil, errUnpublished, false},
		{"an error", 500, "", "", nil, nil, false},
		{"lost", 0, "", "", upstream.ErrUnreachable, upstream.ErrUnreachable, false},
	} {
		f := newFake(t)
		f.status, f.body, f.err = row.status, row.body, row.err
		if row.ready != "" {
			f.header.Set(icon.FieldReady, row.ready)
		}
		l := f.library()
		err := l.Poll()
		if (err == nil) != (row.name == "ours") || row.want != nil && !errors.Is(err, row.want) || l.IsForeign() != row.foreign {
			t.Errorf("%s: %v, foreign %v", row.name, err, l.IsForeign())
		}
		if got := l.Known() != ""; got != (row.name == "ours") {
			t.Errorf("%s: release %q", row.name, l.Known())
		}
	}
}

// A name that is not in the list is answered without the origin, with names like it; one that is
// withdrawn is gone.
func TestAbsent(t *testing.T) {
	for _, row := range []struct {
		name     string
		proxyAll bool
		status   int // 0: the edge asks the origin
		near     string
	}{
		{"mdi/home", false, 0, ""},
		{"mdi", false, 0, ""},
		{"", false, 0, ""},
		{"mdi/hoem", false, 404, "home"},
		{"mdl/home", false, 404, "mdi"},
		{"mdl/home", true, 0, ""}, // the path may be that of another application
		{"mdi/hoem", true, 404, "home"},
		{"mdi/gone", false, 410, ""},
		{"old/any", true, 410, ""},
	} {
		f := newFake(t)
		l := f.library(func(o *Options) { o.ProxyAll = row.proxyAll })
		f.says(icon.ReleaseAnswer{Release: first, Names: f.has("mdi account gone home", "old any"), Withdrawn: []string{"mdi/gone", "old"}})
		if err := l.Poll(); err != nil {
			t.Fatal(err)
		}
		if p := l.Absent("mdi/none", entrytest.T0); p != nil {
			t.Errorf("without the list: %v", p)
		}
		<-l.NamesDue
		if _, err := l.UpdateNames(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := l.Absent(row.name, entrytest.T0)
		got := 0
		if p != nil {
			got = p.Status
		}
		if b, _ := json.Marshal(p); got != row.status || !strings.Contains(string(b), row.near) {
			t.Errorf("%s, proxy-all %v: %s, want %d with %q", row.name, row.proxyAll, b, row.status, row.near)
		}
		if (f.absent > 0) != (row.status == 404) {
			t.Errorf("%s: counted %d times", row.name, f.absent)
		}
	}
}

// A spelling is known if the list has it. Otherwise its mended name comes first of those that the
// client may mean.
func TestSpelled(t *testing.T) {
	f := newFake(t)
	l := f.library()
	f.list = icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		yield(icon.PackNames{Key: "own", Spellings: []string{"Arrow Left"}, Names: func(yield func(string, bool) bool) {
			_ = yield("arrow-left", false) && yield("home", false) && yield("homes", false)
		}})
	})
	sum := sha256.Sum256(f.list)
	f.says(icon.ReleaseAnswer{Release: first, Names: hex.EncodeToString(sum[:])})
	if err := l.Poll(); err != nil {
		t.Fatal(err)
	}
	if _, has := l.Spelled("own/Arrow Left", entrytest.T0); has {
		t.Error("without the list: known")
	}
	<-l.NamesDue
	if _, err := l.UpdateNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	for spelled, want := range map[string]string{"own/Arrow Left": "", "own/Home": "home homes", "own/Arrow_Left": "arrow-left",
		"own/Hoem": "home", "none/Home": "", "own/Zzz": ""} {
		near, has := l.Spelled(spelled, entrytest.T0)
		if has != (spelled == "own/Arrow Left") || strings.Join(near, " ") != want {
			t.Errorf("%s: %v, %q; want %q", spelled, has, near, want)
		}
	}
}

// The list of names is used only if it is that of the release, and is not fetched again if a new
// release has the same one.
func TestNames(t *testing.T) {
	f := newFake(t)
	l := f.library()
	sum := f.has("mdi home")
	poll := func(release string) {
		t.Helper()
		f.says(icon.ReleaseAnswer{Release: release, Since: l.Known(), Names: sum})
		if err := l.Poll(); err != nil {
			t.Fatal(err)
		}
	}
	poll(first)
	list := f.list
	f.list = append([]byte("x"), list...)
	if _, err := l.UpdateNames(t.Context()); !errors.Is(err, errSum) {
		t.Errorf("another list: %v", err)
	}
	f.list = list
	if _, err := l.UpdateNames(t.Context()); err != nil || f.names != 2 { // the pack is a name too
		t.Errorf("%d names, %v", f.names, err)
	}
	if ref := (icon.Ref{Pack: "mdi", Name: "home"}); !l.Has(ref) || l.Lacks("mdi", "home") ||
		!l.Lacks("mdi", "none") || l.Lacks("fa", "f015") {
		t.Errorf("has %v, lacks %v, %v, %v", l.Has(ref), l.Lacks("mdi", "home"), l.Lacks("mdi", "none"), l.Lacks("fa", "f015"))
	}
	poll(second)
	if l.CurrentNames() != nil {
		t.Error("the list of another release is in use")
	}
	f.asked = nil
	if _, err := l.UpdateNames(t.Context()); err != nil || len(f.asked) > 0 || l.CurrentNames() == nil {
		t.Errorf("the same list again: asked %v, %v", f.asked, err)
	}
}

// The list of a library of some millions of icons is larger than 16 MiB.
func TestManyNames(t *testing.T) {
	sequential.Test(t)
	f := newFake(t)
	l := f.library()
	const count = 300_000
	var pack strings.Builder
	pack.WriteString("large")
	for i := range count {
		// A number first, because the list leaves out what a name shares with the one before.
		fmt.Fprintf(&pack, " %06d%s", i, strings.Repeat("x", 57))
	}
	f.says(icon.ReleaseAnswer{Release: first, Names: f.has(pack.String())})
	if err := l.Poll(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.UpdateNames(t.Context()); err != nil || f.names != count+1 || len(f.list) < 16<<20 {
		t.Errorf("%d names of %d bytes: %v", f.names, len(f.list), err)
	}
}

// Only origins of our own get the secret, as far as the edge can know.
func TestSecret(t *testing.T) {
	for _, row := range []struct {
		proxyAll, ours, ownRoute, want bool
	}{
		{false, false, true, true}, {false, false, false, false}, {true, false, true, false},
		{true, true, true, true}, {true, true, false, true},
	} {
		l := newFake(t).library(func(o *Options) { o.ProxyAll = row.proxyAll })
		if row.ours {
			l.Restore(first)
		}
		if got := l.MayGetSecret(row.ownRoute); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}

// Requests that must know what the origin is share one poll, and a failure is their answer.
func TestIdentify(t *testing.T) {
	for _, row := range []struct {
		name   string
		status int
		err    error
		want   int // status of the answer; 0: none
	}{
		{"ours", 200, nil, 0}, {"foreign", 404, nil, 0}, {"failing", 500, nil, 502}, {"refused", 0, problem.New(503, "no slot"), 503},
	} {
		f := newFake(t)
		f.says(icon.ReleaseAnswer{Release: first})
		f.status, f.err = row.status, row.err
		l, got := f.library(), 0
		if err := l.Identify(); err != nil {
			got = problem.From(err).Status
		}
		l.Identify()
		if got != row.want || len(f.asked) != 1 {
			t.Errorf("%s: %d after %d polls, want %d after one", row.name, got, len(f.asked), row.want)
		}
	}
}

// An edge without icons is ready when an origin accepts a connection, and asks for no release.
func TestConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.refused = 3
		l := f.library(func(o *Options) { o.NoIcons = true })
		began := time.Now()
		l.Run(t.Context())
		if waited := time.Since(began); !l.State.Reached() || waited != 3*watchFirst || len(f.asked) > 0 {
			t.Errorf("reached %v after %v, asked %v", l.State.Reached(), waited, f.asked)
		}
		if err := l.Poll(); !errors.Is(err, ErrNoReleases) {
			t.Error(err)
		}
	})
}

// A Library polls often until an origin has answered, then as often as a release may change, and
// less often while the origin fails or has no releases.
func TestIntervals(t *testing.T) {
	for _, row := range []struct {
		name    string
		reached bool
		status  int
		want    time.Duration // between the second and the third poll
	}{
		{"not reached yet", false, 500, watchFirst}, {"as usual", true, 200, WatchEvery},
		{"failing", true, 500, watchAtMost}, {"foreign", true, 404, watchOther},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.says(icon.ReleaseAnswer{Release: first})
				f.status = row.status
				var polls []time.Time
				ctx, stop := context.WithCancel(t.Context())
				l := f.library(func(o *Options) {
					o.Fetch = func(q upstream.Request) (*upstream.WholeResponse, error) {
						if polls = append(polls, time.Now()); len(polls) == 3 {
							stop()
						}
						return f.fetch(q)
					}
				})
				l.State.reached.Store(row.reached)
				l.Run(ctx)
				synctest.Wait()
				if got := polls[2].Sub(polls[1]); got != row.want {
					t.Errorf("%v, want %v", got, row.want)
				}
			})
		})
	}
}

// The record beside the cache on disk has the release and the position in the log of purges.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	open := func() (*cache.Cache, *Progress) {
		c, err := cache.New(cache.Options{MaxBytes: 1 << 20, Dir: dir, DiskBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return c, newProgress(c)
	}
	c, p := open()
	if p.release != "" || p.Position != "" {
		t.Errorf("at first: %q, %q", p.release, p.Position)
	}
	p.setRelease(first)
	p.SetPosition("1700000000000-5")
	c.Close()
	c, p = open()
	defer c.Close()
	if p.release != first || p.Position != "1700000000000-5" {
		t.Errorf("after a restart: %q, %q", p.release, p.Position)
	}
}

// The negative cache stores short responses with 404, the last ones, until it is emptied.
func TestNegative(t *testing.T) {
	n := NewNegative(0)
	entry := func(key string, status, length int) *cache.Entry {
		e := entrytest.New(key, strings.Repeat("x", length))
		e.Status = status
		return e
	}
	before := n.Current()
	for _, row := range []struct {
		e    *cache.Entry
		want bool
	}{
		{entry("/a", 404, 10), true}, {entry("/b", 200, 10), false}, {entry("/c", 404, maxNegative+1), false},
		{entry("/d", 404, maxNegative), true},
	} {
		if stored := before.Put(row.e); stored != row.want || (before.Find(row.e.Key) == row.e) != row.want {
			t.Errorf("%s: stored %v, want %v", row.e.Key, stored, row.want)
		}
	}
	n.Clear()
	if n.Current().Find("/a") != nil {
		t.Error("the response is found in the emptied table")
	}
	before.Put(entry("/late", 404, 10)) // of a fetch that began before
	if n.Current().Find("/late") != nil {
		t.Error("a response from before the table was emptied is found")
	}
	for i := range 10 * leastPlaces {
		n.Current().Put(entry(fmt.Sprint("/", i), 404, 10))
	}
	if last := fmt.Sprint("/", 10*leastPlaces-1); n.Current().Find(last) == nil {
		t.Errorf("the last response %s is not found in a full table", last)
	}
}
