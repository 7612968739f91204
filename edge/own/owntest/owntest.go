// Package owntest has the answerers of the edge's own routes with fakes around them, for their
// tests, and origins of our own.
package owntest

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/iconset"
	"github.com/iconedge/iconedge/edge/own"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/problem"
)

// A Room answers requests for the edge's own routes: those for icon data from pieces, and the
// others as package own does.
type Room struct {
	*fetchtest.Room
	Own  *own.Answerer
	Sets *iconset.Answerer

	site  *vhosts.Site
	table *router.Router
}

// tableBytes bounds the pieces that were looked up lately, and the joined responses.
const tableBytes = 1 << 20

// New returns a room that asks an origin. It does not know the release before Learn is called.
func New(t testing.TB, origin http.Handler) *Room {
	t.Helper()
	r := &Room{Room: fetchtest.New(t, origin)}
	settings := vhosts.Settings{}
	r.site = settings.Site(false, cachepolicy.Policy{}, nil)
	known := pieces.NewTable(tableBytes)
	hits := hit.New(hit.Options{AltSvc: func(netip.Addr) string { return "" }, Clock: r.Now, Cache: r.Cache,
		Admission: access.NewAdmission(access.Options{Observer: r.Metrics, Clock: r.Now}), Library: r.Library,
		Origin: r.Client, Compressor: r.Compressor, Pieces: known, Doors: r.Doors, Metrics: r.Metrics})
	r.Own = &own.Answerer{Clock: r.Now, Cache: r.Cache, Library: r.Library, Origin: r.Origin, Finder: r.Finder,
		Writer: r.Writer, Hits: hits}
	r.Sets = &iconset.Answerer{WaitTimeout: fetchtest.LongEnough, Clock: r.Now, Cache: r.Cache, Library: r.Library,
		Origin: r.Origin, Doors: r.Doors, Joined: cache.NewShare(r.Cache, tableBytes), Pieces: known,
		Compressor: r.Compressor, Finder: r.Finder, Writer: r.Writer, Own: r.Own}
	r.table = routes.New(r.answer, func(ctx *fasthttp.RequestCtx) {
		r.Writer.Fail(pipeline.Of(ctx), problem.From(routes.NotFound()))
	}, true)
	return r
}

func (r *Room) answer(ctx *fasthttp.RequestCtx, ep *routes.Endpoint) {
	q := pipeline.Of(ctx)
	q.Route, q.Pattern = ep.RouteOf(string(ctx.URI().PathOriginal()), string(ctx.URI().QueryString())), ep.Pattern
	if ctx.IsOptions() {
		r.Own.Preflight(q, ep.Allow)
		return
	}
	var err error
	if q.Target, err = ep.Parse(ctx); err == nil {
		if q.Target.Icons != nil {
			_, err = r.Sets.Answer(q, ep)
		} else {
			_, err = r.Own.Answer(q, ep)
		}
	}
	if err != nil {
		r.Writer.Fail(q, problem.From(err))
	}
}

// Send sends a request, whose URL is a target.
func (r *Room) Send(t testing.TB, m pipelinetest.Message) pipelinetest.Answer {
	t.Helper()
	m.URL = "http://edge.test" + m.URL
	q := pipelinetest.New(t, r.site, r.Now(), m)
	r.table.Handler(q.Ctx)
	return pipelinetest.Read(q)
}

// Get sends a GET with fields as name, value, and so on.
func (r *Room) Get(t testing.TB, target string, fields ...string) pipelinetest.Answer {
	t.Helper()
	return r.Send(t, pipelinetest.Message{Method: http.MethodGet, URL: target, Fields: fields})
}

// Learn asks the origin for the release, and fetches the list of names if it is due.
func (r *Room) Learn(t testing.TB) {
	t.Helper()
	if err := r.Library.Poll(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Library.NamesDue:
		if _, err := r.Library.UpdateNames(t.Context()); err != nil {
			t.Fatal(err)
		}
	default:
	}
}

// Purge purges the entries with any of these tags, and returns how many they were.
func (r *Room) Purge(tags ...string) int {
	return r.Cache.Purge(cache.Purge{Tags: tags}, r.Now())
}

// Age makes the stored response of a key look as if it had arrived that long ago.
func (r *Room) Age(t testing.TB, key string, by time.Duration) {
	t.Helper()
	old := r.Cache.Get(key)
	if old == nil {
		t.Fatalf("nothing is stored under %s", key)
	}
	older := old.CopyConfirmed()
	older.Policy.Stored = older.Policy.Stored.Add(-by)
	if !r.Cache.Put(older, r.Cache.Generation()) {
		t.Fatalf("%s was not stored", key)
	}
}
