// Package iconset answers requests for Iconify's icon data, from cached pieces: it finds the
// pieces, fetches the missing ones together, and joins them in the form of the request.
package iconset

import (
	"math/rand/v2"
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
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/coding"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/own"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
)

// The edge caches Iconify's icon data in pieces: one entry for each name of a pack, and one for the
// head of the pack, whose name is empty. It answers requests for data, scripts and stylesheets from
// them.

// An Answerer answers requests for Iconify's icon data.
type Answerer struct {
	WaitTimeout time.Duration
	Clock       clock.Clock
	Cache       *cache.Cache
	Library     *library.Library
	Origin      *fetch.Fetcher
	Doors       *fetch.Doorkeeper
	Joined      *cache.Share // responses joined from pieces of icon data
	Pieces      *pieces.Table
	Compressor  *compress.Compressor
	Finder      *fetch.Finder
	Writer      *pipeline.Writer
	Own         *own.Answerer
}

// An iconData is the record of one such request. Each step fills it for the steps after it.
type iconData struct {
	*pipeline.Request
	h      *Answerer
	want   *iconify.Request
	pack   string
	asked  cache.Generation // before any piece was looked up
	policy cachepolicy.Request
	pieces.Response
	fetched bool // some pieces were not stored
	again   bool // the response is requested again, and will be stored whole
}

// Answer answers a request for the icons of a pack from a stored response, or from cached
// pieces. One request to the origin fetches the missing ones. It leaves a request to package own
// that the pieces can't answer: their response would mix releases, the pack is unknown, or the
// origin has failed.
func (h *Answerer) Answer(r *pipeline.Request, ep *routes.Endpoint) (exchange.Outcome, error) {
	release := h.Library.Known()
	if release == "" {
		return h.Own.ServeCached(r, ep)
	}
	x := iconData{Request: r, h: h, want: r.Target.Icons, pack: r.Target.Icons.Prefix, asked: h.Cache.Generation(),
		policy: h.Finder.OwnRequest(r, r.Target.Key).Policy}
	if e := h.Cache.Get(r.Target.Key); e != nil && cachepolicy.Decide(e.Freshness(), x.policy, r.Now) == cachepolicy.Fresh {
		if e.Variant(entry.Brotli) == nil && strings.Contains(pipeline.Field(r.Ctx, fasthttp.HeaderAcceptEncoding), "br") {
			h.Compressor.Want(e, entry.Brotli)
		}
		return h.Own.ServeCached(r, ep)
	}
	x.again = !x.Tier && len(x.want.Names) <= hit.MaxWhole && h.Doors.Again(string(r.Ctx.RequestURI()))
	if !x.collect() || release != h.Library.Known() {
		return h.Own.ServeCached(r, ep)
	}
	e, err := x.join()
	if err != nil {
		return h.Own.ServeCached(r, ep)
	}
	return x.finish(e)
}

// collect finds the pieces of the response. It reports false if they can't answer the request.
func (x *iconData) collect() bool {
	wanted := make([]string, 1, len(x.want.Names)+1) // the head first
	x.Pieces = make([]*pieces.Piece, 0, len(x.want.Names))
	for _, name := range x.want.Names {
		if icon.ValidKey(name) {
			wanted = append(wanted, name)
		} else {
			x.Absent = append(x.Absent, name)
		}
	}
	for len(wanted) > 0 {
		found := len(x.Pieces)
		if !x.find(wanted) {
			return false
		}
		var ok bool
		if wanted, ok = x.parents(x.Pieces[found:]); !ok {
			return false
		}
	}
	slices.Sort(x.Absent)
	x.Arrange()
	return x.oneRelease()
}

