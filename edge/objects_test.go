package edge

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A movie is an origin with one large object at every path. It records the Range of each request
// that it answers.
type movie struct {
	mu      sync.Mutex
	body    []byte
	tag     string // entity tag; empty: none
	control string // Cache-Control
	asked   []string
	answer  func(w http.ResponseWriter, r *http.Request) bool // answers instead, if it returns true
}

const movieSize = 5<<20 + 12345

func newMovie() *movie {
	return &movie{body: noise(1, movieSize), tag: `"one"`, control: "max-age=600"}
}

// noise returns bytes that look random, and are the same for the same seed.
func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// change makes the object another version.
func (m *movie) change(seed byte, tag string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.body, m.tag = noise(seed, len(m.body)), tag
}

// ranges returns the Range of every request since the last call; "-" for none.
func (m *movie) ranges() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := strings.Join(m.asked, " ")
	m.asked = nil
	return s
}

func (m *movie) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	asked := r.Header.Get("Range")
	if asked == "" {
		asked = "-"
	}
	if r.Method == http.MethodGet {
		m.asked = append(m.asked, strings.TrimPrefix(asked, "bytes="))
	}
	body, tag, control, answer := m.body, m.tag, m.control, m.answer
	m.mu.Unlock()
	w.Header().Set("Cache-Control", control)
	w.Header().Set("Content-Type", "video/mp4")
	w.Header().Set("Surrogate-Key", "films")
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	if answer != nil && answer(w, r) {
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// newObjectTest returns an edge with a disk tier in front of a movie.
func newObjectTest(t *testing.T, m *movie, change ...func(*Config)) *edgeTest {
	t.Helper()
	return newEdgeTest(t, m, append([]func(*Config){func(c *Config) {
		c.ProxyAll, c.Icons, c.CacheDir = true, "off", t.TempDir()
	}}, change...)...)
}

// received waits until all slices of the objects in transfer are stored. A reader does not wait for
// a slow transfer longer than a second, and then fetches what it needs by itself.
func (e *edgeTest) received(t *testing.T) {
	t.Helper()
	settled(t, "everything is stored", func() bool { return e.Objects().Transfers == 0 })
}

// part checks a response with a range of the movie, and returns its Cache-Status.
func (m *movie) part(t *testing.T, a answer, from, to int64) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	size := int64(len(m.body))
	if want := fmt.Sprintf("bytes %d-%d/%d", from, to-1, size); a.StatusCode != http.StatusPartialContent || a.Header.Get("Content-Range") != want {
		t.Errorf("%d with Content-Range %q, want 206 with %q", a.StatusCode, a.Header.Get("Content-Range"), want)
	}
	if a.body != string(m.body[from:to]) {
		t.Errorf("the body of %d-%d has %d bytes and differs", from, to-1, len(a.body))
	}
	if a.Header.Get("ETag") != m.tag {
		t.Errorf("ETag is %q", a.Header.Get("ETag"))
	}
	return a.Header.Get("Cache-Status")
}

// whole checks a response with all of the movie, and returns its Cache-Status.
func (m *movie) whole(t *testing.T, a answer) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.StatusCode != http.StatusOK || a.body != string(m.body) || a.ContentLength != int64(len(m.body)) || a.Header.Get("Content-Range") != "" {
		t.Errorf("%d with %d bytes, Content-Length %d, Content-Range %q", a.StatusCode, len(a.body), a.ContentLength, a.Header.Get("Content-Range"))
	}
	return a.Header.Get("Cache-Status")
}

// isHit reports whether a response was sent without another request to the origin. Its bytes may
// still be arriving for an earlier one.
func isHit(status string) bool {
	return strings.Contains(status, "; hit") || strings.Contains(status, "; collapsed")
}

