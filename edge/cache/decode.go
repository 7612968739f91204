package cache

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A decoder reads the values that an encoder wrote. After malformed input bad is true, and every
// further value is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (r *decoder) fail() { r.b, r.bad = nil, true }

// uint reads an unsigned number.
func (r *decoder) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

// int reads a number.
func (r *decoder) int() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

// bool reads a truth value.
func (r *decoder) bool() bool {
	if len(r.b) == 0 || r.b[0] > 1 {
		r.fail()
		return false
	}
	v := r.b[0] == 1
	r.b = r.b[1:]
	return v
}

// string reads a string.
func (r *decoder) string() string { return string(r.part()) }

// part reads a string that is not copied.
func (r *decoder) part() []byte {
	n := r.count()
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// duration reads a duration.
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

// strings reads strings.
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

// texts reads strings that are not copied.
func (r *decoder) texts() (list []string) {
	for n := r.count(); n > 0 && !r.bad; n-- {
		list = append(list, asString(r.part()))
	}
	return list
}

// time reads a time.
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

// policy reads a policy.
func (r *decoder) policy() (p cachepolicy.Entry) {
	p.Stored = r.time()
	for _, d := range [...]*time.Duration{&p.Age, &p.Lifetime, &p.StaleWhileRevalidate, &p.StaleIfError, &p.StaleWhenLost} {
		*d = r.duration()
	}
	r.flags(&p)
	return p
}

// flags reads the flags of a policy.
func (r *decoder) flags(p *cachepolicy.Entry) {
	for _, flag := range [...]*bool{&p.MustRevalidate, &p.NoCache, &p.Heuristic, &p.SetsCookie} {
		*flag = r.bool()
	}
}

// asString converts without a copy. Nothing may change the bytes afterwards.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// asBytes converts without a copy. Nothing may change the bytes.
func asBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
