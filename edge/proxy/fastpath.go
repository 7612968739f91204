package proxy

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// maxPrebuilt is the length in bytes up to which a body is written in one piece with its head.
const maxPrebuilt = 32 << 10

// maxTaken is the length in bytes up to which an event loop writes a body itself, from the cache.
const maxTaken = 256 << 10

// A fastHit is a hit on the fast path: the fresh entry that answers a request, and the response,
// which is a 200 with the whole body or a 304.
type fastHit struct {
	view   cache.View
	site   *current
	target parsedTarget
	hex    [len("#rrggbb")]byte // the colour, if parsedTarget has read it; 0: that of target
	age    time.Duration
	ttl    time.Duration // remaining freshness lifetime
	status int
	body   []byte
	apart  bool // the body does not follow the head
	coding entry.Coding
	// lacksBrotli: the client would get brotli, if the entry had it.
	lacksBrotli bool

	count access.Count // the limit that counted the request
}

// lookupFast looks a request up on the fast path. Its response is, byte for byte, the one that the
// pipeline in serve.go would give; lookupFast is not ok where it cannot be sure of that, and the
// caller then uses the pipeline. If it is ok, the caller must release m.
func (h *Proxy) lookupFast(m *fastHit, q *eligible.Request) (ok bool) {
	sites := h.current.Load()
	if h.Options.Redirect != "" && !q.Secure || q.Tier || sites.Icons == nil || h.namesOtherHost(sites, q) {
		return false
	}
	if m.target, ok = h.parsedTarget(q.Target, &m.hex); !ok || !sites.seenHosts.has(q.Host) || m.target.route.OfSite() && !sites.Icons.Pages || m.target.route.OfIconify() && !sites.Icons.Iconify {
		return false
	}
	if !sites.spares(q.Target) || !h.Options.Cache.View(m.target.key, &m.view) {
		return false
	}
	m.site = sites
	if h.choose(m, q) && (h.Options.Reports.Tracer == nil || !h.sampleTrace(q)) {
		if m.count, ok = h.Options.Admission.AdmitFast(q, h.Options.Clock.At(q.Now), m.target.route.Class()); ok {
			m.lacksBrotli = mayGetBrotli(m.view.Hit()) && m.lacksBrotli
			return true
		}
	}
	m.view.Release()
	return false
}

// namesOtherHost reports whether a trusted proxy may name another host than the request itself, and
// with it another site.
func (h *Proxy) namesOtherHost(sites *current, q *eligible.Request) bool {
	if !q.ForwardedHost || sites.Only() != nil || !h.Options.Clients.Trusts(q.Client) {
		return false
	}
	return q.Fields.Line("forwarded", 0) != nil || slices.ContainsFunc(q.Lines("x-forwarded-host"), func(host []byte) bool {
		return !bytes.EqualFold(host, q.Host)
	})
}

// choose selects the status, coding and body that the client gets from a fresh entry. It reports
// false where the pipeline has to decide.
func (h *Proxy) choose(m *fastHit, q *eligible.Request) bool {
	v, color := &m.view, m.color()
	var fresh bool
	if m.age, m.ttl, fresh = v.Fresh(h.Options.Clock.At(q.Now)); !fresh {
		return false
	}
	m.coding = entry.Identity
	if color == "" {
		m.coding, m.lacksBrotli = h.codings.choose(v, q.AcceptEncoding)
	} else if v.Head().ColourUses < 0 {
		return false
	}
	m.body, m.status = v.Body(m.coding), http.StatusOK
	if q.IfNoneMatch != nil {
		same, sure := sameTag(q.IfNoneMatch, v.ETag(m.coding), color)
		if !sure {
			return false
		}
		if same {
			m.status = http.StatusNotModified
		} else if m.coding == entry.Brotli && bytes.HasSuffix(q.IfNoneMatch, gzipTagEnd) {
			return false // the client has gzip, from before brotli was made
		}
	}
	// A longer body than a slot's has memory of its own, which stays valid after the View.
	m.apart = len(m.body) > maxPrebuilt && m.status == http.StatusOK && color == "" && q.TakesBody
	return len(m.body) <= maxPrebuilt || m.apart && len(m.body) <= maxTaken
}

