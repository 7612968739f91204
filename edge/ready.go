package edge

import (
	"bytes"
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/icon"
)

// maxReady is how long a body may be to be written in one piece with its head, in bytes.
const maxReady = 32 << 10

// Answer is the short way of a request that a fresh entry answers: the same answer, to the byte, that the long way through serve.go would
// give. What it is not sure of it leaves to that.
func (h *handler) Answer(dst []byte, q *h1.Request) ([]byte, bool) {
	t, ok := h.shortcut(q.Target)
	if !ok || !h.knownHosts.has(q.Host) || h.requireToken && t.class.licensed() {
		return dst, false
	}
	var v cache.View
	if !h.cache.View(t.key, &v) {
		return dst, false
	}
	defer v.Release()
	p := v.Freshness()
	if !p.Fresh(q.Now) {
		return dst, false
	}
	coding := cache.Identity
	if t.color == "" {
		coding = h.codings.choose(&v, q.AcceptEncoding)
	} else if v.Head().Paints < 0 {
		return dst, false
	}
	body, etag := v.Body(coding), v.ETag(coding)
	if len(body) > maxReady {
		return dst, false
	}
	bare := false
	if q.IfNoneMatch != nil {
		same, sure := sameTag(q.IfNoneMatch, etag, t.color)
		if !sure {
			return dst, false
		}
		bare = same
	}
	var d ratelimit.Decision
	l := h.limits[t.class]
	if (l != nil || h.lists != nil) && q.Forwarded && len(h.clients.trusted) > 0 {
		return dst, false // for whom it is the long way knows
	}
	switch h.lists.of(q.Client) {
	case denied:
		return dst, false
	case allowed:
		l = nil
	}
	if l != nil {
		if d = l.Allow(q.Client, q.Now); !d.OK {
			return dst, false // it does not count, so that it may be asked for again
		}
		h.metrics.counted(t.class, true)
	}
	v.Hit()
	if bare {
		dst = appendBare(dst, v.Head(), etag, &t)
	} else {
		dst = appendHead(dst, v.Head(), len(body), etag, coding, &t)
	}
	dst = appendTold(dst, p, q.Now)
	if l != nil {
		dst = appendLimit(dst, t.class, l.Limit(), d)
	}
	dst = append(dst, "\r\n"...)
	status := http.StatusOK
	switch {
	case bare:
		status = http.StatusNotModified
	case t.color != "":
		dst = icon.AppendRecoloured(dst, body, t.color)
	default:
		dst = append(dst, body...)
	}
	h.metrics.answered(t.class, outcomeHit, status, time.Since(q.Now))
	return dst, true
}

// appendHead writes status line and fields of an answer with a body of so many bytes.
func appendHead(dst []byte, head *cache.Head, length int, etag []byte, coding cache.Coding, t *shortcut) []byte {
	dst = append(append(dst, "HTTP/1.1 200 OK\r\n"...), head.Type...)
	switch {
	case coding != cache.Identity:
		dst = append(append(append(dst, "Content-Encoding: "...), coding.String()...), "\r\n"...)
	case t.color != "":
		length = icon.RecolouredLen(length, head.Paints, t.color)
	}
	dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), int64(length), 10), "\r\n"...)
	dst = append(append(dst, head.Always...), head.WithBody...)
	dst = appendTag(dst, etag, t.color)
	dst = append(append(dst, head.Own...), head.OwnBody...)
	if coding == cache.Identity {
		dst = append(dst, "Accept-Ranges: bytes\r\n"...)
	}
	return dst
}

// appendBare writes those of a 304.
func appendBare(dst []byte, head *cache.Head, etag []byte, t *shortcut) []byte {
	dst = append(append(dst, "HTTP/1.1 304 Not Modified\r\n"...), head.Always...)
	return append(appendTag(dst, etag, t.color), head.Own...)
}

func appendTag(dst, etag []byte, color icon.Color) []byte {
	dst = append(dst, "ETag: "...)
	if color == "" {
		return append(append(dst, etag...), "\r\n"...)
	}
	dst = append(append(dst, etag[:len(etag)-1]...), '-') // as cache.Suffixed
	return append(append(dst, color[1:]...), "\"\r\n"...)
}

// appendTold writes what depends on the moment.
func appendTold(dst []byte, p cachepolicy.Entry, now time.Time) []byte {
	dst = strconv.AppendInt(append(dst, "Age: "...), int64(p.AgeAt(now)/time.Second), 10)
	dst = append(dst, "\r\nCache-Status: "...)
	dst = cachepolicy.AppendCacheStatus(dst, cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: p.TTL(now)})
	return append(dst, "\r\n"...)
}

func appendLimit(dst []byte, c class, l ratelimit.Limit, d ratelimit.Decision) []byte {
	dst = ratelimit.AppendPolicy(append(dst, "RateLimit-Policy: "...), c.String(), l)
	dst = ratelimit.AppendState(append(dst, "\r\nRateLimit: "...), c.String(), d)
	return append(dst, "\r\n"...)
}

// sameTag compares an If-None-Match of one entity tag with that of the answer. It is not sure about anything else.
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

