// Package codec decides how values become bytes, in the slots of memory and in the records of the
// disk tier.
package codec

import (
	"encoding/binary"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// An Encoder writes values to Out that a Decoder reads in the same order: numbers as varints, other
// values after their length.
type Encoder struct{ Out []byte }

// Uint writes an unsigned number.
func (w *Encoder) Uint(n uint64) { w.Out = binary.AppendUvarint(w.Out, n) }

// Int writes a number.
func (w *Encoder) Int(n int64) { w.Out = binary.AppendVarint(w.Out, n) }

// Bool writes a truth value.
func (w *Encoder) Bool(v bool) {
	if v {
		w.Out = append(w.Out, 1)
	} else {
		w.Out = append(w.Out, 0)
	}
}

// String writes a string.
func (w *Encoder) String(s string) {
	w.Uint(uint64(len(s)))
	w.Out = append(w.Out, s...)
}

// Bytes writes a string.
func (w *Encoder) Bytes(b []byte) {
	w.Uint(uint64(len(b)))
	w.Out = append(w.Out, b...)
}

// Strings writes strings.
func (w *Encoder) Strings(list []string) {
	w.Uint(uint64(len(list)))
	for _, s := range list {
		w.String(s)
	}
}

// Time writes a time to the nanosecond. The zero time has a form of its own.
func (w *Encoder) Time(t time.Time) {
	w.Bool(!t.IsZero())
	if !t.IsZero() {
		w.Int(t.Unix())
		w.Uint(uint64(t.Nanosecond()))
	}
}

// Policy writes a policy.
func (w *Encoder) Policy(p *cachepolicy.Entry) {
	w.Time(p.Stored)
	for _, d := range [...]time.Duration{p.Age, p.Lifetime, p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost} {
		w.Int(int64(d))
	}
	w.Flags(p)
}

// Flags writes the flags of a policy, except SoftPurged: a soft purge is written separately.
func (w *Encoder) Flags(p *cachepolicy.Entry) {
	for _, flag := range [...]bool{p.MustRevalidate, p.NoCache, p.Heuristic, p.SetsCookie} {
		w.Bool(flag)
	}
}
