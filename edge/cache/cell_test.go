package cache

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
)

// headed is an entry as those of our own routes are, before its codings are made.
func headed(key, body string) *Entry {
	e := entry(key, body, "icon"+strings.TrimSuffix(key, ".svg"), "pack/mdi", "release/0123456789abcdef")
	e.Date, e.Validator, e.Release, e.Monochrome = []byte("Sat, 21 Nov 2026 12:00:00 GMT"), `"0123456789abcdef0123456789abcdef"`, "0123456789abcdef", "?1"
	e.SetIdentity([]byte(body), e.Validator)
	surrogate := strings.Join(e.Tags, " ")
	e.Fields = []Field{{[]byte("Cache-Control"), []byte("public, max-age=86400")}, {[]byte("Surrogate-Key"), []byte(surrogate)}}
	e.Missing = []Field{{[]byte("Last-Modified"), []byte("Wed, 21 Oct 2026 07:28:00 GMT")}, {[]byte("Link"), []byte(`<x>; rel="license"`)}}
	e.LastModified = t0
	e.Policy = cachepolicy.Entry{Stored: t0, Lifetime: 24 * time.Hour, StaleWhileRevalidate: time.Hour}
	e.Head = &Head{
		Type: []byte("Content-Type: image/svg+xml\r\n"), Always: []byte("Access-Control-Allow-Origin: *\r\nCache-Control: public, max-age=86400\r\n"),
		WithBody: []byte("Link: <x>; rel=\"license\"\r\n"), Own: []byte("Date: " + string(e.Date) + "\r\nSurrogate-Key: " + surrogate + "\r\n"),
		OwnBody: []byte("Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n"), Paints: strings.Count(body, "currentColor"),
	}
	return e
}

func codedOf(e *Entry) *Entry {
	e.AddCodings()
	return e
}

// throughCell packs an entry into a cell, and takes it out again; nil, if it is too large.
func throughCell(t *testing.T, k *commons, seeds *seeds, e *Entry) *Entry {
	t.Helper()
	c := &Cache{seeds: *seeds}
	c.label(e)
	e.id = 7
	p := &parcel{}
	if !p.pack(e, maxCell) {
		return nil
	}
	p.share(k)
	p.cell.number(e)
	words := make([]uint64, p.cell.end()/8+2) // one more, to see that it is left alone
	words[len(words)-1] = 42
	l := (*cell)(unsafe.Pointer(&words[0]))
	p.unload(l)
	got := l.unpack(k)
	if l.keyText() != e.Key || l.secondaryText() != e.Secondary || fmt.Sprint(l.labels()) != fmt.Sprint(e.labels) || words[len(words)-1] != 42 {
		t.Errorf("the cell is called %q %q with the labels %x", l.keyText(), l.secondaryText(), l.labels())
	}
	if got.Freshness() != e.Freshness() || l.freshness(parseCommon(p.commonText(e))) != e.Freshness() {
		t.Errorf("the freshness of the cell is %+v, want %+v", got.Freshness(), e.Freshness())
	}
	clear(words) // a copy stays when the cell goes
	return got
}

// commonText is the common of an entry, as it was before it was shared.
func (p *parcel) commonText(e *Entry) []byte {
	other := &parcel{}
	other.pack(e, maxCell)
	return other.common.b
}

func sameHead(a, b *Entry) bool {
	if a.Head == nil || b.Head == nil {
		return a.Head == b.Head
	}
	return string(a.Head.Type) == string(b.Head.Type) && string(a.Head.Always) == string(b.Head.Always) &&
		string(a.Head.WithBody) == string(b.Head.WithBody) && string(a.Head.Own) == string(b.Head.Own) &&
		string(a.Head.OwnBody) == string(b.Head.OwnBody) && a.Head.Paints == b.Head.Paints
}

// An entry that was in a cell is what it was before.
func TestCell(t *testing.T) {
	var k commons
	k.init(1 << 20)
	seeds := newSeeds()
	far := headed("/far", "body")
	far.Policy.Stored = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	foreign := full()
	foreign.Fields = append(foreign.Fields, Field{[]byte("X-Own"), []byte("Accept-Language")})
	soft := headed("/soft", "body")
	soft.expire(t0.Add(time.Minute), 3)
	for name, tt := range map[string]struct {
		e    *Entry
		fits bool
	}{
		"our own":          {codedOf(headed("/mdi/home.svg", strings.Repeat("<path fill='currentColor'/>", 30))), true},
		"a forwarded one":  {foreign, true},
		"marked stale":     {soft, true},
		"almost nothing":   {entry("", ""), true},
		"far in time":      {far, false},
		"a large one":      {entry("/large", strings.Repeat("x", maxCell)), false},
		"just too large":   {entry("/large", strings.Repeat("x", maxCell-cellStart-30)), false},
		"almost too large": {entry("/large", strings.Repeat("x", maxCell-cellStart-200)), true},
	} {
		for range 3 { // the common is its own, then one of all
			got := throughCell(t, &k, &seeds, tt.e)
			if (got != nil) != tt.fits || got != nil && (!same(got, tt.e) || !sameHead(got, tt.e) || got.hits.Load() != tt.e.hits.Load()) {
				t.Errorf("%s: %+v comes out of its cell as %+v", name, tt.e, got)
			}
		}
	}
}