// A shortcut is what is known of a target as clients write it.
type shortcut struct {
	raw   string
	key   string
	color icon.Color
	class class
}

// shortcuts are the targets with a query that came last, and were understood on the long way: as many as there are places.
type shortcuts [1 << 14]atomic.Pointer[shortcut]

// placesSeed keeps anybody outside from choosing values that meet in one place.
var placesSeed = maphash.MakeSeed()

// place is the one place of a value among places. It takes it from whatever was there.
func place[T any](places []atomic.Pointer[T], value []byte) *atomic.Pointer[T] {
	return &places[maphash.Bytes(placesSeed, value)%uint64(len(places))]
}

// shortcut is what is known of a target; it is not ok where the target must take the long way. A path without a query is its own key,
// if anything is stored under it.
func (h *handler) shortcut(target []byte) (t shortcut, ok bool) {
	if bytes.IndexByte(target, '?') < 0 {
		key := unsafe.String(unsafe.SliceData(target), len(target)) // for as long as the request lasts
		return shortcut{key: key, class: classOf(key)}, true
	}
	if known := place(h.shortcuts[:], target).Load(); known != nil && known.raw == string(target) {
		return *known, true
	}
	return t, false
}

// classOf is the class of a canonical path.
func classOf(path string) class {
	switch {
	case !strings.HasPrefix(path, "/api/"):
		return classCDN
	case strings.HasPrefix(path, iconPath):
		return classIcon
	case strings.HasPrefix(path, packsPath):
		return classPacks
	case strings.HasPrefix(path, searchPath), strings.HasPrefix(path, suggestPath):
		return classSearch
	}
	return classNone
}

// remember keeps what the long way found out about a target. Only drawings are coloured on the short way.
func (h *handler) remember(r *request) {
	t, raw := r.target, r.ctx.RequestURI()
	if !r.ctx.IsGet() || t.color != "" && t.form != formDrawing || len(raw) == 0 || raw[0] != '/' || bytes.IndexByte(raw, '?') < 0 {
		return
	}
	at := place(h.shortcuts[:], raw)
	if known := at.Load(); known == nil || known.raw != string(raw) {
		at.Store(&shortcut{raw: string(raw), key: t.key, color: t.color, class: r.class})
	}
}

// knownHosts are the values of Host that came last and are answered for.
type knownHosts [16]atomic.Pointer[string]

func (k *knownHosts) has(host []byte) bool {
	known := place(k[:], host).Load()
	return known != nil && *known == string(host)
}

func (k *knownHosts) add(host []byte) {
	if !k.has(host) {
		text := string(host)
		place(k[:], host).Store(&text)
	}
}

// codings remembers what the Accept-Encodings that came last choose from each set of codings.
type codings [64]atomic.Pointer[choice]

type choice struct {
	field string
	of    [4]cache.Coding // by what there is besides identity: 1 gzip, 2 br
}

func (c *codings) choose(v *cache.View, field []byte) cache.Coding {
	if len(field) == 0 {
		return cache.Identity
	}
	at := place(c[:], field)
	known := at.Load()
	if known == nil || known.field != string(field) {
		known = newChoice(string(field))
		at.Store(known)
	}
	have := 0
	if v.Has(cache.Gzip) {
		have |= 1
	}
	if v.Has(cache.Brotli) {
		have |= 2
	}
	return known.of[have]
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
			c.of[have] = cache.Gzip
		case cachepolicy.Brotli:
			c.of[have] = cache.Brotli
		}
	}
	return c
}

// restored readies an entry that was taken from disk, where heads are not kept.
func restored(e *cache.Entry) {
	if _, own := canonical(e.Key); own {
		serialise(e)
	}
}

// serialise makes the head of an entry of one of our own routes ready to be written, in the order of finish.go. What
// entries have in common the cache keeps once.
func serialise(e *cache.Entry) {
	if e.Status != fasthttp.StatusOK || e.Identity() == nil || e.Identity().ETag == "" || len(e.Date) == 0 {
		return
	}
	head := &cache.Head{Paints: -1}
	head.Type = appendLine(nil, cache.Field{Name: []byte("Content-Type"), Value: e.ContentType})
	always := appendLines(nil, everyAnswer, false)
	always = appendLine(always, varies)
	head.Always = appendLines(always, e.Fields, false)
	head.WithBody = appendLines(nil, e.Missing, false)
	head.Own = appendLines(appendLine(nil, cache.Field{Name: nameDate, Value: e.Date}), e.Fields, true)
	head.OwnBody = appendLines(nil, e.Missing, true)
	if e.Monochrome == "?1" {
		head.Paints = icon.Paints(e.Identity().Body)
	}
	e.Head = head
}

func appendLines(dst []byte, fields []cache.Field, own bool) []byte {
	for _, f := range fields {
		if isOwn(f.Name) == own {
			dst = appendLine(dst, f)
		}
	}
	return dst
}

func appendLine(dst []byte, f cache.Field) []byte {
	return append(append(append(append(dst, f.Name...), ": "...), f.Value...), "\r\n"...)
}
