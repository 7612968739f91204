package mcp

import (
	"container/list"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxKept   = 4 << 20     // bytes of answers that are kept, as they came
	heuristic = time.Minute // for which an answer is fresh that says nothing of it (RFC 9111, section 4.2.2)
)

// A cache keeps the API's answers, by their header fields. It is one client's own: what is private may be kept (RFC 9111,
// section 5.2.2.7).
type cache struct {
	mu    sync.Mutex
	kept  map[string]*list.Element
	order *list.List // the last used first
	bytes int
}

type entry struct {
	target string
	answer any
	size   int
	etag   string
	until  time.Time // it is fresh
}

func newCache() *cache { return &cache{kept: map[string]*list.Element{}, order: list.New()} }

// find gives what is kept for a target, fresh or not.
func (c *cache) find(target string) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.kept[target]
	if !ok {
		return entry{}, false
	}
	c.order.MoveToFront(e)
	return *e.Value.(*entry), true
}

// keep stores an answer in place of the one before, and lets go of what was not used for longest.
func (c *cache) keep(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.kept[e.target]; ok {
		c.drop(old)
	}
	if e.size > maxKept/4 {
		return
	}
	c.kept[e.target] = c.order.PushFront(&e)
	for c.bytes += e.size; c.bytes > maxKept; {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	old := c.order.Remove(e).(*entry)
	delete(c.kept, old.target)
	c.bytes -= old.size
}

// freshness says whether an answer may be kept, and for how long it is fresh after now (RFC 9111, section 4.2).
func freshness(h http.Header, now time.Time) (until time.Time, keep bool) {
	lifetime, said := heuristic, false
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store":
			return time.Time{}, false
		case "no-cache":
			lifetime, said = 0, true
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil && !(said && lifetime == 0) {
				lifetime, said = time.Duration(seconds)*time.Second, true
			}
		}
	}
	if age, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil && said {
		lifetime -= time.Duration(age) * time.Second
	}
	return now.Add(max(0, lifetime)), true
}