// What entries have alike is stored once, and goes with the last of them.
func TestCommons(t *testing.T) {
	c := newTest(t, 8<<20)
	for i := range 100 {
		c.Put(headed(fmt.Sprint("/mdi/", i, ".svg"), "body"), c.Now())
	}
	if n := len(c.commons.byText); n != 1 || c.commons.bytes.Load() == 0 {
		t.Errorf("of entries that differ in nothing but what is their own there are %d commons", n)
	}
	for i := range 100 {
		c.Put(headed(fmt.Sprint("/tabler/", i, ".svg"), "body"), c.Now())
		e := entry(fmt.Sprint("/", i), "body")
		e.Fields = []Field{{[]byte("X-Request"), fmt.Append(nil, i)}}
		c.Put(e, c.Now())
	}
	if n := len(c.commons.byText); n != 1 {
		t.Errorf("what came once is common: there are %d", n)
	}
	c.Purge(Purge{All: true}, t0)
	c.tidy()
	if n := len(c.commons.byText); n != 0 || c.commons.bytes.Load() != 0 {
		t.Errorf("%d commons with %d bytes are left of nothing", n, c.commons.bytes.Load())
	}
	consistent(t, c)
}

// Beyond what there is room for an entry carries all of it.
func TestCommonsAreBounded(t *testing.T) {
	c := newTest(t, 1<<20)
	for i := range 200 {
		e := headed(fmt.Sprint("/", i), "body")
		e.Head.Always = bytes.Repeat([]byte(fmt.Sprint("X-", i, "\r\n")), 50)
		c.Put(e, c.Now())
		if got := c.Get(e.Key); got == nil || !same(got, e) || !sameHead(got, e) {
			t.Fatalf("%+v is found as %+v", e, got)
		}
	}
	if n := c.commons.bytes.Load(); n > 1<<20/commonPart {
		t.Errorf("commons take %d bytes", n)
	}
	consistent(t, c)
}

func FuzzCell(f *testing.F) {
	var k commons
	k.init(1 << 30)
	seeds := newSeeds()
	f.Add("/mdi/home.svg", "", "<svg/>", "Date: x\r\nSurrogate-Key: a b\r\n", "Surrogate-Key", "a b", `"tag"`, int64(1), true)
	f.Add("/page", "en", strings.Repeat("x", 500), "", "Set-Cookie", "a=\xff", ``, int64(-1), false)
	f.Fuzz(func(t *testing.T, key, secondary, body, own, name, value, tag string, n int64, head bool) {
		e := entry(key, body, value, tag)
		e.SetIdentity([]byte(body), tag)
		e.Secondary, e.Vary, e.Validator, e.Date = secondary, []string{name}, tag+value, []byte(value)
		e.Fields, e.Missing = []Field{{[]byte(name), []byte(value)}, {[]byte("Link"), []byte(body)}}, []Field{{[]byte(value), []byte(name)}}
		e.Policy = cachepolicy.Entry{Stored: timeOf(n), Age: time.Duration(n), Lifetime: time.Duration(len(body)), NoCache: head, Heuristic: len(own)%2 == 0, SetsCookie: len(name)%2 == 0}
		e.LastModified, e.Status = timeOf(n), len(key)
		if head {
			e.Head = &Head{Type: []byte(name), Always: []byte(value), Own: []byte(own), OwnBody: []byte(tag), Paints: int(int32(n))}
		}
		for c := Gzip; c <= Brotli && head; c++ {
			e.variants[c] = &Variant{Body: []byte(own)[:len(own)/2], ETag: Suffixed(tag, c.String())}
		}
		if got := throughCell(t, &k, &seeds, e); got != nil && (!same(got, e) || !sameHead(got, e)) {
			t.Errorf("%+v comes out of its cell as %+v", e, got)
		}
	})
}
