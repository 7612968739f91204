package disk

import (
	"time"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/coding"
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
func (n *name) writeTo(w *codec.Encoder) {
	w.Uint(uint64(n.generation))
	w.Bool(n.expired)
	w.String(n.key)
	w.String(n.secondary)
	w.Strings(n.vary)
	w.Strings(n.aliases)
	w.Strings(n.tags)
}

// writeFields writes header fields.
func writeFields(w *codec.Encoder, list []entry.Field) {
	w.Uint(uint64(len(list)))
	for _, f := range list {
		w.Bytes(f.Name)
		w.Bytes(f.Value)
	}
}

// encodeEntry encodes an entry as the head and the body of a record.
func encodeEntry(e *entry.Entry, aliases []string) (head []byte, body [][]byte) {
	var w codec.Encoder
	expiredAt := e.ExpiredAt.Load()
	(&name{e.Generation, expiredAt != 0, e.Key, e.Secondary, e.Vary, aliases, e.Tags}).writeTo(&w)
	w.Policy(&e.Policy)
	if expiredAt != 0 {
		w.Int(expiredAt)
	}
	w.Int(int64(e.Status))
	w.Bytes(e.ContentType)
	w.Bytes(e.Date)
	writeFields(&w, e.Fields)
	writeFields(&w, e.FieldsWithBody)
	w.Time(e.LastModified)
	w.String(e.Validator)
	w.String(e.Monochrome)
	w.String(e.Release)
	w.Bool(e.Plain)
	w.Uint(e.Hits.Load())
	for _, v := range e.Variants[:coding.InUse()] {
		w.Bool(v != nil)
		if v != nil {
			w.String(v.ETag)
			w.Uint(uint64(len(v.Body)))
			body = append(body, v.Body)
		}
	}
	if e.IsObject() { // older versions of the program treat such a record as damaged
		w.Uint(e.Object.ID)
		w.Uint(uint64(e.Object.Length))
	}
	return w.Out, body
}

// encodePurge encodes a purge or drop as the head of a record.
func encodePurge(p *invalidation.Purge, generation invalidation.Generation, now time.Time) []byte {
	var w codec.Encoder
	w.Uint(uint64(generation))
	w.Bool(p.All)
	w.Bool(p.Soft)
	w.Time(now)
	w.Strings(p.Keys)
	w.Strings(p.Prefixes)
	w.Strings(p.Tags)
	return w.Out
}

// encodeMark encodes the mark at the start of a segment, a purge of nothing with the current
// generation, as the head of a record. No record in an older segment has a higher one, so that the
// next run knows the newest generation before it has read them.
func encodeMark(generation invalidation.Generation, now time.Time) []byte {
	return encodePurge(&invalidation.Purge{}, generation, now)
}

// markMost is the maximum size of the record of a mark.
const markMost = 64
