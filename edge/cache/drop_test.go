package cache

import (
	"fmt"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

func TestDrop(t *testing.T) {
	tests := []struct {
		name string
		tags []string
		drop func(*Cache)
		kept bool
	}{
		{"another tag", []string{"icon/mdi/home", "pack/mdi"}, func(c *Cache) { c.Invalidate("icon/mdi/account") }, true},
		{"its only tag", []string{"icon/mdi/home"}, func(c *Cache) { c.Invalidate("icon/mdi/home") }, false},
		{"one of its tags", []string{"icon/mdi/home", "pack/mdi"}, func(c *Cache) { c.Invalidate("x", "pack/mdi") }, false},
		{"no tags at all", nil, func(c *Cache) { c.Invalidate("pack/mdi") }, true},
		{"dropping nothing", []string{"pack/mdi"}, func(c *Cache) { c.Invalidate() }, true},
		{"everything", nil, func(c *Cache) { c.InvalidateAll() }, false},
		{"a tag, then everything", nil, func(c *Cache) { c.Invalidate("a"); c.InvalidateAll() }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newTest(t, 8<<20)
			before := c.Generation()
			c.Put(entrytest.New("/stored", "a", tt.tags...), before)
			tt.drop(c)
			if kept := c.Get("/stored") != nil; kept != tt.kept {
				t.Errorf("the entry stored before is found: %v, want %v", kept, tt.kept)
			}
			if stored := c.Put(entrytest.New("/late", "b", tt.tags...), before); stored != tt.kept {
				t.Errorf("the response in flight is stored: %v, want %v", stored, tt.kept)
			}
			if !c.Put(entrytest.New("/new", "c", tt.tags...), c.Generation()) || c.Get("/new") == nil {
				t.Error("the response to a later request is not stored")
			}
		})
	}
}

// Invalidations are discarded when every stored entry has been checked against them. No stored
// entry is lost, and responses that were in flight are not stored.
func TestInvalidationsAreDiscarded(t *testing.T) {
	c := newTest(t, 8<<20)
	before := c.Generation()
	c.Put(entrytest.New("/kept", "a", "kept"), before)
	c.Put(entrytest.New("/dropped", "b", "tag 7"), before)
	tags := make([]string, invalidation.MaxLabels+1)
	for i := range tags {
		tags[i] = fmt.Sprint("tag ", i)
	}
	c.Invalidate(tags...)
	c.tidy()
	if n, _ := c.invalidations.Count(); n > 0 {
		t.Errorf("%d invalidations are left after every entry was checked against them", n)
	}
	if c.Get("/kept") == nil || c.Get("/dropped") != nil {
		t.Error("an entry without a dropped tag is gone, or one with it is found")
	}
	if c.Put(entrytest.New("/late", "c", "tag 7"), before) {
		t.Error("a response requested before a discarded invalidation is stored")
	}
	if !c.Put(entrytest.New("/late", "c", "tag 7"), c.Generation()) {
		t.Error("a response requested after it is not stored")
	}
	if n := c.Stats().Entries; n != 2 {
		t.Errorf("%d entries are stored, want 2", n)
	}
}
