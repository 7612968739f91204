// Package fetchtest makes the components by which the answerers of the pipeline get responses, for
// their tests: a cache, an origin of the test on loopback, and a clock that stands still.
package fetchtest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/logtest"
)

// A Room has the components.
type Room struct {
	Cache   *cache.Cache
	Library *library.Library
	Client  *upstream.Client
	Origin  *fetch.Fetcher
	Doors   *fetch.Doorkeeper
	Finder  *fetch.Finder
	Writer  *pipeline.Writer
	// Compressor makes the content codings of stored responses.
	Compressor *compress.Compressor
	// Dictionaries has the dictionaries that clients may have.
	Dictionaries *dictionaries.Table
	Metrics      *observe.Metrics
	Bounds       fetch.Bounds
	Log          *slog.Logger
	Logged       *logtest.Log // by Log

	began time.Time
	ahead atomic.Int64 // of the clock, in nanoseconds
}

const (
	CacheBytes = 32 << 20    // MaxBytes of the cache
	hold       = time.Second // for the end of a short body, also on a busy machine
)

// LongEnough is more time than an origin on loopback needs, also on a busy machine.
const LongEnough = 2 * time.Minute

// New returns the components, with the origin that a handler is. change may change the options of
// the cache, and the bounds.
func New(t testing.TB, origin http.Handler, change ...func(*cache.Options, *fetch.Bounds)) *Room {
	t.Helper()
	s := httptest.NewServer(origin)
	t.Cleanup(s.Close)
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	patience := upstream.Patience{FirstByte: LongEnough, Idle: LongEnough}
	r := &Room{Logged: new(logtest.Log), Metrics: observe.NewMetrics("test"),
		Bounds: fetch.Bounds{Patience: patience, Hold: hold, Hesitation: LongEnough}, began: time.Now().Truncate(time.Second)}
	r.Log = slog.New(slog.NewTextHandler(r.Logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	options := cache.Options{MaxBytes: CacheBytes, Clock: r.Now}
	for _, c := range change {
		c(&options, &r.Bounds)
	}
	if r.Cache, err = cache.New(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Cache.Close() })
	r.Client = upstream.New(upstream.Config{Origins: [][]*url.URL{{address}}, FirstByte: LongEnough, Idle: LongEnough, Log: r.Log})
	t.Cleanup(r.Client.Close)
	state := &library.OriginState{}
	r.Origin = fetch.NewFetcher(fetch.FetcherOptions{Life: t.Context(), Client: r.Client, MaxWaiting: 2000,
		Metrics: r.Metrics, State: state, Clock: r.Now})
	r.Library = library.New(library.Options{Cache: r.Cache, CacheBytes: CacheBytes, State: state,
		Fetch: r.Origin.FetchUntraced, Do: r.Client.Do, Announce: func(string) {}, Observer: r.Metrics, Log: r.Log})
	r.Compressor = compress.New(r.Cache, r.Log)
	r.Dictionaries = dictionaries.New(r.Cache, r.Compressor, CacheBytes)
	r.Doors = fetch.NewDoorkeeper()
	r.Finder = fetch.NewFinder(fetch.Options{CacheBytes: CacheBytes, WaitTimeout: LongEnough, Bounds: r.Bounds,
		Clock: r.Now, Cache: r.Cache, Library: r.Library, Origin: r.Origin,
		Draining: func() bool { return false }, Dictionaries: r.Dictionaries, Log: r.Log}, r.Doors)
	r.Writer = pipeline.NewWriter(r.Compressor, r.Log)
	r.Writer.Dictionaries = r.Dictionaries
	return r
}

// Now returns the time of the clock.
func (r *Room) Now() time.Time { return r.began.Add(time.Duration(r.ahead.Load())) }

// Move moves the clock on.
func (r *Room) Move(by time.Duration) { r.ahead.Add(int64(by)) }

// Compressed waits until all content codings are made that requests have wanted.
func (r *Room) Compressed(t testing.TB) {
	t.Helper()
	Settled(t, "all codings are made", func() bool { return r.Compressor.Stats().Pending == 0 })
}

// Settled waits until f reports true, because fetches and codings are made in the background.
func Settled(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end, pause := time.Now().Add(LongEnough), time.Millisecond; !f(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(pause)
	}
}
