package forwarded

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

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
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

// A tier is where a test has slices stored.
type tier func(*testing.T, *cache.Options)

func onDisk(t *testing.T, o *cache.Options) { o.Dir, o.DiskBytes = t.TempDir(), 1<<30 }

func inMemory(*testing.T, *cache.Options) {}

// inEachTier runs a test with slices on disk, and with slices in memory.
func inEachTier(t *testing.T, test func(*testing.T, tier)) {
	t.Parallel()
	for name, where := range map[string]tier{"disk": onDisk, "memory": inMemory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, where)
		})
	}
}

// newObjectTest returns an Answerer in front of a movie, whose slices are on disk.
func newObjectTest(t *testing.T, m *movie, change ...func(*cache.Options, *fetch.Bounds)) *test {
	t.Helper()
	return tier(onDisk).test(t, m, change...)
}

func (where tier) test(t *testing.T, m *movie, change ...func(*cache.Options, *fetch.Bounds)) *test {
	t.Helper()
	return newTestOf(t, fetchtest.New(t, m, append([]func(*cache.Options, *fetch.Bounds){
		func(o *cache.Options, _ *fetch.Bounds) { where(t, o) }}, change...)...))
}

func (e *test) objects() objects.Stats { return e.Room.Finder.Objects.Stats() }

// received waits until all slices of the objects in transfer are stored. A reader does not wait for
// a slow transfer longer than a second, and then fetches what it needs by itself.
func (e *test) received(t *testing.T) {
	t.Helper()
	fetchtest.Settled(t, "everything is stored", func() bool { return e.objects().Transfers == 0 })
}

// open sends a GET, and returns the body while it arrives.
func (e *test) open(t *testing.T, target string) (status int, body io.ReadCloser) {
	t.Helper()
	r := e.answer(t, pipelinetest.Message{Method: http.MethodGet, URL: target})
	if stream := r.Ctx.Response.BodyStream(); stream != nil {
		return r.Ctx.Response.StatusCode(), stream.(io.ReadCloser)
	}
	return r.Ctx.Response.StatusCode(), io.NopCloser(bytes.NewReader(r.Ctx.Response.Body()))
}

// part checks a response with a range of the movie, and returns its Cache-Status.
func (m *movie) part(t *testing.T, a pipelinetest.Answer, from, to int64) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	size := int64(len(m.body))
	if want := fmt.Sprintf("bytes %d-%d/%d", from, to-1, size); a.StatusCode != http.StatusPartialContent ||
		a.Header.Get("Content-Range") != want {
		t.Errorf("%d with Content-Range %q, want 206 with %q", a.StatusCode, a.Header.Get("Content-Range"), want)
	}
	if a.Body != string(m.body[from:to]) {
		t.Errorf("the body of %d-%d has %d bytes and differs", from, to-1, len(a.Body))
	}
	if a.Header.Get("ETag") != m.tag {
		t.Errorf("ETag is %q", a.Header.Get("ETag"))
	}
	return a.Header.Get("Cache-Status")
}

// whole checks a response with all of the movie, and returns its Cache-Status.
func (m *movie) whole(t *testing.T, a pipelinetest.Answer) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.StatusCode != http.StatusOK || a.Body != string(m.body) || a.ContentLength != int64(len(m.body)) ||
		a.Header.Get("Content-Range") != "" {
		t.Errorf("%d with %d bytes, Content-Length %d, Content-Range %q", a.StatusCode, len(a.Body), a.ContentLength,
			a.Header.Get("Content-Range"))
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
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
		if s := m.whole(t, e.get(t, "/a.mp4")); !strings.Contains(s, "fwd=uri-miss; stored") {
			t.Errorf("first: %s", s)
		}
		e.received(t)
		if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) {
			t.Errorf("second: %s", s)
		}
		for _, r := range [][2]int64{{0, 1}, {0, 1 << 20}, {1<<20 - 1, 1<<20 + 1}, {3 << 20, movieSize},
			{movieSize - 1, movieSize}, {0, movieSize}} {
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
		if a := e.get(t, "/a.mp4", "If-None-Match", `"one"`); a.StatusCode != http.StatusNotModified || a.Body != "" {
			t.Errorf("If-None-Match: %d", a.StatusCode)
		}
		if a := e.get(t, "/a.mp4", "Range", "bytes=99999999-"); a.StatusCode != http.StatusRequestedRangeNotSatisfiable ||
			a.Header.Get("Content-Range") != "bytes */"+strconv.Itoa(movieSize) {
			t.Errorf("a range outside: %d, %q", a.StatusCode, a.Header.Get("Content-Range"))
		}
		if a := e.get(t, "/a.mp4", "Range", "bytes=0-4", "If-Range", `"two"`); a.StatusCode != http.StatusOK {
			t.Errorf("If-Range with another tag: %d", a.StatusCode)
		}
		if got := m.ranges(); got != "-" {
			t.Errorf("the origin got %s, want one request", got)
		}
	})
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
		e := newObjectTest(t, m, func(o *cache.Options, _ *fetch.Bounds) { o.Dir = "" })
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-"), 0, 1<<20)
		if got := m.ranges(); got != "-" {
			t.Errorf("%s: the origin got %s", control, got)
		}
	}
}