// A large object is stored in slices while the first client reads it. Then it is a hit, whole and
// in parts, without another request to the origin.
func TestObjectIsStoredWhileItArrives(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	if s := m.whole(t, e.get(t, "/a.mp4")); !strings.Contains(s, "fwd=uri-miss; stored") {
		t.Errorf("first: %s", s)
	}
	e.received(t)
	if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) {
		t.Errorf("second: %s", s)
	}
	for _, r := range [][2]int64{{0, 1}, {0, 1 << 20}, {1<<20 - 1, 1<<20 + 1}, {3 << 20, movieSize}, {movieSize - 1, movieSize}, {0, movieSize}} {
		if s := m.part(t, e.get(t, "/a.mp4", "Range", fmt.Sprintf("bytes=%d-%d", r[0], r[1]-1)), r[0], r[1]); !isHit(s) {
			t.Errorf("%v: %s", r, s)
		}
	}
	if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=-100"), movieSize-100, movieSize); !isHit(s) {
		t.Errorf("a suffix: %s", s)
	}
	a := e.do(t, http.MethodHead, "/a.mp4")
	if n := a.ContentLength; n != movieSize || !isHit(a.Header.Get("Cache-Status")) {
		t.Errorf("HEAD: %d bytes, %s", n, a.Header.Get("Cache-Status"))
	}
	if a := e.get(t, "/a.mp4", "If-None-Match", `"one"`); a.StatusCode != http.StatusNotModified || a.body != "" {
		t.Errorf("If-None-Match: %d", a.StatusCode)
	}
	if a := e.get(t, "/a.mp4", "Range", "bytes=99999999-"); a.StatusCode != http.StatusRequestedRangeNotSatisfiable || a.Header.Get("Content-Range") != "bytes */"+strconv.Itoa(movieSize) {
		t.Errorf("a range outside: %d, %q", a.StatusCode, a.Header.Get("Content-Range"))
	}
	if a := e.get(t, "/a.mp4", "Range", "bytes=0-4", "If-Range", `"two"`); a.StatusCode != http.StatusOK {
		t.Errorf("If-Range with another tag: %d", a.StatusCode)
	}
	if got := m.ranges(); got != "-" {
		t.Errorf("the origin got %s, want one request", got)
	}
}

// bytes=0- is the whole object: the origin is asked for all of it, and the client gets a 206 while
// it arrives.
func TestRangeOfWholeObject(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-"), 0, movieSize)
	e.received(t)
	if s, asked := m.whole(t, e.get(t, "/a.mp4")), m.ranges(); !isHit(s) || asked != "-" {
		t.Errorf("afterwards: %s, the origin got %s", s, asked)
	}
	// So is a short response, and one that can't be stored.
	for _, control := range []string{"max-age=600", "no-store"} {
		m := newMovie()
		m.body, m.control = m.body[:1<<20], control
		e := newObjectTest(t, m, func(c *Config) { c.CacheDir = "" })
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-"), 0, 1<<20)
		if got := m.ranges(); got != "-" {
			t.Errorf("%s: the origin got %s", control, got)
		}
	}
}

// Ranges of an object that is not stored are fetched as aligned slices: only the missing ones.
// When all are there, the whole object is a hit.
func TestRangesBecomeSlices(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	for _, c := range []struct {
		from, to int64
		origin   string
	}{
		{2<<20 + 5, 2<<20 + 10, "2097152-3145727"},
		{2 << 20, 3 << 20, ""},
		{2<<20 - 1, 4 << 20, "1048576-2097151 3145728-4194303"}, // spans a stored slice
		{5 << 20, movieSize, "5242880-5255224"},                 // the last slice is short
		{100, 200, "0-1048575"},
		{4<<20 + 1, 4<<20 + 2, "4194304-5242879"},
	} {
		a := e.get(t, "/a.mp4", "Range", fmt.Sprintf("bytes=%d-%d", c.from, c.to-1))
		if s := m.part(t, a, c.from, c.to); isHit(s) != (c.origin == "") {
			t.Errorf("%d-%d: %s", c.from, c.to, s)
		}
		if got := m.ranges(); got != c.origin {
			t.Errorf("%d-%d: the origin got %q, want %q", c.from, c.to, got, c.origin)
		}
	}
	if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) || m.ranges() != "" {
		t.Errorf("the whole: %s", s)
	}
}

// Whatever ranges clients ask for, at once and one after the other, they get these bytes.
func TestRandomRanges(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	var clients sync.WaitGroup
	for seed := range uint64(6) {
		clients.Go(func() {
			dice := rand.New(rand.NewPCG(seed, 0))
			for range 15 {
				from := dice.Int64N(movieSize)
				to := from + 1 + dice.Int64N(movieSize-from)
				m.part(t, e.get(t, "/a.mp4", "Range", fmt.Sprintf("bytes=%d-%d", from, to-1)), from, to)
			}
			m.whole(t, e.get(t, "/a.mp4"))
		})
	}
	clients.Wait()
	m.ranges()
	if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) || m.ranges() != "" {
		t.Errorf("in the end: %s", s)
	}
}

