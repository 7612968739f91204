package cache

import (
	"encoding/binary"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A decoder reads the values that an encoder wrote. After malformed input bad is true, and every
// further value is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (r *decoder) fail() { r.b, r.bad = nil, true }

func (r *decoder) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *decoder) int() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *decoder) bool() bool {
	if len(r.b) == 0 || r.b[0] > 1 {
		r.fail()
		return false
	}
	v := r.b[0] == 1
	r.b = r.b[1:]
	return v
}

func (r *decoder) string() string { return string(r.part()) }

// part returns a string that is not copied.
func (r *decoder) part() []byte {
	n := r.count()
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *decoder) duration() time.Duration { return time.Duration(r.int()) }

// count reads the number of values that follow. Each takes at least a byte, so a greater number is
// malformed; it is rejected before any allocation.
func (r *decoder) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *decoder) strings() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, 0, min(n, 64))
	for i := 0; i < n && !r.bad; i++ {
		list = append(list, r.string())
	}
	return list
}

// texts returns strings that are not copied.
func (r *decoder) texts() (list []string) {
	for n := r.count(); n > 0 && !r.bad; n-- {
		list = append(list, asString(r.part()))
	}
	return list
}

func (r *decoder) time() time.Time {
	if !r.bool() {
		return time.Time{}
	}
	seconds, nanos := r.int(), r.uint()
	if nanos >= uint64(time.Second) {
		r.fail()
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos))
}

func (r *decoder) name() (n name) {
	n.generation = Generation(r.uint())
	n.expired = r.bool()
	n.key = r.string()
	n.secondary = r.string()
	n.vary = r.strings()
	n.aliases = r.strings()
	n.tags = r.strings()
	return n
}

func (r *decoder) policy() (p cachepolicy.Entry) {
	p.Stored = r.time()
	for _, d := range [...]*time.Duration{&p.Age, &p.Lifetime, &p.StaleWhileRevalidate, &p.StaleIfError, &p.StaleWhenLost} {
		*d = r.duration()
	}
	r.flags(&p)
	return p
}

func (r *decoder) flags(p *cachepolicy.Entry) {
	for _, flag := range [...]*bool{&p.MustRevalidate, &p.NoCache, &p.Heuristic, &p.SetsCookie} {
		*flag = r.bool()
	}
}

func (r *decoder) fields() []Field {
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
	n := r.name()
	e = &Entry{Key: n.key, Secondary: n.secondary, Vary: n.vary, Tags: n.tags, Policy: r.policy()}
	e.generation = n.generation
	if n.expired {
		e.expiredAt.Store(r.int())
	}
	e.Status = int(r.int())
	e.ContentType = []byte(r.string())
	e.Date = []byte(r.string())
	e.Fields = r.fields()
	e.FieldsWithBody = r.fields()
	e.LastModified = r.time()
	e.Validator = r.string()
	e.Monochrome = r.string()
	e.Release = r.string()
	e.plain = r.bool()
	e.hits.Store(r.uint())
	for i := range e.variants {
		body = r.variant(&e.variants[i], body)
	}
	if r.bad || len(r.b) > 0 || len(body) > 0 || e.Identity() == nil {
		return nil, nil, errDamaged
	}
	return e, n.aliases, nil
}

// variant reads a variant, whose body is at the start of body, and returns the rest of body.
func (r *decoder) variant(v **Variant, body []byte) (rest []byte) {
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
func decodePurge(head []byte) (p Purge, generation Generation, now time.Time, err error) {
	r := &decoder{b: head}
	generation = Generation(r.uint())
	p.All = r.bool()
	p.Soft = r.bool()
	now = r.time()
	p.Keys = r.strings()
	p.Prefixes = r.strings()
	p.Tags = r.strings()
	if r.bad || len(r.b) > 0 {
		return Purge{}, 0, now, errDamaged
	}
	return p, generation, now, nil
}