// Ranges of an object that is not stored are fetched as aligned slices: only the missing ones.
// When all are there, the whole object is a hit.
func TestRangesBecomeSlices(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
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
	})
}

// The last bytes of an object that is not stored are asked for when its length is known.
func TestSuffixBecomesSlices(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
		for _, want := range []string{"0-1048575 5242880-5255224", ""} {
			m.part(t, e.get(t, "/a.mp4", "Range", "bytes=-500"), movieSize-500, movieSize)
			if got := m.ranges(); got != want {
				t.Errorf("the origin got %q, want %q", got, want)
			}
		}
	})
}

// A 206 that has all of a small object is stored as a 200 would be, whatever its validator, so the
// origin is asked once, and later clients get codings. If it may not be stored, the client gets its
// part of it all the same.
func TestRangeOfSmallObject(t *testing.T) {
	for name, row := range map[string]struct {
		tag, control string
		asked        string // by five ranges
	}{
		"strong":       {`"one"`, "max-age=600", "0-1048575"},
		"weak":         {`W/"one"`, "max-age=600", "0-1048575"},
		"no validator": {"", "max-age=600", "0-1048575"},
		"not stored":   {`"one"`, "no-store", "0-1048575 20-29 40-49 60-69 80-89"},
	} {
		t.Run(name, func(t *testing.T) {
			inEachTier(t, func(t *testing.T, where tier) {
				m := newMovie()
				m.body, m.tag, m.control = m.body[:300_000], row.tag, row.control
				e := where.test(t, m)
				for from := int64(0); from < 100; from += 20 {
					m.part(t, e.get(t, "/a.pdf", "Range", fmt.Sprintf("bytes=%d-%d", from, from+9)), from, from+10)
				}
				if got := m.ranges(); got != row.asked {
					t.Errorf("the origin got %q, want %q", got, row.asked)
				}
				fetchtest.Settled(t, "it is stored in one piece, if it may be", func() bool {
					s := e.Cache.Get("http://edge.test/a.pdf")
					return row.control == "no-store" || s != nil && !s.IsObject()
				})
			})
		})
	}
}

// Whatever ranges clients ask for, at once and one after the other, they get these bytes.
func TestRandomRanges(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
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
	})
}

// More films than the memory holds displace slices of each other. Clients get the right bytes all
// the same, and the cache stays below its ceiling. With -short each client sends half the requests.
func TestSlicesLeaveMemory(t *testing.T) {
	t.Parallel()
	requests := 16
	if testing.Short() {
		requests = 8
	}
	m := newMovie()
	e := tier(inMemory).test(t, m)
	var clients sync.WaitGroup
	for seed := range uint64(4) {
		clients.Go(func() {
			dice := rand.New(rand.NewPCG(seed, 1))
			for n := range requests {
				film := fmt.Sprintf("/%d.mp4", dice.IntN(10))
				if from := dice.Int64N(movieSize); n%4 != 0 {
					m.part(t, e.get(t, film, "Range", fmt.Sprintf("bytes=%d-", from)), from, movieSize)
				} else {
					m.whole(t, e.get(t, film))
				}
				if s := e.Cache.Stats(); s.Bytes > fetchtest.CacheBytes {
					t.Errorf("%d bytes are stored, more than %d", s.Bytes, fetchtest.CacheBytes)
				}
			}
		})
	}
	clients.Wait()
	if e.Cache.Stats().Evicted == 0 {
		t.Error("nothing was evicted")
	}
}