// If the origin has another version, the stored slices are dropped, and every client gets one
// version.
func TestSliceOfAnotherVersion(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100)
	m.change(2, `"two"`)
	// The edge asks for slice 3 of the first version, then drops it, and asks again.
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=3145728-3145827"), 3<<20, 3<<20+100)
	if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100); isHit(s) {
		t.Errorf("the old slice is a hit: %s", s)
	}
	// A client that has got the beginning of one version does not get the rest of another.
	m.change(3, `"three"`)
	r, _ := http.NewRequest("GET", "http://edge.test/a.mp4", nil)
	resp, err := e.send(r)
	must(t, err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil && !bytes.Equal(body, m.body) || err != nil && len(body) > 2<<20 {
		t.Errorf("a mixture: %d bytes, error %v", len(body), err)
	}
	m.whole(t, e.get(t, "/a.mp4"))
	if n := e.Objects().Dropped; n != 2 {
		t.Errorf("%d objects are counted as dropped", n)
	}
}

// Parts that have no strong validator are not combined: the client's own range passes. So do
// several ranges at once.
func TestRangesThatPass(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *movie){
		"no validator":          func(m *movie) { m.tag = "" },
		"a weak entity tag":     func(m *movie) { m.tag = `W/"one"` },
		"not to be stored":      func(m *movie) { m.control = "no-store" },
		"for one client":        func(m *movie) { m.control = "private" },
		"a wrong Content-Range": func(m *movie) { m.answer = wrongRange },
	} {
		m := newMovie()
		change(m)
		e := newObjectTest(t, m)
		for range 2 {
			if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=5-9"), 5, 10); isHit(s) {
				t.Errorf("%s: %s", name, s)
			}
		}
		if got := m.ranges(); got != "0-1048575 5-9 5-9" {
			t.Errorf("%s: the origin got %q", name, got)
		}
	}
	m := newMovie()
	e := newObjectTest(t, m)
	if a := e.get(t, "/a.mp4", "Range", "bytes=0-1,5-6"); a.StatusCode != http.StatusPartialContent || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %d, %s", a.StatusCode, a.Header.Get("Content-Type"))
	}
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=-5"), movieSize-5, movieSize)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=7-8", "Authorization", "a signature"), 7, 9)
	if a := e.get(t, "/a.mp4", "Range", "bytes=2-3", "If-Match", `"one"`); a.StatusCode != http.StatusPartialContent || m.ranges() != "0-1,5-6 -5 7-8 2-3" {
		t.Errorf("If-Match: %d", a.StatusCode)
	}
}

// wrongRange answers slices with a Content-Range that does not fit.
func wrongRange(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Range") != "bytes=0-1048575" {
		return false
	}
	w.Header().Set("Content-Range", "bytes 1-1048576/5255225")
	w.WriteHeader(http.StatusPartialContent)
	w.Write(make([]byte, 1<<20))
	return true
}

// An origin that ignores Range sends everything: it is stored, and the client gets its part.
func TestOriginWithoutRanges(t *testing.T) {
	t.Parallel()
	m := newMovie()
	m.tag = ""
	m.answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", strconv.Itoa(len(m.body)))
		w.Write(m.body)
		return true
	}
	e := newObjectTest(t, m)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=2097152-2097161"), 2<<20, 2<<20+10)
	m.whole(t, e.get(t, "/a.mp4")) // perhaps while it arrives
	if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) || m.ranges() != "2097152-3145727" {
		t.Errorf("afterwards: %s", s)
	}
}

