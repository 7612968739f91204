package disk

import (
	"time"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/coding"
)

// readName reads a name.
func readName(r *codec.Decoder) (n name) {
	n.generation = invalidation.Generation(r.Uint())
	n.expired = r.Bool()
	n.key = r.String()
	n.secondary = r.String()
	n.vary = r.Strings()
	n.aliases = r.Strings()
	n.tags = r.Strings()
	return n
}

// readFields reads header fields.
func readFields(r *codec.Decoder) []entry.Field {
	n := r.Count()
	if n == 0 {
		return nil
	}
	list := make([]entry.Field, 0, min(n, 64))
	for i := 0; i < n && !r.Bad; i++ {
		list = append(list, entry.Field{Name: []byte(r.String()), Value: []byte(r.String())})
	}
	return list
}

// decodeEntry decodes an entry from the head and the body of a record. The bodies of its variants
// are slices of body.
func decodeEntry(head, body []byte) (e *entry.Entry, aliases []string, err error) {
	r := &codec.Decoder{Rest: head}
	n := readName(r)
	e = &entry.Entry{Key: n.key, Secondary: n.secondary, Vary: n.vary, Tags: n.tags, Policy: r.Policy()}
	e.Generation = n.generation
	if n.expired {
		e.ExpiredAt.Store(r.Int())
	}
	e.Status = int(r.Int())
	e.ContentType = []byte(r.String())
	e.Date = []byte(r.String())
	e.Fields = readFields(r)
	e.FieldsWithBody = readFields(r)
	e.LastModified = r.Time()
	e.Validator = r.String()
	e.Monochrome = r.String()
	e.Release = r.String()
	e.Plain = r.Bool()
	e.Hits.Store(r.Uint())
	for i := range coding.InUse() { // of a program with others, the record is damaged
		body = readVariant(r, &e.Variants[i], body)
	}
	if !r.Bad && len(r.Rest) > 0 {
		e.Object = entry.Object{ID: r.Uint(), Length: int64(r.Uint())}
		r.Bad = r.Bad || !e.IsObject() || e.Object.Length < 0
	}
	if !r.Ended() || len(body) > 0 || e.Identity() == nil {
		return nil, nil, errDamaged
	}
	return e, n.aliases, nil
}

// readVariant reads a variant, whose body is at the start of body, and returns the rest of body.
func readVariant(r *codec.Decoder, v **entry.Variant, body []byte) (rest []byte) {
	if !r.Bool() {
		return body
	}
	etag, n := r.String(), r.Uint()
	if n > uint64(len(body)) {
		r.Fail()
		return nil
	}
	*v = &entry.Variant{Body: body[:n:n], ETag: etag}
	return body[n:]
}

// decodePurge decodes a purge or drop, its generation and its time.
func decodePurge(head []byte) (p invalidation.Purge, generation invalidation.Generation, now time.Time, err error) {
	r := &codec.Decoder{Rest: head}
	generation = invalidation.Generation(r.Uint())
	p.All = r.Bool()
	p.Soft = r.Bool()
	now = r.Time()
	p.Keys = r.Strings()
	p.Prefixes = r.Strings()
	p.Tags = r.Strings()
	if !r.Ended() {
		return invalidation.Purge{}, 0, now, errDamaged
	}
	return p, generation, now, nil
}
