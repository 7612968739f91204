package cache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entrytest"
)

// A share never has more bytes than it may, loses its oldest entries first, and leaves all others
// alone.
func TestShare(t *testing.T) {
	c := newTest(t, 32<<20)
	s := NewShare(c, 200<<10)
	c.Put(entrytest.New("/other", "x"), c.Generation())
	body := strings.Repeat("x", 5000)
	for i := range 500 {
		if !s.Put(entrytest.New(fmt.Sprint("/", i), body), c.Generation()) {
			t.Fatalf("%d is not stored", i)
		}
	}
	n, oldest := 0, -1
	for i := range 500 {
		if c.Get(fmt.Sprint("/", i)) == nil {
			continue
		}
		if n++; oldest < 0 {
			oldest = i
		}
	}
	if n < 20 || n > 40 || oldest != 500-n || c.Get("/other") == nil {
		t.Errorf("%d of the share's entries are stored, the oldest is %d; another entry: %v", n, oldest, c.Get("/other") != nil)
	}
	if s.Put(entrytest.New("/large", strings.Repeat(body, 5)), c.Generation()) {
		t.Error("an entry that takes much of the share is stored")
	}
}