// find finds the pieces of names: in the cache, or by one request to the origin for those that no
// other request is fetching. It reports whether each name has a piece now, or is absent.
func (x *iconData) find(names []string) bool {
	var missing, stale []string
	var old map[string]*cache.Entry
	keep := func(name string, e *cache.Entry) {
		if old == nil {
			old = map[string]*cache.Entry{}
		}
		old[name] = e
	}
	negative, sampled := x.h.Library.Negative.Current(), rand.Uint32N(hit.PieceSample) == 0
	for _, name := range names {
		if p := x.h.Pieces.Find(x.pack, name, x.asked, x.Now); p != nil && !sampled && !p.IsPending() {
			x.add(name, p)
			continue
		}
		if name != "" && x.h.Library.Lacks(x.pack, name) {
			x.Absent = append(x.Absent, name)
			continue
		}
		key := routes.PieceKey(x.pack, name)
		e := x.h.Cache.Get(key)
		if e == nil {
			e = negative.Find(key)
		}
		if e == nil {
			missing = append(missing, name)
			continue
		}
		decision := cachepolicy.Decide(e.Freshness(), x.policy, x.Now)
		if decision != cachepolicy.Fresh {
			keep(name, e)
		}
		switch decision {
		case cachepolicy.StaleWhileRevalidate:
			stale = append(stale, name)
			fallthrough
		case cachepolicy.Fresh:
			p, ok := x.found(name, e)
			if !ok {
				return false
			}
			// Only an entry found after asked is known to be valid then.
			if p != nil && decision == cachepolicy.Fresh && e.ID != 0 && !p.Brief {
				x.h.keepPiece(p, e)
			}
		default:
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
		return false // package own refuses the request
	}
	return x.wait(missing, old)
}

// wait fetches the missing pieces and waits for them.
func (x *iconData) wait(missing []string, old map[string]*cache.Entry) bool {
	slot, err := x.h.Origin.Acquire(x.Conn, x.Now)
	if err != nil {
		return false
	}
	defer x.h.Origin.Release(slot)
	deadline := x.Now.Add(x.h.WaitTimeout)
	x.fetched = true
	for name, joined := range x.begin(missing, old) {
		l := joined.Wait(deadline.Sub(x.Now), slot.ClientGone)
		e := l.ForOthers()
		switch {
		case l.Err != nil && old[name] != nil && cachepolicy.MayServeStale(old[name].Freshness(), x.policy, fetch.FailureOf(l.Err), x.Now):
			e = old[name]
		case l.Err != nil, x.h.Cache.InvalidatedSince(joined, e, x.asked):
			return false
		}
		if x.h.Cache.InvalidatedSince(joined, e, x.asked) {
			return false
		}
		if _, ok := x.found(name, e); !ok {
			return false
		}
	}
	return true
}

// found records the piece of a name, or that there is none. It reports false for an entry that is
// no piece.
func (x *iconData) found(name string, e *cache.Entry) (*pieces.Piece, bool) {
	switch {
	case e.Status == http.StatusNotFound && name == "":
		return nil, false
	case e.Status == http.StatusNotFound:
		x.Absent = append(x.Absent, name)
		return nil, true
	}
	p, err := pieces.New(x.pack, name, e, x.asked, x.Now)
	if err != nil {
		return nil, false
	}
	e.Hit()
	p.Brief = pipeline.StoredBriefly(e)
	x.add(name, p)
	return p, true
}

// add records a piece.
func (x *iconData) add(name string, p *pieces.Piece) {
	if name == "" {
		x.Head = p
	} else {
		x.Pieces = append(x.Pieces, p)
	}
}

// keepPiece stores a piece in the table of those that were looked up lately, and has it deflated.
func (h *Answerer) keepPiece(p *pieces.Piece, e *cache.Entry) {
	if p.Head != nil {
		p.Lines, p.Dated = commonLines(e)
	}
	h.Pieces.Put(p)
	if p.IsPending() {
		h.Compressor.WantAs(e, entry.Gzip, func() []byte {
			deflated := icondata.Deflate(p.Member())
			h.Pieces.Replace(p, deflated)
			return deflated
		})
	}
}

// commonLines returns the fields of the head of a pack, as Prebuild does, without those that each
// response has for itself; nil, if it has others of these than all heads. dated means that a
// response has Last-Modified.
func commonLines(e *cache.Entry) (lines *cache.Head, dated bool) {
	var own []string
	for _, f := range slices.Concat(e.Fields, e.FieldsWithBody) {
		if respond.IsOwn(f.Name) {
			own = append(own, string(f.Name))
		}
	}
	switch strings.Join(own, " ") {
	case "Surrogate-Key":
	case "Surrogate-Key Last-Modified":
		dated = true
	default:
		return nil, false
	}
	part := func(p respond.Part) []byte { return respond.AppendPart(nil, p, e, nil, false) }
	return &cache.Head{Type: part(respond.PartType), Always: part(respond.PartAlways),
		WithBody: part(respond.PartWithBody), Paint: int32(icon.NoPaint)}, dated
}

// begin joins the fetches of pieces. Those that are not in flight go to the origin in one
// request.
func (x *iconData) begin(names []string, old map[string]*cache.Entry) map[string]*collapse.Fetch {
	one := x.h.Finder.OwnRequest(x.Request, x.Target.Key)
	b := &iconDataFetch{h: x.h, pack: x.pack, header: one.Header, traced: one.Traced, complete: make(chan struct{})}
	defer close(b.complete)
	fetches := make(map[string]*collapse.Fetch, len(names))
	for _, name := range names {
		key, q := routes.PieceKey(x.pack, name), *one
		q.Key, q.Target, q.Policy.Target = key, key, key
		joined, began := x.h.Finder.Join(fetch.Call{Request: &q, Stale: old[name], Key: key, Came: x.asked, Now: x.Now, Ask: b.fetch(name)})
		if fetches[name] = joined; began {
			b.names = append(b.names, name)
		}
	}
	if !slices.ContainsFunc(b.names, func(name string) bool { return name != "" }) {
		b.names = append(b.names, names[len(names)-1])
	}
	return fetches
}

// parents returns the parents of aliases among newly found pieces that have no piece yet. It
// reports false for an alias whose parent is absent: it is of another release.
func (x *iconData) parents(found []*pieces.Piece) (wanted []string, ok bool) {
	var known map[string]bool
	for _, p := range found {
		if p.Parent == "" {
			continue
		}
		if known == nil {
			known = make(map[string]bool, len(x.Pieces))
			for _, other := range x.Pieces {
				known[other.Name] = true
			}
		}
		if known[p.Parent] {
			continue
		}
		if slices.Contains(x.Absent, p.Parent) {
			return nil, false
		}
		known[p.Parent] = true
		wanted = append(wanted, p.Parent)
	}
	return wanted, true
}

// oneRelease reports whether all pieces are valid in one release. A piece that the edge keeps for
// long is valid in the known release, because a newer one would have dropped it.
func (x *iconData) oneRelease() bool {
	if !x.Head.Brief && !slices.ContainsFunc(x.Pieces, func(p *pieces.Piece) bool { return p.Brief }) {
		return true
	}
	for _, p := range x.Pieces {
		if !p.Brief || p.Release != x.Head.Release {
			return false
		}
	}
	return x.Head.Brief
}

// join makes the response of the pieces.
func (x *iconData) join() (*cache.Entry, error) {
	a, err := x.Answer()
	if err != nil {
		return nil, err
	}
	head, oldest := x.Head.Head, x.Oldest()
	modified := x.Newest().Modified
	// The time of other icons says nothing about a missing one, which the next release may have, or
	// which is withdrawn. A tier takes it as that of the icons that are found.
	dated := len(a.NotFound) == 0 || x.Tier
	if !dated {
		modified = time.Time{}
	}
	e := &cache.Entry{Key: x.Target.Key, Status: http.StatusOK, ContentType: head.ContentType, Date: oldest.Date,
		LastModified: modified, Release: head.Release, Policy: oldest.Freshness}
	if err := x.write(e, a); err != nil {
		return nil, err
	}
	for _, f := range head.Fields {
		switch {
		case string(f.Name) == "Surrogate-Key":
			f.Value = x.AppendKeys(nil)
		case string(f.Name) == "Cache-Control" && len(a.NotFound) > 0:
			if x.Tier { // the edge behind this one stores the icons that are found
				e.Fields = append(e.Fields, cache.Field{Name: []byte(cachepolicy.OurField), Value: f.Value})
			}
			f = respond.NewField("Cache-Control", notFoundCached)
		}
		e.Fields = append(e.Fields, f)
	}
	for _, f := range head.FieldsWithBody {
		if string(f.Name) == "Last-Modified" {
			if !dated {
				continue
			}
			f = cache.Field{Name: f.Name, Value: fetch.HTTPDate(modified)}
		}
		e.FieldsWithBody = append(e.FieldsWithBody, f)
	}
	if x.want.Variant.Download {
		e.FieldsWithBody = append(e.FieldsWithBody, respond.NewField("Content-Disposition", `attachment; filename="`+x.pack+`.css"`))
	}
	return e, nil
}

// write writes the body of e in the form of the request, and in gzip if the client accepts that.
func (x *iconData) write(e *cache.Entry, a *icondata.Answer) error {
	var body []byte
	form := "" // the pieces are those of other responses too
	coded := func() []byte { return coding.Encode(entry.Gzip, body) }
	if x.want.Kind == iconify.Stylesheet {
		for _, p := range x.Pieces {
			a.Pieces = append(a.Pieces, p.Data())
		}
		css, err := a.Stylesheet(x.pack, x.want.Style, x.want.Names)
		if err != nil {
			return err
		}
		body, e.ContentType = []byte(css), typeCSS
	} else {
		if !x.want.Info {
			a.Info = nil
		} else if a.Info == nil {
			return icondata.ErrForm
		}
		if a.Callback = x.want.Callback; a.Callback != "" {
			e.ContentType = typeScript
		}
		x.again = x.again && a.IsDeflated()
		if x.want.Pretty {
			body = a.Indented()
		} else {
			body = a.Join(make([]byte, 0, a.Len()))
			coded = func() []byte {
				if n := a.GzipLen(); a.IsDeflated() && n < len(body) {
					return a.JoinGzip(make([]byte, 0, n))
				}
				// Some pieces are not deflated yet, or the join is longer. The whole response has
				// other bytes than a join of the pieces, and so another entity tag. It is stored
				// too: clients that have had it so would otherwise get more bytes from then on.
				whole := coding.Encode(entry.Gzip, body)
				if len(whole) >= len(body) {
					return nil
				}
				form += notJoined
				return whole
			}
		}
	}
	if x.want.Kind != iconify.Data || x.want.Info || x.want.Pretty {
		form = x.Target.Key
	}
	var zipped []byte
	if accept := pipeline.Field(x.Ctx, fasthttp.HeaderAcceptEncoding); x.again ||
		accept != "" && entry.Select(accept, cachepolicy.Gzip) == entry.Gzip {
		zipped = coded()
	}
	e.SetIdentity(body, string(x.Tag(form)))
	if zipped != nil {
		e.SetCoded(entry.Gzip, zipped)
	}
	return nil
}

// notJoined is the form of a response whose body in gzip is not joined.
const notJoined = "gzip"

// Media types of what the edge makes of icon data.
var (
	typeCSS    = []byte("text/css; charset=utf-8")
	typeScript = []byte("application/javascript")
)

// notFoundCached is the Cache-Control of a response that lacks a requested icon, because the icon
// may be published soon.
const notFoundCached = "public, max-age=300"

// finish writes the response.
func (x *iconData) finish(e *cache.Entry) (exchange.Outcome, error) {
	outcome := exchange.Hit
	x.Status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: e.Freshness().TTL(x.Now)}
	if x.fetched {
		outcome, x.Status = exchange.Miss, cachepolicy.CacheStatus{Forward: cachepolicy.ForwardURIMiss, Stored: true}
	}
	if x.again && !x.fetched && e.Freshness().Fresh(x.Now) && !pipeline.StoredBriefly(e) {
		x.keep(e)
	}
	x.h.Writer.Finish(x.Request, pipeline.Response{Entry: e, Aged: !x.fetched, Outcome: outcome})
	return outcome, nil
}

