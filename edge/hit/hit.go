package hit

import (
	"bytes"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/icon"
)

// A hit is a request and what finding its response has found out about it. It comes from a
// pool, because its parts refer to its own memory.
type hit struct {
	found
	key [maxKey]byte // memory of a key, of an entity tag, and of a Content-Range
	tag [maxTag]byte
	at  [maxRange]byte

	shared []byte // memory of a key that several addresses share

	vary  [maxVary]byte // memory of a secondary key
	lines []byte        // memory of the fields of a made response

	// stripe is its part of counts. The pool keeps a hit with its processor, mostly.
	stripe uint8
	id     []byte // of the request; see labels

	rules    rules.Request
	tolls    tolls
	stripped strippedFields
}

// A found is the part of a hit that each request sets.
type found struct {
	view  cache.View
	entry *cache.Entry // of a forwarded path; nil: the head of the view is prebuilt
	site  *site
	host  *host     // nil: the pipeline has to decide about the request
	now   time.Time // by the Clock
	// client and secure are those of the connection, or as a trusted proxy names them.
	client netip.Addr
	secure bool
	target parsedTarget
	hex    [len("#rrggbb")]byte // the colour, if parse has read it; 0: that of target
	age    time.Duration
	ttl    time.Duration // remaining freshness lifetime
	count  access.Count  // the limit that counted the request
	representation
	// dictionary is the one that the client and the edge have; nil: none. hidden: the key is that
	// of a client without one.
	dictionary *dictionaries.Dictionary
	hidden     bool
	ruled      *rules.Decision // of the rules of the site; nil: it has none
	edits      int             // how many of the edits of ruled the response has
	// fields and cookie are those of the request without the cookies that the rules strip.
	fields request.Fields
	cookie bool
	// made: the edge makes the response itself, and counts it as outcome.
	made    bool
	outcome exchange.Outcome
	// lacksBrotli: the client would get brotli, if the entry had it.
	lacksBrotli bool
	// stale: the entry is stale, and may be served while it is revalidated. Its variant is the
	// secondary key of its fetches.
	stale   bool
	variant string
	// unusable: the response that several addresses share is not stored, or is not for the request.
	unusable bool
}

// tolls are the limits that count a request before its class does, in order.
type tolls struct {
	n     int
	all   [maxTolls]access.Toll
	edits [maxTolls]int // how many edits the refusal of the request has
}

// maxTolls is the number of limits of a request up to which the hit path counts it.
const maxTolls = 8

const (
	maxKey   = request.MaxTarget + 300 // bytes of a cache key: scheme, host and target
	maxTag   = 128
	maxRange = 80
	maxVary  = 256
)

var (
	hits = sync.Pool{New: func() any { return &hit{stripe: uint8(made.Add(1))} }}
	made atomic.Uint32 // hits that the pool has got
)

// end gives a hit back to the pool.
func (m *hit) end() {
	if m.stripped.Fields != nil {
		m.stripped = strippedFields{}
	}
	m.found, m.id = found{}, m.id[:0]
	hits.Put(m)
}

// ruledAnswer returns the response of a rule that answers in place of the origin; nil: none does.
func (m *hit) ruledAnswer() *rules.Answer {
	if m.ruled == nil {
		return nil
	}
	return m.ruled.Answer
}

// sends reports whether the response has a body.
func (m *hit) sends(q *request.Request) bool { return !m.bodyless && !q.Head }

// length returns the length of the body after any colouring.
func (m *hit) length() int {
	if c := m.color(); c != "" {
		return icon.Paint(m.view.Head().Paint).RecolouredLen(len(m.body), c)
	}
	return len(m.body)
}

// appendBody appends the body.
func (m *hit) appendBody(dst []byte) []byte {
	if c := m.color(); c != "" {
		return icon.AppendRecoloured(dst, m.body, icon.Paint(m.view.Head().Paint), c)
	}
	return append(dst, m.body...)
}

// fits reports whether the event loop can send the body. separable means that the body may follow
// the head in memory of its own.
func (m *hit) fits(q *request.Request, separable bool) bool {
	// A longer body than a slot's has memory of its own, which stays valid after the View.
	m.apart = len(m.body) > MaxPrebuilt && m.sends(q) && separable && q.TakesBody
	return len(m.body) <= MaxPrebuilt || !m.sends(q) || m.apart && len(m.body) <= maxTaken
}

// color returns the colour of the response; empty: that of the icon. It is valid as long as m.
func (m *hit) color() icon.Color {
	if m.hex[0] != 0 {
		return icon.Color(unsafe.String(&m.hex[0], len(m.hex)))
	}
	return m.target.color
}

// mayServeStale reports whether a stale response may be served, because a fetch revalidates it. The
// first call for a request only records that the response would be such.
func (m *hit) mayServeStale(e cachepolicy.Entry, r cachepolicy.Request, q *request.Request) bool {
	if e.SoftPurged || cachepolicy.Decide(e, r, m.now) != cachepolicy.StaleWhileRevalidate {
		return false
	}
	known := m.stale
	m.stale = true
	return known
}

// cut makes the body the part that the client wants. It reports false if there is no such part.
func (m *hit) cut(e *cache.Entry, a *represent.Asked) bool {
	size := int64(len(m.body))
	off, n, what := a.Part(e, size, texts(m.etag), m.now)
	if what == cachepolicy.RangePart {
		m.status, m.body = http.StatusPartialContent, m.body[off:off+n]
		m.contentRange = represent.AppendContentRange(m.at[:0], off, n, size)
	}
	return what != cachepolicy.RangeUnsatisfiable
}

// A representation is the form in which a client gets an entry.
type representation struct {
	status       int
	bodyless     bool // a 304
	coding       entry.Coding
	delta        string // a coding against the dictionary, in place of coding; empty: none
	etag         []byte
	body         []byte
	apart        bool // the body does not follow the head
	contentRange []byte
}

// gzipTagEnd is the end of the entity tags of bodies in gzip.
var gzipTagEnd = []byte("-" + cachepolicy.Gzip + `"`)

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

// statusLines has the status lines of stored responses, as the server of the pipeline writes them.
var statusLines = func() (lines [600]string) {
	for status := range lines {
		if http.StatusText(status) != "" {
			lines[status] = "HTTP/1.1 " + strconv.Itoa(status) + " " + fasthttp.StatusMessage(status) + "\r\n"
		}
	}
	return lines
}()

const (
	// MaxPrebuilt is the length in bytes up to which a body is written in one piece with its head.
	MaxPrebuilt = 32 << 10
	// maxTaken is the length in bytes up to which an event loop writes a body itself, from the
	// cache.
	maxTaken = 256 << 10
)

// strip takes the cookies that the rules strip from the request, before its key is made.
func (m *hit) strip(q *request.Request) {
	m.stripped = strippedFields{q.Fields, m.ruled.Strip(&m.rules)}
	m.fields, m.cookie = &m.stripped, len(m.stripped.cookie) > 0
	m.rules.SetFields(m.fields)
}

// strippedFields are the fields of a request with another Cookie.
type strippedFields struct {
	request.Fields
	cookie []byte // empty: none
}

// Line implements request.Fields.
func (f *strippedFields) Line(name string, nth int) []byte {
	if !request.SameName(cookieName, name) {
		return f.Fields.Line(name, nth)
	}
	if nth > 0 || len(f.cookie) == 0 {
		return nil
	}
	return f.cookie
}

var cookieName = []byte("cookie")
