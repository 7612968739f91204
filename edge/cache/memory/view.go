package memory

import (
	"bytes"
	"time"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A View reads the response in a slot in place, without copying it. Its values are valid while the
// shard is locked.
type View struct {
	slot     *Slot
	interned *interned
	inPlace  *inPlace // nil: none yet
	head     entry.Head
	tag      [maxTag]byte
}

// A View makes the entity tag of a coding in a buffer of this size. A longer one is allocated.
const maxTag = 96

var quote = []byte{'"'}

// Open reads a slot.
func (v *View) Open(l *Slot, k *Interned) {
	v.slot, v.interned, v.inPlace, v.head = l, nil, nil, entry.Head{}
	switch {
	case l.IsLarge():
		if e := l.Entry(); e.Head != nil {
			v.head = *e.Head
		}
		return
	case l.Interned != 0:
		v.interned = k.of(l.Interned)
	default:
		v.inPlace = inPlaces.Get().(*inPlace)
		v.interned = &v.inPlace.own
		off := l.start() + int(l.text) + int(l.spans)
		v.interned.parse(l.bytes(off, l.ownHeader))
	}
	if l.shape&withHead != 0 {
		off := l.start() + int(l.key) + int(l.secondary)
		v.head = l.headOf(v.interned, l.bytes(off, l.own+l.ownBody))
	}
}

// Close ends the use of the view.
func (v *View) Close() {
	if v.inPlace != nil {
		v.inPlace.release()
		v.inPlace = nil
	}
}

// IsPrebuilt reports whether the response has a Head whose lines entries share.
func (v *View) IsPrebuilt() bool {
	l := v.slot
	return l.IsLarge() && l.Entry().Head != nil || l.shape&withHead != 0 && l.Interned != 0
}

// Entry returns the response as an entry, which must not change and is valid as long as the view.
// It lacks surrogate keys, and uses of it are counted by Hit.
func (v *View) Entry() *entry.Entry {
	if v.slot.IsLarge() {
		return v.slot.Entry()
	}
	if v.inPlace == nil {
		v.inPlace = inPlaces.Get().(*inPlace)
	}
	v.inPlace.decode(v.slot, v.interned)
	return &v.inPlace.entry
}

// Fresh returns the age of the response, its remaining freshness lifetime, and whether it is fresh:
// AgeAt, TTL and Fresh of its policy. It computes in nanoseconds since 1970, because the difference
// of two times without a common monotonic clock costs a multiple.
func (v *View) Fresh(now time.Time) (age, ttl time.Duration, ok bool) {
	l := v.slot
	if l.IsLarge() || l.stored == never || l.ExpiredAt.Load() != 0 {
		p := l.freshness(v.interned)
		return p.AgeAt(now), p.TTL(now), p.Fresh(now)
	}
	age = l.age + max(time.Duration(now.UnixNano()-l.stored), 0)
	ttl = l.lifetime - age
	return age, ttl, ttl > 0 && !v.interned.policy.NoCache
}

// Began returns the generation at which the request for the response began.
func (v *View) Began() invalidation.Generation { return v.slot.Generation }

// Head has no lines unless IsPrebuilt.
func (v *View) Head() *entry.Head { return &v.head }

// Hit counts one use, and returns how often the response has been used; 0: not each use of a
// response with many is counted, and this one is not.
func (v *View) Hit() uint64 { return v.slot.SampleHit() }

// Has reports whether the response has a coding.
func (v *View) Has(c entry.Coding) bool {
	switch {
	case v.slot.IsLarge():
		return v.slot.Entry().Variants[c] != nil
	case c == entry.Identity:
		return true
	case c > entry.Brotli:
		return false
	}
	return v.slot.shape&withCoding(c) != 0
}

// Body returns the body in a coding that the response has.
func (v *View) Body(c entry.Coding) []byte {
	if v.slot.IsLarge() {
		return v.slot.Entry().Variants[c].Body
	}
	return v.slot.bytes(v.slot.bodyStart(c), v.slot.body[c])
}

// ETag returns the entity tag of a coding that the response has. It is valid until the next call.
func (v *View) ETag(c entry.Coding) []byte {
	l := v.slot
	if l.IsLarge() {
		return codec.AsBytes(l.Entry().Variants[c].ETag)
	}
	tag := l.bytes(l.start()+int(l.tag), l.tagLen)
	if c == entry.Identity || len(tag) == 0 {
		return tag
	}
	b := append(append(v.tag[:0], bytes.TrimSuffix(tag, quote)...), '-') // as Suffixed
	return append(append(b, c.String()...), '"')
}