// keep stores a whole response, until an icon of it is purged, or any release comes. Brotli, which
// can't be joined, is made in the background when a client gets the stored response.
func (x *iconData) keep(e *cache.Entry) {
	e.Tags = append(e.Tags, icon.LibraryKey, "pack/"+x.pack, "release/"+x.Head.Release)
	for _, p := range x.Pieces {
		e.Tags = append(e.Tags, "icon/"+x.pack+"/"+p.Name)
	}
	for _, name := range x.Absent {
		if icon.ValidKey(name) {
			e.Tags = append(e.Tags, "icon/"+x.pack+"/"+name)
		}
	}
	respond.Prebuild(e)
	if x.h.Joined.Put(e, x.asked) && !x.Mounted {
		x.h.Own.RememberTarget(x.Request)
	}
}

// An iconDataFetch is one request to the origin for the pieces whose fetches have begun with it.
type iconDataFetch struct {
	h        *Answerer
	pack     string
	header   http.Header
	traced   *pipeline.Traced
	names    []string // complete when complete is closed
	complete chan struct{}
	once     sync.Once
	missing  *library.NegativeTable // of the time before the request
	pieces   map[string]collapse.Result
	err      error
}

// fetch returns the fetch of one piece. The first of them to run sends the request.
func (b *iconDataFetch) fetch(name string) fetch.Func {
	return func(q *fetch.Request, _ *cache.Entry) collapse.Result {
		<-b.complete
		b.once.Do(b.load)
		if l, ok := b.pieces[name]; ok || b.err != nil {
			l.Err = b.err
			return l
		}
		return b.absent(q.Key)
	}
}

