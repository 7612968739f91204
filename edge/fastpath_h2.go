package edge

import (
	"bytes"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// AnswerH2 does for HTTP/2 what Answer does for HTTP/1.1. It appends the same fields in the same
// order, as a header block.
func (h *handler) AnswerH2(dst []byte, q *eligible.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	var m fastHit
	if !h.lookupFast(&m, q) {
		return dst, 0, false
	}
	defer m.view.Release()
	start := len(dst)
	var value [128]byte
	head := m.view.Head()
	shared := h.blocks.of(head)
	dst = h2.AppendStatus(dst, m.status)
	if m.status == http.StatusOK {
		dst = appendShared(dst, shared.kind, known)
		if m.coding != cache.Identity {
			dst = h2.AppendValue(append(dst, encodedNames.coding...), m.coding.String())
		}
		dst = h2.AppendValue(append(dst, encodedNames.length...), strconv.AppendInt(value[:0], int64(m.length()), 10))
	}
	dst = appendShared(dst, shared.always, known)
	if m.status == http.StatusOK {
		dst = appendShared(dst, shared.withBody, known)
	}
	dst = h2.AppendValue(append(dst, encodedNames.etag...), appendTag(value[:0], m.view.ETag(m.coding), m.target.color))
	dst = appendBlock(dst, head.Own)
	if m.status == http.StatusOK {
		dst = appendBlock(dst, head.OwnBody)
		if m.coding == cache.Identity {
			dst = known.Append(dst, sharedRange)
		}
	}
	dst = h.appendDynamicH2(dst, &m, q)
	block = len(dst) - start
	if m.status == http.StatusOK {
		dst = append(dst, make([]byte, h2.Gap)...)
	}
	body := len(dst)
	dst = m.appendBody(dst)
	h.opt.Metrics.Hit(exchange.H2, m.target.route, m.status, q.Now, len(dst)-body)
	h.opt.Reports.LogHit(exchange.H2, m.target.route, m.status, q, len(dst)-body)
	return dst, block, true
}

// appendDynamicH2 does for HTTP/2 what appendTold does for HTTP/1.1.
func (h *handler) appendDynamicH2(dst []byte, m *fastHit, q *eligible.Request) []byte {
	var value [128]byte
	dst = h2.AppendValue(append(dst, encodedNames.age...), strconv.AppendInt(value[:0], int64(m.policy.AgeAt(q.Now)/time.Second), 10))
	status := cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: m.policy.TTL(q.Now)}
	dst = h2.AppendValue(append(dst, encodedNames.status...), cachepolicy.AppendCacheStatus(value[:0], status))
	if !m.count.Limit.Off() {
		dst = appendBlock(dst, appendLimit(value[:0], m.count))
	}
	if q.Secure && h.opt.AltSvc != "" {
		dst = h2.AppendValue(append(dst, encodedNames.altSvc...), h.opt.AltSvc)
	}
	return dst
}

// encodedNames are field names, encoded in advance.
var encodedNames = struct{ coding, length, etag, age, status, altSvc []byte }{
	h2.AppendName(nil, "content-encoding"), h2.AppendName(nil, "content-length"), h2.AppendName(nil, "etag"),
	h2.AppendName(nil, "age"), h2.AppendName(nil, "cache-status"), h2.AppendName(nil, "alt-svc"),
}

var sharedRange = h2.NewSharedField(acceptsRange.Name, acceptsRange.Value)

// appendBlock appends the field lines of an HTTP/1.1 head as fields of a header block.
func appendBlock(dst, lines []byte) []byte {
	for name, value := range fieldsIn(lines) {
		dst = h2.AppendField(dst, name, value)
	}
	return dst
}

// fieldsIn iterates over the names and values of the field lines of an HTTP/1.1 head.
func fieldsIn(lines []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for len(lines) > 0 {
			end := bytes.IndexByte(lines, '\n')
			colon := bytes.IndexByte(lines, ':')
			if !yield(lines[:colon], lines[colon+2:end-1]) {
				return
			}
			lines = lines[end+1:]
		}
	}
}
