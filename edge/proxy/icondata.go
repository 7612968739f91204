package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
)

// The edge caches Iconify's icon data in pieces: one entry for each name of a pack, and one for the
// head of the pack, whose name is empty.

// An iconData is the record of one request for the data of icons. Each step fills it for the steps
// after it.
type iconData struct {
	*request
	h       *Proxy
	pack    string
	entries map[string]*cache.Entry // the piece of each name
	absent  []string                // names that the pack does not have
	fetched map[string]bool         // names whose piece was not stored
	policy  cachepolicy.Request
}

// serveIconData answers a request for the icons of a pack with these names, which are sorted and
// differ, from cached pieces. One request to the origin fetches the missing ones. It leaves a
// request to serveCached that the pieces can't answer: their response would mix releases, the pack
// is unknown, or the origin has failed.
func (h *Proxy) serveIconData(r *request, ep *routes.Endpoint, pack string, names []string) (exchange.Outcome, error) {
	release := h.Options.Library.Known()
	if release == "" {
		return h.serveCached(r, ep)
	}
	x := iconData{request: r, h: h, pack: pack, entries: map[string]*cache.Entry{}, fetched: map[string]bool{}}
	x.policy = h.ownRequest(r, r.target.Key).policy
	wanted := []string{""}
	for _, name := range names {
		if icon.ValidKey(name) {
			wanted = append(wanted, name)
		} else {
			x.absent = append(x.absent, name)
		}
	}
	for len(wanted) > 0 {
		if !x.find(wanted) {
			return h.serveCached(r, ep)
		}
		var ok bool
		if wanted, ok = x.parents(wanted); !ok {
			return h.serveCached(r, ep)
		}
	}
	if !x.oneRelease() || release != h.Options.Library.Known() {
		return h.serveCached(r, ep)
	}
	e, err := x.join()
	if err != nil {
		return exchange.Failed, err
	}
	return x.finish(e)
}

// find finds the pieces of names: in the cache, or by one request to the origin for those that no
// other request is fetching. It reports whether each name has a piece now, or is absent.
func (x *iconData) find(names []string) bool {
	var missing, stale []string
	old := map[string]*cache.Entry{}
	for _, name := range names {
		if name != "" && x.h.Options.Library.Lacks(x.pack, name) {
			x.absent = append(x.absent, name)
			continue
		}
		key := routes.PieceKey(x.pack, name)
		e := x.h.Options.Cache.Get(key)
		if e == nil {
			e = x.h.Options.Library.Negative.Current().Find(key)
		}
		if e == nil {
			missing = append(missing, name)
			continue
		}
		switch cachepolicy.Decide(e.Freshness(), x.policy, x.now) {
		case cachepolicy.Fresh:
			x.found(name, e)
		case cachepolicy.StaleWhileRevalidate:
			x.found(name, e)
			old[name] = e
			stale = append(stale, name)
		default:
			old[name] = e
			missing = append(missing, name)
		}
	}
	if len(stale) > 0 {
		x.begin(stale, old)
	}
	if len(missing) == 0 {
		return true
	}
	if x.policy.Directives.OnlyIfCached {
		return false // serveCached refuses the request
	}
	return x.wait(missing, old)
}

// wait fetches the missing pieces and waits for them.
func (x *iconData) wait(missing []string, old map[string]*cache.Entry) bool {
	slot, err := x.h.Options.Origin.limiter.acquire(x.Conn, x.now)
	if err != nil {
		return false
	}
	defer x.h.Options.Origin.limiter.release(slot)
	deadline := x.now.Add(x.h.Options.WaitTimeout)
	for name, fetch := range x.begin(missing, old) {
		l := fetch.Wait(deadline.Sub(x.now), slot.clientGone)
		e := l.ForOthers()
		switch {
		case l.Err != nil && old[name] != nil && cachepolicy.MayServeStale(old[name].Freshness(), x.policy, failureOf(l.Err), x.now):
			e = old[name]
		case l.Err != nil:
			return false
		}
		x.fetched[name] = true
		x.found(name, e)
	}
	return true
}

// found records the piece of a name, or that there is none.
func (x *iconData) found(name string, e *cache.Entry) {
	if e.Status == http.StatusNotFound {
		x.absent = append(x.absent, name)
		return
	}
	x.entries[name] = e
}