// absent returns the result for a name that the pack does not have, and remembers it for as long as
// another 404.
func (b *iconDataFetch) absent(key string) collapse.Result {
	now := b.h.Clock.Now()
	e := &cache.Entry{Key: key, Status: http.StatusNotFound, Policy: cachepolicy.Entry{Stored: now, Lifetime: fetch.ClientErrors}}
	e.SetIdentity(nil, "")
	b.missing.Put(e)
	return collapse.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}}
}

// load sends the request and stores the pieces of its response. It sends a second one if the
// address would be longer than another tier accepts.
func (b *iconDataFetch) load() {
	b.missing, b.pieces = b.h.Library.Negative.Current(), map[string]collapse.Result{}
	names := slices.DeleteFunc(slices.Clone(b.names), func(name string) bool { return name == "" })
	slices.Sort(names)
	if length := len(strings.Join(names, ",")); length > longNames {
		half := len(names) / 2
		b.loadPart(names[:half])
		names = names[half:]
	}
	if b.err == nil {
		b.loadPart(names)
	}
}

// longNames is the length of names, in bytes, that fit into an address of 8 KiB beside a prefix and
// parameters.
const longNames = 8<<10 - 200

// loadPart sends a request for some of the pieces.
func (b *iconDataFetch) loadPart(names []string) {
	asked := b.h.Cache.Generation()
	a, err := b.h.Origin.RoundTrip(b.traced, upstream.Request{Method: http.MethodGet,
		Target: iconify.Mount + "/" + b.pack + ".json?icons=" + strings.Join(names, ",") + "&info=1",
		Header: b.header, SendTierSecret: b.h.Library.MayGetSecret(true), StrictLength: true, TryNextGroup: true})
	if b.err = err; err != nil {
		return
	}
	if a.Status != http.StatusOK {
		a.Body.Close()
		b.err = fetch.Failed(a)
		return
	}
	body, err := a.Whole(fetch.MaxOwn)
	if b.err = err; err != nil {
		return
	}
	answer, err := icondata.Split(body)
	if b.err = err; err != nil {
		return
	}
	head := b.head(a, answer.HeadBody())
	b.pieces[""] = head.stored(b.h, head.entry, asked)
	for _, p := range answer.Pieces {
		b.pieces[p.Name] = head.stored(b.h, head.piece(b.pack, p), asked)
	}
}