// Answer appends the response to an HTTP/1.1 request on the fast path. It is not ok if the request
// needs the pipeline.
func (h *Proxy) Answer(dst []byte, q *eligible.Request) ([]byte, bool) {
	var m fastHit
	if h.draining.Load() {
		return dst, false
	}
	if !h.lookupFast(&m, q) {
		return h.answerJoined(dst, q, m.target.raw != "")
	}
	defer h.release(&m)
	dst, body := h.appendAnswer(dst, &m, q)
	h.Options.Metrics.Hit(exchange.H1, m.target.route, m.status, q.Now, body)
	m.site.hit.Count(m.status)
	h.Options.Reports.LogHit(m.site.Icons.Name, exchange.H1, m.target.route, m.status, q, body)
	return dst, true
}

// appendAnswer appends the whole response, without a body that is apart, and returns how many bytes
// its body has.
func (h *Proxy) appendAnswer(dst []byte, m *fastHit, q *eligible.Request) (out []byte, body int) {
	status := "HTTP/1.1 200 OK\r\n"
	if m.status != http.StatusOK {
		status = "HTTP/1.1 304 Not Modified\r\n"
	}
	w := headWriter{head: m.view.Head()}
	dst = append(h.appendHead(append(dst, status...), &w, m, q), "\r\n"...)
	if m.apart {
		q.Body = m.body
		return dst, len(m.body)
	}
	out = m.appendBody(dst)
	return out, len(out) - len(dst)
}

// appendHead appends the fields of the response.
func (h *Proxy) appendHead(dst []byte, w *headWriter, m *fastHit, q *eligible.Request) []byte {
	var t head
	t.bodyless = m.status != http.StatusOK
	t.coding, t.ranges = m.coding, m.coding == entry.Identity
	t.etag, t.color = m.view.ETag(m.coding), m.color()
	t.aged, t.age = true, m.age
	t.status.Hit, t.status.HasTTL, t.status.TTL = true, true, m.ttl
	t.count = &m.count
	if !t.bodyless {
		t.length = m.length()
	}
	if q.Secure {
		t.altSvc = h.Options.AltSvc
	}
	return w.append(dst, &t)
}

// gzipTagEnd is the end of the entity tags of bodies in gzip.
var gzipTagEnd = []byte("-" + cachepolicy.Gzip + `"`)

// length returns the length of the body after any colouring.
func (m *fastHit) length() int {
	if c := m.color(); c != "" {
		return icon.RecolouredLen(len(m.body), m.view.Head().ColourUses, c)
	}
	return len(m.body)
}

// color returns the colour of the response; empty: that of the icon. It is valid as long as m.
func (m *fastHit) color() icon.Color {
	if m.hex[0] != 0 {
		return icon.Color(unsafe.String(&m.hex[0], len(m.hex)))
	}
	return m.target.color
}

// appendBody appends the body, if the response has one.
func (m *fastHit) appendBody(dst []byte) []byte {
	switch {
	case m.status != http.StatusOK:
		return dst
	case m.color() != "":
		return icon.AppendRecoloured(dst, m.body, m.view.Head().ColourUses, m.color())
	}
	return append(dst, m.body...)
}

// sameTag compares an If-None-Match field of one entity tag with the tag of the response. It is not
// sure if the field has any other form.
func sameTag(field, etag []byte, color icon.Color) (same, sure bool) {
	field = bytes.TrimPrefix(field, []byte("W/")) // the weak comparison (RFC 9110, section 13.1.2)
	if n := len(field); n < 2 || field[0] != '"' || bytes.IndexByte(field[1:], '"') != n-2 {
		return false, false
	}
	if color == "" {
		return bytes.Equal(field, etag), true
	}
	stem, ok := bytes.CutSuffix(field[:len(field)-1], []byte(color[1:]))
	return ok && len(stem) == len(etag) && stem[len(stem)-1] == '-' && bytes.Equal(stem[:len(stem)-1], etag[:len(etag)-1]), true
}

// A parsedTarget is the parsed form of a target in the spelling of a client.
type parsedTarget struct {
	raw   string
	key   string
	color icon.Color
	route routes.Route
}

// parsedTargets hold recent targets with a query that the pipeline has parsed. A new target
// replaces the one with the same hash.
type parsedTargets [1 << 14]atomic.Pointer[parsedTarget]