// Every kind of purge concerns the object and all of its slices; a soft one has it revalidated.
func TestPurgeOfObject(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"urls":["/a.mp4"]}`, `{"prefixes":["/a"]}`, `{"surrogate_keys":["films"]}`} {
		for _, soft := range []bool{false, true} {
			m := newMovie()
			e := newObjectTest(t, m)
			m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100)
			if soft {
				body = strings.TrimSuffix(body, "}") + `,"soft":true}`
			}
			if code, said := e.purge(t, body); code != http.StatusOK || !strings.Contains(said, `"purged":1`) {
				t.Errorf("%s: %d %s", body, code, said)
			}
			if !soft {
				m.change(2, `"one"`) // under the same validator, so only the purge tells
			}
			m.ranges()
			if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100); isHit(s) || m.ranges() == "" {
				t.Errorf("%s: afterwards %s", body, s)
			}
			if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=50-99"), 50, 100); !isHit(s) || m.ranges() != "" {
				t.Errorf("%s: the second time %s", body, s)
			}
		}
	}
}

// A body that is shorter or longer than announced ends the exchange, and nothing of it is stored.
func TestObjectOfAnotherLength(t *testing.T) {
	t.Parallel()
	m := newMovie()
	m.answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", strconv.Itoa(len(m.body)))
		w.Write(m.body[:3<<20])
		panic(http.ErrAbortHandler)
	}
	e := newObjectTest(t, m)
	for i := range uint64(2) {
		r, _ := http.NewRequest("GET", "http://edge.test/a.mp4", nil)
		resp, err := e.send(r)
		must(t, err)
		if body, err := io.ReadAll(resp.Body); resp.StatusCode == http.StatusOK && (err == nil || !bytes.HasPrefix(m.body, body)) {
			t.Errorf("%d bytes, error %v", len(body), err)
		}
		resp.Body.Close()
		settled(t, "it is dropped", func() bool {
			n := e.Objects()
			return e.stored("/a.mp4") == nil && n.Transfers == 0 && n.Dropped > i
		})
	}
	if got := m.ranges(); got != "- -" {
		t.Errorf("the origin got %q, want two requests", got)
	}
	if n := e.Objects(); n.Dropped != 2 || n.Failed != 2 {
		t.Errorf("counted: %+v", n)
	}
}

// A client that leaves or reads slowly neither ends nor holds up the transfer, and others read at
// their own pace.
func TestClientsOfObjectAreIndependent(t *testing.T) {
	t.Parallel()
	m := newMovie()
	half, go_ := make(chan bool), make(chan bool)
	m.answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", strconv.Itoa(len(m.body)))
		w.Write(m.body[:2<<20])
		w.(http.Flusher).Flush()
		close(half)
		<-go_
		w.Write(m.body[2<<20:])
		return true
	}
	e := newObjectTest(t, m)
	open := func() *http.Response {
		r, _ := http.NewRequest("GET", "http://edge.test/a.mp4", nil)
		resp, err := e.send(r)
		must(t, err)
		return resp
	}
	slow, leaves := open(), open()
	<-half
	b := make([]byte, 1<<20)
	if _, err := io.ReadFull(leaves.Body, b); err != nil || !bytes.Equal(b, m.body[:1<<20]) {
		t.Errorf("while it arrives: %v", err)
	}
	leaves.Body.Close()
	// A stored slice is a hit although the object is incomplete.
	if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19"), 10, 20); !isHit(s) {
		t.Errorf("a slice that has arrived: %s", s)
	}
	close(go_)
	m.whole(t, e.get(t, "/a.mp4"))
	if body, err := io.ReadAll(slow.Body); err != nil || !bytes.Equal(body, m.body) {
		t.Errorf("the slow client: %d bytes, error %v", len(body), err)
	}
	slow.Body.Close()
	if got := m.ranges(); got != "-" {
		t.Errorf("the origin got %q, want one request", got)
	}
}

// A stale object is revalidated as a whole. Its slices stay.
func TestStaleObject(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	m.whole(t, e.get(t, "/a.mp4"))
	e.age(t, "/a.mp4", time.Hour)
	m.ranges()
	if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19"), 10, 20); !strings.Contains(s, "fwd=stale") || m.ranges() != "0-1048575" {
		t.Errorf("stale: %s", s)
	}
	if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) || m.ranges() != "" {
		t.Errorf("confirmed: %s", s)
	}
	e.age(t, "/a.mp4", time.Hour)
	m.change(2, `"two"`)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19"), 10, 20)
	m.whole(t, e.get(t, "/a.mp4"))
}

// only-if-cached gets stored slices alone.
func TestOnlyIfCachedSlices(t *testing.T) {
	t.Parallel()
	m := newMovie()
	e := newObjectTest(t, m)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100)
	m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19", "Cache-Control", "only-if-cached"), 10, 20)
	for _, r := range []string{"bytes=1048570-1048580", "bytes=0-"} {
		if a := e.get(t, "/a.mp4", "Range", r, "Cache-Control", "only-if-cached"); a.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s: %d", r, a.StatusCode)
		}
	}
}

// --max-object limits the responses that are stored, in slices and in one piece.
func TestMaxObject(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{movieSize, movieSize - 1, 1000} {
		m := newMovie()
		e := newObjectTest(t, m, func(c *Config) { c.MaxObject = limit })
		for range 2 {
			m.whole(t, e.get(t, "/a.mp4"))
		}
		if hit := m.ranges() == "-"; hit != (limit == movieSize) {
			t.Errorf("at most %d: the second is a hit: %v", limit, hit)
		}
	}
}