// A fetchedHead is the entry of the head of a pack, and the properties that the pieces of the same
// response have in common with it.
type fetchedHead struct {
	entry   *cache.Entry
	sharing cachepolicy.Sharing
}

// head makes the entry for the head of a response.
func (b *iconDataFetch) head(a *upstream.Response, body []byte) *fetchedHead {
	one := *a
	one.Header = a.Header.Clone()
	one.Header.Del("Etag")
	// The response may lack other icons, and be cached shortly because of them.
	if v := one.Header.Get(cachepolicy.OurField); v != "" {
		one.Header.Set("Cache-Control", v)
	}
	// Each release drops a head, because of its lastModified.
	one.Header.Set("Surrogate-Key", icon.LibraryKey+" pack/"+b.pack)
	e := fetch.NewOwn(routes.PieceKey(b.pack, ""), &one, body, nil)
	e.DisableCodings()
	return &fetchedHead{e, cachepolicy.SharingOf(cachepolicy.Request{Method: http.MethodGet, Target: e.Key}, a.Status,
		one.Header, a.ResponseTime)}
}

// piece makes the entry for another piece of the response. It has no fields, because responses have
// those of the head. It is deflated when it is used again.
func (f *fetchedHead) piece(pack string, p *icondata.Piece) *cache.Entry {
	of := f.entry
	e := &cache.Entry{Key: routes.PieceKey(pack, p.Name), Status: of.Status, ContentType: of.ContentType,
		Date: of.Date, LastModified: of.LastModified, Release: of.Release, Policy: of.Policy,
		Tags: []string{"icon/" + pack + "/" + p.Name, "pack/" + pack, "release/" + of.Release}}
	body := p.Body()
	e.SetIdentity(body, fetch.EntityTag("", body))
	e.DisableCodings()
	return e
}

// stored stores an entry, if the response may be stored, and returns the result of its fetch.
func (f *fetchedHead) stored(h *Answerer, e *cache.Entry, asked cache.Generation) collapse.Result {
	return h.Finder.StoreEntry(&fetch.Request{Key: e.Key,
		Policy: cachepolicy.Request{Method: http.MethodGet, Target: e.Key}}, e, f.sharing, asked)
}
