package edge

import (
	"bytes"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/plain"
)

// AnswerH2 is Answer for HTTP/2: the same fields in the same order, in a header block.
func (h *handler) AnswerH2(dst []byte, q *plain.Request) (out []byte, block int, ok bool) {
	var m meeting
	if !h.meet(&m, q) {
		return dst, 0, false
	}
	defer m.view.Release()
	start := len(dst)
	var value [128]byte
	head := m.view.Head()
	dst = h2.AppendStatus(dst, m.status)
	if m.status == http.StatusOK {
		dst = append(dst, h.blocks.of(head.Type)...)
		if m.coding != cache.Identity {
			dst = h2.AppendValue(append(dst, encodedNames.coding...), m.coding.String())
		}
		dst = h2.AppendValue(append(dst, encodedNames.length...), strconv.AppendInt(value[:0], int64(m.length()), 10))
	}
	dst = append(dst, h.blocks.of(head.Always)...)
	if m.status == http.StatusOK {
		dst = append(dst, h.blocks.of(head.WithBody)...)
	}
	dst = h2.AppendValue(append(dst, encodedNames.etag...), appendTag(value[:0], m.view.ETag(m.coding), m.target.color))
	dst = appendBlock(dst, head.Own)
	if m.status == http.StatusOK {
		dst = appendBlock(dst, head.OwnBody)
		if m.coding == cache.Identity {
			dst = append(dst, acceptsRangeBlock...)
		}
	}
	dst = h.appendToldH2(dst, &m, q)
	block = len(dst) - start
	if m.status == http.StatusOK {
		dst = append(dst, make([]byte, h2.Gap)...)
		dst = m.appendBody(dst)
	}
	h.metrics.answered(protocolH2, m.target.class, outcomeHit, m.status, time.Since(q.Now))
	return dst, block, true
}

// appendToldH2 is appendTold for HTTP/2.
func (h *handler) appendToldH2(dst []byte, m *meeting, q *plain.Request) []byte {
	var value [128]byte
	dst = h2.AppendValue(append(dst, encodedNames.age...), strconv.AppendInt(value[:0], int64(m.policy.AgeAt(q.Now)/time.Second), 10))
	status := cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: m.policy.TTL(q.Now)}
	dst = h2.AppendValue(append(dst, encodedNames.status...), cachepolicy.AppendCacheStatus(value[:0], status))
	if m.limiter != nil {
		dst = appendBlock(dst, appendLimit(value[:0], m.target.class, m.limiter.Limit(), m.decision))
	}
	if q.Secure && h.altSvc != "" {
		dst = h2.AppendValue(append(dst, encodedNames.altSvc...), h.altSvc)
	}
	return dst
}

// encodedNames are names of fields, encoded ahead.
var encodedNames = struct{ coding, length, etag, age, status, altSvc []byte }{
	h2.AppendName(nil, "content-encoding"), h2.AppendName(nil, "content-length"), h2.AppendName(nil, "etag"),
	h2.AppendName(nil, "age"), h2.AppendName(nil, "cache-status"), h2.AppendName(nil, "alt-svc"),
}

var acceptsRangeBlock = h2.AppendField(nil, acceptsRange.Name, acceptsRange.Value)

// appendBlock appends lines of a head as fields of a header block.
func appendBlock(dst, lines []byte) []byte {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		colon := bytes.IndexByte(lines, ':')
		dst = h2.AppendField(dst, lines[:colon], lines[colon+2:end-1])
		lines = lines[end+1:]
	}
	return dst
}

// blocks are the header blocks of lines that many entries have in common, by where these lie.
type blocks [256]atomic.Pointer[struct{ lines, block []byte }]

// of is the block of lines that are never changed. That they are known keeps them where they are: no others can have their place.
func (b *blocks) of(lines []byte) []byte {
	if len(lines) == 0 {
		return nil
	}
	first := unsafe.SliceData(lines)
	at := &b[uintptr(unsafe.Pointer(first))>>4%uintptr(len(b))]
	known := at.Load()
	if known == nil || unsafe.SliceData(known.lines) != first || len(known.lines) != len(lines) {
		known = &struct{ lines, block []byte }{lines, appendBlock(nil, lines)}
		at.Store(known)
	}
	return known.block
}
