package cache

import (
	"time"

	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A name is the part of an entry that the disk tier needs without reading the rest. It is at the
// start of the head of a record.
type name struct {
	generation invalidation.Generation
	expired    bool // a soft purge made it stale
	key        string
	secondary  string
	vary       []string
	aliases    []string
	tags       []string
}

// writeTo writes the name.
func (n *name) writeTo(w *encoder) {
	w.uint(uint64(n.generation))
	w.bool(n.expired)
	w.string(n.key)
	w.string(n.secondary)
	w.strings(n.vary)
	w.strings(n.aliases)
	w.strings(n.tags)
}

// writeFields writes header fields.
func writeFields(w *encoder, list []Field) {
	w.uint(uint64(len(list)))
	for _, f := range list {
		w.bytes(f.Name)
		w.bytes(f.Value)
	}
}

// encodeEntry encodes an entry as the head and the body of a record.
func encodeEntry(e *Entry, aliases []string) (head []byte, body [][]byte) {
	var w encoder
	expiredAt := e.expiredAt.Load()
	(&name{e.generation, expiredAt != 0, e.Key, e.Secondary, e.Vary, aliases, e.Tags}).writeTo(&w)
	w.policy(&e.Policy)
	if expiredAt != 0 {
		w.int(expiredAt)
	}
	w.int(int64(e.Status))
	w.bytes(e.ContentType)
	w.bytes(e.Date)
	writeFields(&w, e.Fields)
	writeFields(&w, e.FieldsWithBody)
	w.time(e.LastModified)
	w.string(e.Validator)
	w.string(e.Monochrome)
	w.string(e.Release)
	w.bool(e.plain)
	w.uint(e.hits.Load())
	for _, v := range e.variants {
		w.bool(v != nil)
		if v != nil {
			w.string(v.ETag)
			w.uint(uint64(len(v.Body)))
			body = append(body, v.Body)
		}
	}
	return w.b, body
}

// encodePurge encodes a purge or drop as the head of a record.
func encodePurge(p *invalidation.Purge, generation invalidation.Generation, now time.Time) []byte {
	var w encoder
	w.uint(uint64(generation))
	w.bool(p.All)
	w.bool(p.Soft)
	w.time(now)
	w.strings(p.Keys)
	w.strings(p.Prefixes)
	w.strings(p.Tags)
	return w.b
}
