package cache

import (
	"encoding/binary"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A name is the part of an entry that the disk tier needs without reading the rest. It is at the
// start of the head of a record.
type name struct {
	generation Generation
	expired    bool // a soft purge made it stale
	key        string
	secondary  string
	vary       []string
	aliases    []string
	tags       []string
}

// An encoder writes values that a decoder reads in the same order: numbers as varints, other values
// after their length.
type encoder struct{ b []byte }

func (w *encoder) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *encoder) int(n int64) { w.b = binary.AppendVarint(w.b, n) }

func (w *encoder) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *encoder) string(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *encoder) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.b = append(w.b, b...)
}

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

func (w *encoder) name(n *name) {
	w.uint(uint64(n.generation))
	w.bool(n.expired)
	w.string(n.key)
	w.string(n.secondary)
	w.strings(n.vary)
	w.strings(n.aliases)
	w.strings(n.tags)
}

func (w *encoder) policy(p *cachepolicy.Entry) {
	w.time(p.Stored)
	for _, d := range [...]time.Duration{p.Age, p.Lifetime, p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost} {
		w.int(int64(d))
	}
	w.flags(p)
}

// flags writes the flags of a policy, except Ended: a soft purge is written separately.
func (w *encoder) flags(p *cachepolicy.Entry) {
	for _, flag := range [...]bool{p.MustRevalidate, p.NoCache, p.Heuristic, p.SetsCookie} {
		w.bool(flag)
	}
}

func (w *encoder) fields(list []Field) {
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
	w.name(&name{e.generation, expiredAt != 0, e.Key, e.Secondary, e.Vary, aliases, e.Tags})
	w.policy(&e.Policy)
	if expiredAt != 0 {
		w.int(expiredAt)
	}
	w.int(int64(e.Status))
	w.bytes(e.ContentType)
	w.bytes(e.Date)
	w.fields(e.Fields)
	w.fields(e.FieldsWithBody)
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
func encodePurge(p *Purge, generation Generation, now time.Time) []byte {
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
