// Package codec decides how values become bytes, in the slots of memory and in the records of the
// disk tier.
package cache

import (
	"encoding/binary"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// An encoder writes values that a decoder reads in the same order: numbers as varints, other values
// after their length.
type encoder struct{ b []byte }

// uint writes an unsigned number.
func (w *encoder) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// int writes a number.
func (w *encoder) int(n int64) { w.b = binary.AppendVarint(w.b, n) }

// bool writes a truth value.
func (w *encoder) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// string writes a string.
func (w *encoder) string(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

// bytes writes a string.
func (w *encoder) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.b = append(w.b, b...)
}

// strings writes strings.
func (w *encoder) strings(list []string) {
	w.uint(uint64(len(list)))
	for _, s := range list {
		w.string(s)
	}
}

// time writes a time to the nanosecond. The zero time has a form of its own.
func (w *encoder) time(t time.Time) {
	w.bool(!t.IsZero())
	if !t.IsZero() {
		w.int(t.Unix())
		w.uint(uint64(t.Nanosecond()))
	}
}

// policy writes a policy.
func (w *encoder) policy(p *cachepolicy.Entry) {
	w.time(p.Stored)
	for _, d := range [...]time.Duration{p.Age, p.Lifetime, p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost} {
		w.int(int64(d))
	}
	w.flags(p)
}

// flags writes the flags of a policy, except SoftPurged: a soft purge is written separately.
func (w *encoder) flags(p *cachepolicy.Entry) {
	for _, flag := range [...]bool{p.MustRevalidate, p.NoCache, p.Heuristic, p.SetsCookie} {
		w.bool(flag)
	}
}
