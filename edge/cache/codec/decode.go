package codec

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A Decoder reads the values that an Encoder wrote. After malformed input Bad is true, and every
// further value is zero.
type Decoder struct {
	Rest []byte
	Bad  bool
}

// Fail makes the input malformed.
func (r *Decoder) Fail() { r.Rest, r.Bad = nil, true }

// Ended reports whether the input was well-formed, and has been read to its end.
func (r *Decoder) Ended() bool { return !r.Bad && len(r.Rest) == 0 }

// Uint reads an unsigned number.
func (r *Decoder) Uint() uint64 {
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Int reads a number.
func (r *Decoder) Int() int64 {
	n, size := binary.Varint(r.Rest)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Bool reads a truth value.
func (r *Decoder) Bool() bool {
	if len(r.Rest) == 0 || r.Rest[0] > 1 {
		r.Fail()
		return false
	}
	v := r.Rest[0] == 1
	r.Rest = r.Rest[1:]
	return v
}

// String reads a string.
func (r *Decoder) String() string { return string(r.Part()) }

// Part reads a string that is not copied.
func (r *Decoder) Part() []byte {
	n := r.Count()
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Duration reads a duration.
func (r *Decoder) Duration() time.Duration { return time.Duration(r.Int()) }

// Count reads the number of values that follow. Each takes at least a byte, so a greater number is
// malformed; it is rejected before any allocation.
func (r *Decoder) Count() int {
	n := r.Uint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Strings reads strings.
func (r *Decoder) Strings() []string {
	n := r.Count()
	if n == 0 {
		return nil
	}
	list := make([]string, 0, min(n, 64))
	for i := 0; i < n && !r.Bad; i++ {
		list = append(list, r.String())
	}
	return list
}

// AppendTexts reads a list of texts, which are not copied, and appends them to list.
func (r *Decoder) AppendTexts(list []string) []string {
	for n := r.Count(); n > 0 && !r.Bad; n-- {
		list = append(list, AsString(r.Part()))
	}
	return list
}

// Time reads a time.
func (r *Decoder) Time() time.Time {
	if !r.Bool() {
		return time.Time{}
	}
	seconds, nanos := r.Int(), r.Uint()
	if nanos >= uint64(time.Second) {
		r.Fail()
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos))
}

// Policy reads a policy.
func (r *Decoder) Policy() (p cachepolicy.Entry) {
	p.Stored = r.Time()
	for _, d := range [...]*time.Duration{&p.Age, &p.Lifetime, &p.StaleWhileRevalidate, &p.StaleIfError, &p.StaleWhenLost} {
		*d = r.Duration()
	}
	r.Flags(&p)
	return p
}

// Flags reads the flags of a policy.
func (r *Decoder) Flags(p *cachepolicy.Entry) {
	for _, flag := range [...]*bool{&p.MustRevalidate, &p.NoCache, &p.Heuristic, &p.SetsCookie} {
		*flag = r.Bool()
	}
}

// AsString converts without a copy. Nothing may change the bytes afterwards.
func AsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// AsBytes converts without a copy. Nothing may change the bytes.
func AsBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
