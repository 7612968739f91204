package cache

import (
	"time"

	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// readName reads a name.
func readName(r *decoder) (n name) {
	n.generation = invalidation.Generation(r.uint())
	n.expired = r.bool()
	n.key = r.string()
	n.secondary = r.string()
	n.vary = r.strings()
	n.aliases = r.strings()
	n.tags = r.strings()
	return n
}

// readFields reads header fields.
func readFields(r *decoder) []Field {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]Field, 0, min(n, 64))
	for i := 0; i < n && !r.bad; i++ {
		list = append(list, Field{[]byte(r.string()), []byte(r.string())})
	}
	return list
}

// decodeEntry decodes an entry from the head and the body of a record. The bodies of its variants
// are slices of body.
func decodeEntry(head, body []byte) (e *Entry, aliases []string, err error) {
	r := &decoder{b: head}
	n := readName(r)
	e = &Entry{Key: n.key, Secondary: n.secondary, Vary: n.vary, Tags: n.tags, Policy: r.policy()}
	e.generation = n.generation
	if n.expired {
		e.expiredAt.Store(r.int())
	}
	e.Status = int(r.int())
	e.ContentType = []byte(r.string())
	e.Date = []byte(r.string())
	e.Fields = readFields(r)
	e.FieldsWithBody = readFields(r)
	e.LastModified = r.time()
	e.Validator = r.string()
	e.Monochrome = r.string()
	e.Release = r.string()
	e.plain = r.bool()
	e.hits.Store(r.uint())
	for i := range e.variants {
		body = readVariant(r, &e.variants[i], body)
	}
	if r.bad || len(r.b) > 0 || len(body) > 0 || e.Identity() == nil {
		return nil, nil, errDamaged
	}
	return e, n.aliases, nil
}

// readVariant reads a variant, whose body is at the start of body, and returns the rest of body.
func readVariant(r *decoder, v **Variant, body []byte) (rest []byte) {
	if !r.bool() {
		return body
	}
	etag, n := r.string(), r.uint()
	if n > uint64(len(body)) {
		r.fail()
		return nil
	}
	*v = &Variant{Body: body[:n:n], ETag: etag}
	return body[n:]
}

// decodePurge decodes a purge or drop, its generation and its time.
func decodePurge(head []byte) (p invalidation.Purge, generation invalidation.Generation, now time.Time, err error) {
	r := &decoder{b: head}
	generation = invalidation.Generation(r.uint())
	p.All = r.bool()
	p.Soft = r.bool()
	now = r.time()
	p.Keys = r.strings()
	p.Prefixes = r.strings()
	p.Tags = r.strings()
	if r.bad || len(r.b) > 0 {
		return invalidation.Purge{}, 0, now, errDamaged
	}
	return p, generation, now, nil
}