// begin joins the fetches of pieces. Those that are not in flight go to the origin in one
// request.
func (x *iconData) begin(names []string, old map[string]*cache.Entry) map[string]*collapse.Fetch {
	b := &iconDataFetch{h: x.h, pack: x.pack, complete: make(chan struct{})}
	defer close(b.complete)
	fetches := map[string]*collapse.Fetch{}
	for _, name := range names {
		key := routes.PieceKey(x.pack, name)
		q := x.h.ownRequest(x.request, key)
		b.header, b.traced = q.header, q.traced
		fetch, began := x.h.join(q, old[name], key, x.now, b.fetch(name), false)
		if fetches[name] = fetch; began {
			b.names = append(b.names, name)
		}
	}
	if !slices.ContainsFunc(b.names, func(name string) bool { return name != "" }) {
		b.names = append(b.names, names[len(names)-1])
	}
	return fetches
}

// parents returns the parents of aliases among names that have no piece yet. It reports false for a
// chain of aliases that does not end.
func (x *iconData) parents(names []string) (wanted []string, ok bool) {
	for _, name := range names {
		e := x.entries[name]
		if name == "" || e == nil {
			continue
		}
		p, err := icondata.Stored(name, e.Identity().Body)
		if err != nil {
			return nil, false
		}
		if p.Parent == "" || x.entries[p.Parent] != nil || slices.Contains(wanted, p.Parent) {
			continue
		}
		if slices.Contains(x.absent, p.Parent) {
			return nil, false // the alias is of another release
		}
		wanted = append(wanted, p.Parent)
	}
	return wanted, true
}

// oneRelease reports whether all pieces are valid in one release. A piece that the edge keeps for
// long is valid in the known release, because a newer one would have dropped it.
func (x *iconData) oneRelease() bool {
	other := ""
	for _, e := range x.entries {
		if storedBriefly(e) {
			other = e.Release
		}
	}
	if other == "" {
		return true
	}
	for _, e := range x.entries {
		if e.Release != other || !storedBriefly(e) {
			return false
		}
	}
	return true
}

// maxIconKeys is the number of surrogate keys of icons in one response. A response with more has
// that of the pack.
const maxIconKeys = 64

// join makes the response of the pieces.
func (x *iconData) join() (*cache.Entry, error) {
	head := x.entries[""]
	a := icondata.Answer{Head: head.Identity().Body, NotFound: x.absent}
	slices.Sort(a.NotFound)
	tags := sha256.New()
	oldest := head
	for _, name := range slices.Sorted(maps.Keys(x.entries)) {
		e := x.entries[name]
		e.Hit()
		tags.Write([]byte(e.Identity().ETag))
		if e.Freshness().TTL(x.now) < oldest.Freshness().TTL(x.now) {
			oldest = e
		}
		if name == "" {
			continue
		}
		p, err := icondata.Stored(name, e.Identity().Body)
		if err != nil {
			return nil, err
		}
		if v := e.Variant(entry.Gzip); v != nil {
			p.Deflated = v.Body
		}
		a.Pieces = append(a.Pieces, p)
	}
	for _, name := range a.NotFound {
		tags.Write([]byte("\x00" + name))
	}
	e := &cache.Entry{Key: x.target.Key, Status: http.StatusOK, ContentType: head.ContentType, Date: oldest.Date,
		FieldsWithBody: head.FieldsWithBody, Release: head.Release, Policy: oldest.Freshness()}
	for _, f := range head.Fields {
		switch {
		case string(f.Name) == "Surrogate-Key":
			f = field("Surrogate-Key", x.surrogateKeys())
		case string(f.Name) == "Cache-Control" && len(a.NotFound) > 0:
			f = field("Cache-Control", notFoundCached)
		}
		e.Fields = append(e.Fields, f)
	}
	tag := `"` + hex.EncodeToString(tags.Sum(nil)[:16]) + `"`
	e.SetIdentity(a.Join(make([]byte, 0, a.Len())), tag)
	if accept := joined(x.ctx, fasthttp.HeaderAcceptEncoding); strings.Contains(accept, "gzip") || strings.Contains(accept, "*") {
		e.Variants[entry.Gzip] = &entry.Variant{Body: a.JoinGzip(make([]byte, 0, a.Len()/2)), ETag: entry.Suffixed(tag, entry.Gzip.String())}
	}
	return e, nil
}

// notFoundCached is the Cache-Control of a response that lacks a requested icon, because the icon
// may be published soon.
const notFoundCached = "public, max-age=300"