// parsedTarget returns the parsed form of a target; it is not ok if the pipeline has to parse it. A
// path without a query is its own cache key: if it is malformed, no entry is stored under it. So is
// the path of an icon in a colour of hexadecimal digits, which is then in hex.
func (h *Proxy) parsedTarget(target []byte, hex *[7]byte) (t parsedTarget, ok bool) {
	at := bytes.IndexByte(target, '?')
	if at < 0 {
		key := unsafe.String(unsafe.SliceData(target), len(target)) // valid during the request only
		route, ok := routes.FastRoute(key)
		return parsedTarget{key: key, route: route}, ok
	}
	if digits, given := bytes.CutPrefix(target[at:], colourQuery); given {
		if _, ok = icon.AppendHexColor(hex[:0], bytes.TrimPrefix(digits, escapedHash)); ok {
			key := unsafe.String(unsafe.SliceData(target), at) // as above
			if isPlainIcon(key) {
				return parsedTarget{key: key, route: routes.CDN}, true
			}
		}
		*hex = [7]byte{}
	}
	if known := recent.Slot(h.targets[:], target).Load(); known != nil && known.raw == string(target) {
		return *known, true
	}
	return t, false
}

var (
	colourQuery = []byte("?color=")
	escapedHash = []byte("%23")
)

// rememberTarget stores the parsed form of a target for the fast path.
func (h *Proxy) rememberTarget(r *request) {
	t, raw := r.target, r.ctx.RequestURI()
	if !r.ctx.IsGet() || len(raw) == 0 || raw[0] != '/' || bytes.IndexByte(raw, '?') < 0 {
		return
	}
	at := recent.Slot(h.targets[:], raw)
	if known := at.Load(); known == nil || known.raw != string(raw) {
		at.Store(&parsedTarget{raw: string(raw), key: t.Key, color: t.Color, route: r.route})
	}
}

// knownHosts hold recent values of Host that the edge serves.
type knownHosts [16]atomic.Pointer[string]

func (k *knownHosts) has(host []byte) bool {
	known := recent.Slot(k[:], host).Load()
	return known != nil && *known == string(host)
}

func (k *knownHosts) add(host []byte) {
	if !k.has(host) {
		text := string(host)
		recent.Slot(k[:], host).Store(&text)
	}
}

// codings hold recent values of Accept-Encoding, with the coding that each selects from every set
// of stored codings.
type codings [64]atomic.Pointer[choice]

type choice struct {
	field string
	of    [4]entry.Coding // by the stored codings besides identity: 1 gzip, 2 br
}

// choose returns the coding that a client gets, and whether it would get brotli if that were made.
func (c *codings) choose(v *cache.View, field []byte) (coding entry.Coding, wanted bool) {
	if len(field) == 0 {
		return entry.Identity, false
	}
	known, have := c.of(field), 0
	if v.Has(entry.Gzip) {
		have |= 1
	}
	if v.Has(entry.Brotli) {
		have |= 2
	}
	coding = known.of[have]
	return coding, coding != entry.Brotli && known.of[3] == entry.Brotli
}

// of returns the choices of an Accept-Encoding.
func (c *codings) of(field []byte) *choice {
	at := recent.Slot(c[:], field)
	known := at.Load()
	if known == nil || known.field != string(field) {
		known = newChoice(string(field))
		at.Store(known)
	}
	return known
}

// mayGetBrotli reports whether the nth use of a response is one at which it may get brotli. Not
// each use is, because brotli may not be smaller.
func mayGetBrotli(n uint64) bool { return n >= brotliHits && n&(n-1) == 0 }

// release ends the use of an entry, and has brotli made of it if that is due.
func (h *Proxy) release(m *fastHit) {
	m.view.Release()
	if !m.lacksBrotli {
		return
	}
	if e := h.Options.Cache.Get(m.target.key); e != nil {
		h.compressor.WantSmaller(e, entry.Brotli)
	}
}

func newChoice(field string) *choice {
	c := &choice{field: strings.Clone(field)}
	for have := range c.of {
		var names []string
		if have&1 != 0 {
			names = append(names, cachepolicy.Gzip)
		}
		if have&2 != 0 {
			names = append(names, cachepolicy.Brotli)
		}
		switch cachepolicy.Encoding(field, names...) {
		case cachepolicy.Gzip:
			c.of[have] = entry.Gzip
		case cachepolicy.Brotli:
			c.of[have] = entry.Brotli
		}
	}
	return c
}

// Restored serialises the head of an entry that was read from disk, because the disk does not store
// heads.
func Restored(e *cache.Entry) {
	if _, own := routes.Canonical(e.Key); own {
		serialise(e)
	}
}

// serialise prepares the response head of an entry on one of the edge's own routes for the fast
// path. The cache interns the parts that entries share.
func serialise(e *cache.Entry) {
	if e.Status != fasthttp.StatusOK || e.Identity() == nil || e.Identity().ETag == "" || len(e.Date) == 0 {
		return
	}
	part := func(p storedPart) []byte { return appendPart(nil, p, e, e.Date, false) }
	head := &cache.Head{Type: part(partType), Always: part(partAlways), WithBody: part(partWithBody), Own: part(partOwn), OwnBody: part(partOwnBody), ColourUses: colourUses(e)}
	e.Head = head
}

