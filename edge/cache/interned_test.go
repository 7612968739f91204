package cache

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// Header text that entries share is stored once, and removed with the last of them.
func TestInternedHeaders(t *testing.T) {
	c := newTest(t, 8<<20)
	for i := range 100 {
		c.Put(entrytest.Own(fmt.Sprint("/mdi/", i, ".svg"), "body"), c.Generation())
	}
	if n := c.interned.Count(); n != 1 || c.interned.Bytes() == 0 {
		t.Errorf("entries with the same header text have %d interned headers, want 1", n)
	}
	for i := range 100 {
		c.Put(entrytest.Own(fmt.Sprint("/tabler/", i, ".svg"), "body"), c.Generation())
		e := entrytest.New(fmt.Sprint("/", i), "body")
		e.Fields = []entry.Field{{Name: []byte("X-Request"), Value: fmt.Append(nil, i)}}
		c.Put(e, c.Generation())
	}
	if n := c.interned.Count(); n != 1 {
		t.Errorf("header text that occurred once was interned: there are %d headers", n)
	}
	c.Purge(invalidation.Purge{All: true}, t0)
	c.tidy()
	if n := c.interned.Count(); n != 0 || c.interned.Bytes() != 0 {
		t.Errorf("%d interned headers with %d bytes are left after all entries were removed", n, c.interned.Bytes())
	}
	consistent(t, c)
}

// When the table of interned headers is full, an entry has its header text in its slot.
func TestInternedHeadersAreBounded(t *testing.T) {
	c := newTest(t, 1<<20)
	for i := range 200 {
		e := entrytest.Own(fmt.Sprint("/", i), "body")
		e.Head.Always = bytes.Repeat([]byte(fmt.Sprint("X-", i, "\r\n")), 50)
		c.Put(e, c.Generation())
		if got := c.Get(e.Key); got == nil || !entrytest.Same(got, e) || !entrytest.SameHead(got, e) {
			t.Fatalf("%+v is stored as %+v", e, got)
		}
	}
	if n := c.interned.Bytes(); n > 1<<20/32 {
		t.Errorf("interned headers take %d bytes", n)
	}
	consistent(t, c)
}