// surrogateKeys returns the keys of a response, by which tiers after this one can purge it.
func (x *iconData) surrogateKeys() string {
	keys := []string{"pack/" + x.pack}
	if len(x.entries) <= maxIconKeys {
		for _, name := range slices.Sorted(maps.Keys(x.entries)) {
			if name != "" {
				keys = append(keys, "icon/"+x.pack+"/"+name)
			}
		}
	}
	return strings.Join(append(keys, "release/"+x.entries[""].Release), " ")
}

// finish writes the response.
func (x *iconData) finish(e *cache.Entry) (exchange.Outcome, error) {
	outcome := exchange.Hit
	x.status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: e.Freshness().TTL(x.now)}
	if len(x.fetched) > 0 {
		outcome, x.status = exchange.Miss, cachepolicy.CacheStatus{Forward: cachepolicy.ForwardURIMiss, Stored: true}
	}
	x.h.finish(x.request, found{entry: e, aged: len(x.fetched) == 0, outcome: outcome})
	return outcome, nil
}

// An iconDataFetch is one request to the origin for the pieces whose fetches have begun with it.
type iconDataFetch struct {
	h        *Proxy
	pack     string
	header   http.Header
	traced   *traced
	names    []string // complete when complete is closed
	complete chan struct{}
	once     sync.Once
	missing  *library.NegativeTable // of the time before the request
	pieces   map[string]collapse.Result
	err      error
}

// fetch returns the fetch of one piece. The first of them to run sends the request.
func (b *iconDataFetch) fetch(name string) fetchFunc {
	return func(q *fetchRequest, _ *cache.Entry) collapse.Result {
		<-b.complete
		b.once.Do(b.load)
		if l, ok := b.pieces[name]; ok || b.err != nil {
			l.Err = b.err
			return l
		}
		return b.absent(q.key)
	}
}

// absent returns the result for a name that the pack does not have, and remembers it for as long as
// another 404.
func (b *iconDataFetch) absent(key string) collapse.Result {
	now := time.Now()
	e := &cache.Entry{Key: key, Status: http.StatusNotFound, Policy: cachepolicy.Entry{Stored: now, Lifetime: clientErrors}}
	e.SetIdentity(nil, "")
	b.missing.Put(e)
	return collapse.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}}
}

// load sends the request and stores the pieces of its response.
func (b *iconDataFetch) load() {
	asked := b.h.Options.Cache.Generation()
	b.missing = b.h.Options.Library.Negative.Current()
	names := slices.DeleteFunc(slices.Clone(b.names), func(name string) bool { return name == "" })
	slices.Sort(names)
	a, err := b.h.Options.Origin.roundTrip(b.traced, upstream.Request{Method: http.MethodGet, Target: iconify.Mount + "/" + b.pack + ".json?icons=" + strings.Join(names, ","),
		Header: b.header, SendTierSecret: b.h.Options.Library.MayGetSecret(true), StrictLength: true, TryNextGroup: true})
	if b.err = err; err != nil {
		return
	}
	if a.Status != http.StatusOK {
		a.Body.Close()
		b.err = failed(a)
		return
	}
	body, err := a.Whole(maxOwn)
	if b.err = err; err != nil {
		return
	}
	answer, err := icondata.Split(body)
	if b.err = err; err != nil {
		return
	}
	b.pieces = map[string]collapse.Result{"": b.store(a, "", answer.Head, nil, asked)}
	for _, p := range answer.Pieces {
		b.pieces[p.Name] = b.store(a, p.Name, p.Body(), icondata.Deflate(p.Member), asked)
	}
}

// store stores one piece of a response.
func (b *iconDataFetch) store(a *upstream.Response, name string, body, deflated []byte, asked cache.Generation) collapse.Result {
	one := *a
	one.Header = a.Header.Clone()
	one.Header.Del("Etag")
	release := a.Header.Get(icon.FieldRelease)
	keys := icon.LibraryKey + " pack/" + b.pack // each release drops a head, for its lastModified
	if name != "" {
		keys = "icon/" + b.pack + "/" + name + " pack/" + b.pack + " release/" + release
	}
	one.Header.Set("Surrogate-Key", keys)
	e := newOwn(routes.PieceKey(b.pack, name), &one, body)
	e.DisableCodings()
	if deflated != nil {
		e.Variants[entry.Gzip] = &entry.Variant{Body: deflated}
	}
	q := &fetchRequest{key: e.Key, own: true, policy: cachepolicy.Request{Method: http.MethodGet, Target: e.Key}}
	return b.h.store(q, e, cachepolicy.SharingOf(q.policy, a.Status, one.Header, a.ResponseTime), asked)
}