// colourUses returns the value of Head.ColourUses.
func colourUses(e *cache.Entry) int {
	if e.Monochrome == "?1" {
		return icon.Paints(e.Identity().Body)
	}
	return -1
}

// AnswerH2 does for HTTP/2 what Answer does for HTTP/1.1. It appends the same head, as a
// header block.
func (h *Proxy) AnswerH2(dst []byte, q *eligible.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	var m fastHit
	if !h.lookupFast(&m, q) {
		return h.answerJoinedH2(dst, q, known, m.target.raw != "")
	}
	defer h.release(&m)
	start := len(dst)
	w := headWriter{head: m.view.Head(), block: h.blocks.of(m.view.Head()), table: known}
	dst = h.appendHead(h2.AppendStatus(dst, m.status), &w, &m, q)
	block = len(dst) - start
	if m.status == http.StatusOK {
		dst = append(dst, make([]byte, h2.Gap)...)
	}
	body := len(dst)
	dst = m.appendBody(dst)
	h.Options.Metrics.Hit(exchange.H2, m.target.route, m.status, q.Now, len(dst)-body)
	m.site.hit.Count(m.status)
	h.Options.Reports.LogHit(m.site.Icons.Name, exchange.H2, m.target.route, m.status, q, len(dst)-body)
	return dst, block, true
}

// A fastJoin is a response on the fast path that is joined from pieces of icon data, as the
// pipeline in icondata.go does it.
type fastJoin struct {
	*pieces.Response
	site   *current
	answer *icondata.Answer
	oldest *pieces.Piece
	etag   []byte
	coding entry.Coding
	length int
	status int
	count  access.Count
}

// joinFast finds the pieces of a response on the fast path. It is not ok if the request is another
// one, or if one of them is missing, and the caller then uses the pipeline. If it is ok, the caller
// must put the response back. parsed means that the pipeline has parsed the target lately.
func (h *Proxy) joinFast(j *fastJoin, q *eligible.Request, parsed bool) (ok bool) {
	sites := h.current.Load()
	if !pieces.MayBeData(q.Target) || h.Options.Redirect != "" && !q.Secure || q.Tier || sites.Icons == nil || !sites.Icons.Iconify || h.Options.Library.Known() == "" || h.namesOtherHost(sites, q) {
		return false
	}
	mounted := sites.seenMounts.has(q.Host)
	if !mounted && !sites.seenHosts.has(q.Host) || !sites.spares(q.Target) {
		return false
	}
	j.site = sites
	sum, again := h.mayStoreWhole(q.Target, parsed)
	if again {
		return false
	}
	j.Response = pieces.Responses.Get().(*pieces.Response)
	at, now := h.Options.Cache.Generation(), h.Options.Clock.At(q.Now)
	if h.pieces.Lookup(j.Response, q.Target, mounted, at, now) && h.chooseJoined(j, q) && (h.Options.Reports.Tracer == nil || !h.sampleTrace(q)) {
		if j.count, ok = h.Options.Admission.AdmitFast(q, now, routes.Iconify.Class()); ok {
			h.noteJoined(j, sum)
			return true
		}
	}
	pieces.Responses.Put(j.Response)
	return false
}

// chooseJoined selects the status, coding and body. It reports false where the pipeline has to
// decide.
func (h *Proxy) chooseJoined(j *fastJoin, q *eligible.Request) bool {
	var err error
	if j.answer, err = j.Answer(); err != nil {
		return false
	}
	j.answer.Info = nil
	j.oldest, j.etag = j.Oldest(), j.Tag("")
	j.coding, j.status, j.length = entry.Identity, http.StatusOK, j.answer.Len()
	if len(q.AcceptEncoding) > 0 && h.codings.of(q.AcceptEncoding).of[1] == entry.Gzip {
		if !j.answer.IsDeflated() {
			return false // the pipeline encodes the whole response
		}
		if n := j.answer.GzipLen(); n < j.length {
			j.coding, j.length, j.etag = entry.Gzip, n, j.TagOf(entry.Gzip)
		}
	}
	if q.IfNoneMatch != nil {
		if same, sure := sameTag(q.IfNoneMatch, j.etag, ""); !sure || !same {
			return false // the client may have another coding
		}
		j.status = http.StatusNotModified
	}
	return j.length <= maxPrebuilt
}

