// Package entrytest makes entries for tests of the cache, and compares them.
package entrytest

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/icon"
)

// T0 is the time at which the entries are stored.
var T0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// New returns an entry with a body.
func New(key, body string, tags ...string) *entry.Entry {
	e := &entry.Entry{Key: key, Status: 200, ContentType: []byte("image/svg+xml"), Tags: tags, Validator: `"tag"`}
	e.SetIdentity([]byte(body), `"tag"`)
	return e
}

// Variant returns an entry with Vary.
func Variant(key, secondary, body string, tags ...string) *entry.Entry {
	e := New(key, body, tags...)
	e.Secondary, e.Vary = secondary, []string{"Accept-Language"}
	return e
}

// Own returns an entry like those of our own routes, without codings.
func Own(key, body string) *entry.Entry {
	e := New(key, body, "icon"+strings.TrimSuffix(key, ".svg"), "pack/mdi", "release/0123456789abcdef")
	e.Date, e.Validator, e.Release, e.Monochrome = []byte("Sat, 21 Nov 2026 12:00:00 GMT"),
		`"0123456789abcdef0123456789abcdef"`, "0123456789abcdef", "?1"
	e.SetIdentity([]byte(body), e.Validator)
	surrogate := strings.Join(e.Tags, " ")
	e.Fields = []entry.Field{{Name: []byte("Cache-Control"), Value: []byte("public, max-age=86400")},
		{Name: []byte("Surrogate-Key"), Value: []byte(surrogate)}}
	e.FieldsWithBody = []entry.Field{{Name: []byte("Last-Modified"), Value: []byte("Wed, 21 Oct 2026 07:28:00 GMT")},
		{Name: []byte("Link"), Value: []byte(`<x>; rel="license"`)}}
	e.LastModified = T0
	e.Policy = cachepolicy.Entry{Stored: T0, Lifetime: 24 * time.Hour, StaleWhileRevalidate: time.Hour}
	e.Head = &entry.Head{
		Type:     []byte("Content-Type: image/svg+xml\r\n"),
		Always:   []byte("Access-Control-Allow-Origin: *\r\nCache-Control: public, max-age=86400\r\n"),
		WithBody: []byte("Link: <x>; rel=\"license\"\r\n"),
		Own:      []byte("Date: " + string(e.Date) + "\r\nSurrogate-Key: " + surrogate + "\r\n"),
		OwnBody:  []byte("Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n"),
		Paint:    int32(icon.PaintOf([]byte(body))),
	}
	return e
}

// WithCodings adds the content codings to an entry.
func WithCodings(e *entry.Entry) *entry.Entry {
	e.AddCoding(entry.Gzip)
	e.AddCoding(entry.Brotli)
	return e
}

// Full returns an entry with a value in every field.
func Full() *entry.Entry {
	e := Variant("/page?q=1", "Accept-Language=2:en;", strings.Repeat("<p>text</p>", 100), "tag", "other tag")
	e.Vary = []string{"Accept-Language", "Origin"}
	e.Date, e.Validator, e.Monochrome, e.Release = []byte("Sat, 21 Nov 2026 12:00:00 GMT"), `W/"x"`, "?1", "r1"
	e.Fields = []entry.Field{{Name: []byte("Cache-Control"), Value: []byte("max-age=60")},
		{Name: []byte("Set-Cookie"), Value: []byte("b=2\xff")}, {Name: []byte("X"), Value: nil}}
	e.FieldsWithBody = []entry.Field{{Name: []byte("Link"), Value: []byte("<x>")}}
	e.LastModified = T0.Add(time.Nanosecond)
	e.Policy = cachepolicy.Entry{
		Stored: T0, Age: 1, Lifetime: 2 * time.Hour, StaleWhileRevalidate: 3, StaleIfError: 4, StaleWhenLost: 5,
		MustRevalidate: true, NoCache: true, Heuristic: true, SetsCookie: true,
	}
	WithCodings(e).Hit()
	return e
}

// Same reports whether an entry that was read from disk equals the written one.
func Same(a, b *entry.Entry) bool {
	one, other := a.CopyConfirmed(), b.CopyConfirmed()
	for _, e := range []*entry.Entry{one, other} {
		e.Policy.Stored, e.LastModified = e.Policy.Stored.UTC(), e.LastModified.UTC()
		for _, list := range [][]entry.Field{e.Fields, e.FieldsWithBody} {
			for i := range list {
				list[i] = entry.Field{Name: bytes.Clone(list[i].Name), Value: append([]byte{}, list[i].Value...)}
			}
		}
		e.ContentType, e.Date = append([]byte{}, e.ContentType...), append([]byte{}, e.Date...)
	}
	return reflect.DeepEqual(one, other)
}

// SameHead reports whether two entries have the same Head.
func SameHead(a, b *entry.Entry) bool {
	if a.Head == nil || b.Head == nil {
		return a.Head == b.Head
	}
	parts := func(h *entry.Head) []string {
		return []string{string(h.Type), string(h.Always), string(h.WithBody), string(h.Own), string(h.OwnBody)}
	}
	return slices.Equal(parts(a.Head), parts(b.Head)) && a.Head.Paint == b.Head.Paint
}