// In memory an object without a strong validator is not stored, because a slice that has left could
// not be fetched again.
func TestObjectInMemoryNeedsValidator(t *testing.T) {
	t.Parallel()
	for tag, asked := range map[string]string{"": "- -", `W/"one"`: "- -", `"one"`: "-"} {
		m := newMovie()
		m.tag = tag
		e := tier(inMemory).test(t, m)
		for range 2 {
			m.whole(t, e.get(t, "/a.mp4"))
			e.received(t)
		}
		if got := m.ranges(); got != asked {
			t.Errorf("with the entity tag %s the origin got %q, want %q", tag, got, asked)
		}
	}
}

// If the origin has another version, the stored slices are dropped, and every client gets one
// version.
func TestSliceOfAnotherVersion(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100)
		m.change(2, `"two"`)
		// The edge asks for slice 3 of the first version, then drops it, and asks again.
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=3145728-3145827"), 3<<20, 3<<20+100)
		if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100); isHit(s) {
			t.Errorf("the old slice is a hit: %s", s)
		}
		// A client that has got the beginning of one version does not get the rest of another.
		m.change(3, `"three"`)
		_, stream := e.open(t, "/a.mp4")
		defer stream.Close()
		if body, err := io.ReadAll(stream); err == nil && !bytes.Equal(body, m.body) || err != nil && len(body) > 2<<20 {
			t.Errorf("a mixture: %d bytes, error %v", len(body), err)
		}
		m.whole(t, e.get(t, "/a.mp4"))
		if n := e.objects().Dropped; n != 2 {
			t.Errorf("%d objects are counted as dropped", n)
		}
	})
}

// Parts that have no strong validator are not combined: the client's own range passes. So do
// several ranges at once.
func TestRangesThatPass(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		for name, change := range map[string]func(m *movie){
			"no validator":          func(m *movie) { m.tag = "" },
			"a weak entity tag":     func(m *movie) { m.tag = `W/"one"` },
			"not to be stored":      func(m *movie) { m.control = "no-store" },
			"for one client":        func(m *movie) { m.control = "private" },
			"a wrong Content-Range": func(m *movie) { m.answer = wrongRange },
		} {
			m := newMovie()
			change(m)
			e := where.test(t, m)
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
		e := where.test(t, m)
		if a := e.get(t, "/a.mp4", "Range", "bytes=0-1,5-6"); a.StatusCode != http.StatusPartialContent ||
			!strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges") {
			t.Errorf("two ranges: %d, %s", a.StatusCode, a.Header.Get("Content-Type"))
		}
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=7-8", "Authorization", "a signature"), 7, 9)
		if a := e.get(t, "/a.mp4", "Range", "bytes=2-3", "If-Match",
			`"one"`); a.StatusCode != http.StatusPartialContent || m.ranges() != "0-1,5-6 7-8 2-3" {
			t.Errorf("If-Match: %d", a.StatusCode)
		}
	})
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
	inEachTier(t, func(t *testing.T, where tier) {
		for name, purge := range map[string]cache.Purge{"the target": {Tags: []string{cache.TargetTag("/a.mp4")}},
			"a prefix": {Prefixes: []string{"http://edge.test/a"}}, "a surrogate key": {Tags: []string{"films"}}} {
			for _, soft := range []bool{false, true} {
				m := newMovie()
				e := where.test(t, m)
				m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100)
				purge.Soft = soft
				if n := e.Cache.Purge(purge, e.Now()); n != 1 {
					t.Errorf("%s: %d purged, want 1", name, n)
				}
				if !soft {
					m.change(2, `"one"`) // under the same validator, so only the purge tells
				}
				m.ranges()
				if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100); isHit(s) || m.ranges() == "" {
					t.Errorf("%s: afterwards %s", name, s)
				}
				if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=50-99"), 50, 100); !isHit(s) || m.ranges() != "" {
					t.Errorf("%s: the second time %s", name, s)
				}
			}
		}
	})
}