// mayStoreWhole reports whether the pipeline should answer a request, because it is a second one,
// whose response it stores whole. If there was no room for that response, only some of the later
// requests try again. It returns the hash of a first request for the doorkeeper; 0: it is not one.
func (h *Proxy) mayStoreWhole(target []byte, parsed bool) (sum uint64, may bool) {
	if parsed {
		return 0, rand.Uint32N(retryWhole) == 0
	}
	return h.doors.knows(target)
}

const retryWhole = 16

// joinedSample is pieceSample on the fast path, where the look-ups would cost a tenth of the rest.
const joinedSample = 4 * pieceSample

// noteJoined records that a response was joined, and, for some, that its pieces were used.
func (h *Proxy) noteJoined(j *fastJoin, sum uint64) {
	if sum != 0 && j.Len() <= maxWhole {
		h.doors.record(sum)
	}
	if rand.Uint32N(joinedSample) > 0 {
		return
	}
	for key := range j.Keys {
		if e := h.Options.Cache.Get(key); e != nil {
			e.Hit()
		}
	}
}

// appendJoinedHead appends the fields of the response.
func (h *Proxy) appendJoinedHead(dst []byte, w *headWriter, j *fastJoin, q *eligible.Request) []byte {
	var t head
	t.bodyless, t.length = j.status != http.StatusOK, j.length
	t.coding, t.ranges, t.etag = j.coding, j.coding == entry.Identity, j.etag
	now := h.Options.Clock.At(q.Now)
	t.aged, t.age = true, j.oldest.Freshness.AgeAt(now)
	t.status.Hit, t.status.HasTTL, t.status.TTL = true, true, j.oldest.Freshness.TTL(now)
	t.count = &j.count
	if q.Secure {
		t.altSvc = h.Options.AltSvc
	}
	return w.append(dst, &t)
}

// appendJoinedBody appends the body, if the response has one, and puts the response back.
func (j *fastJoin) appendJoinedBody(dst []byte) []byte {
	if j.status == http.StatusOK {
		j.Read(j.coding == entry.Gzip)
		if j.coding == entry.Gzip {
			dst = j.answer.JoinGzip(dst)
		} else {
			dst = j.answer.Join(dst)
		}
	}
	pieces.Responses.Put(j.Response)
	return dst
}

// answerJoined is Answer for a response that is joined from pieces.
func (h *Proxy) answerJoined(dst []byte, q *eligible.Request, parsed bool) ([]byte, bool) {
	var j fastJoin
	if !h.joinFast(&j, q, parsed) {
		return dst, false
	}
	status := "HTTP/1.1 200 OK\r\n"
	if j.status != http.StatusOK {
		status = "HTTP/1.1 304 Not Modified\r\n"
	}
	lines := j.Fields()
	w := headWriter{head: &lines}
	dst = append(h.appendJoinedHead(append(dst, status...), &w, &j, q), "\r\n"...)
	start := len(dst)
	dst = j.appendJoinedBody(dst)
	h.Options.Metrics.Hit(exchange.H1, routes.Iconify, j.status, q.Now, len(dst)-start)
	j.site.hit.Count(j.status)
	h.Options.Reports.LogHit(j.site.Icons.Name, exchange.H1, routes.Iconify, j.status, q, len(dst)-start)
	return dst, true
}

// answerJoinedH2 is AnswerH2 for such a response.
func (h *Proxy) answerJoinedH2(dst []byte, q *eligible.Request, known *h2.ClientTable, parsed bool) (out []byte, block int, ok bool) {
	var j fastJoin
	if !h.joinFast(&j, q, parsed) {
		return dst, 0, false
	}
	start, lines := len(dst), j.Fields()
	w := headWriter{head: &lines, block: h.blocks.of(&lines), table: known}
	dst = h.appendJoinedHead(h2.AppendStatus(dst, j.status), &w, &j, q)
	block = len(dst) - start
	if j.status == http.StatusOK {
		dst = append(dst, make([]byte, h2.Gap)...)
	}
	body := len(dst)
	dst = j.appendJoinedBody(dst)
	h.Options.Metrics.Hit(exchange.H2, routes.Iconify, j.status, q.Now, len(dst)-body)
	j.site.hit.Count(j.status)
	h.Options.Reports.LogHit(j.site.Icons.Name, exchange.H2, routes.Iconify, j.status, q, len(dst)-body)
	return dst, block, true
}