// A body that is shorter or longer than announced ends the exchange, and nothing of it is stored.
func TestObjectOfAnotherLength(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		m.answer = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", strconv.Itoa(len(m.body)))
			w.Write(m.body[:3<<20])
			panic(http.ErrAbortHandler)
		}
		e := where.test(t, m)
		for i := range uint64(2) {
			status, stream := e.open(t, "/a.mp4")
			if body, err := io.ReadAll(stream); status == http.StatusOK && (err == nil || !bytes.HasPrefix(m.body, body)) {
				t.Errorf("%d bytes, error %v", len(body), err)
			}
			stream.Close()
			fetchtest.Settled(t, "it is dropped", func() bool {
				n := e.objects()
				return e.Cache.Get("http://edge.test/a.mp4") == nil && n.Transfers == 0 && n.Dropped > i
			})
		}
		// A slice in memory may leave before a client has read it. The edge then asks for the rest.
		if got := strings.ReplaceAll(m.ranges(), " 3145728-5255224", ""); got != "- -" {
			t.Errorf("the origin got %q, want two requests", got)
		}
		if n := e.objects(); n.Dropped != 2 || n.Failed != 2 {
			t.Errorf("counted: %+v", n)
		}
	})
}

// A client that leaves or reads slowly neither ends nor holds up the transfer, and others read at
// their own pace.
func TestClientsOfObjectAreIndependent(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
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
		e := where.test(t, m)
		_, slow := e.open(t, "/a.mp4")
		_, leaves := e.open(t, "/a.mp4")
		<-half
		b := make([]byte, 1<<20)
		if _, err := io.ReadFull(leaves, b); err != nil || !bytes.Equal(b, m.body[:1<<20]) {
			t.Errorf("while it arrives: %v", err)
		}
		leaves.Close()
		// A stored slice is a hit although the object is incomplete.
		if s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19"), 10, 20); !isHit(s) {
			t.Errorf("a slice that has arrived: %s", s)
		}
		close(go_)
		m.whole(t, e.get(t, "/a.mp4"))
		if body, err := io.ReadAll(slow); err != nil || !bytes.Equal(body, m.body) {
			t.Errorf("the slow client: %d bytes, error %v", len(body), err)
		}
		slow.Close()
		if got := m.ranges(); got != "-" {
			t.Errorf("the origin got %q, want one request", got)
		}
	})
}

// A stale object is revalidated as a whole. Its slices stay.
func TestStaleObject(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
		m.whole(t, e.get(t, "/a.mp4"))
		e.age(t, "/a.mp4", time.Hour)
		m.ranges()
		s := m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19"), 10, 20)
		if !strings.Contains(s, "fwd=stale") || m.ranges() != "0-1048575" {
			t.Errorf("stale: %s", s)
		}
		if s := m.whole(t, e.get(t, "/a.mp4")); !isHit(s) || m.ranges() != "" {
			t.Errorf("confirmed: %s", s)
		}
		e.age(t, "/a.mp4", time.Hour)
		m.change(2, `"two"`)
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19"), 10, 20)
		m.whole(t, e.get(t, "/a.mp4"))
	})
}

// only-if-cached gets stored slices alone.
func TestOnlyIfCachedSlices(t *testing.T) {
	inEachTier(t, func(t *testing.T, where tier) {
		m := newMovie()
		e := where.test(t, m)
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=0-99"), 0, 100)
		m.part(t, e.get(t, "/a.mp4", "Range", "bytes=10-19", "Cache-Control", "only-if-cached"), 10, 20)
		for _, r := range []string{"bytes=1048570-1048580", "bytes=0-"} {
			if a := e.get(t, "/a.mp4", "Range", r, "Cache-Control", "only-if-cached"); a.StatusCode != http.StatusGatewayTimeout {
				t.Errorf("%s: %d", r, a.StatusCode)
			}
		}
	})
}

// --max-object limits the responses that are stored, in slices and in one piece.
func TestMaxObject(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{movieSize, movieSize - 1, 1000} {
		m := newMovie()
		e := newObjectTest(t, m, func(_ *cache.Options, b *fetch.Bounds) { b.MaxObject = limit })
		for range 2 {
			m.whole(t, e.get(t, "/a.mp4"))
		}
		if hit := m.ranges() == "-"; hit != (limit == movieSize) {
			t.Errorf("at most %d: the second is a hit: %v", limit, hit)
		}
	}
}
