package purge

import (
	"slices"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
)

// GroupDelay is how long an edge gathers the cache groups that origins invalidate before it
// announces them to the other edges in one purge. Otherwise a busy shop would fill the fleet's log.
const GroupDelay = 50 * time.Millisecond

// Groups invalidates cache groups for origins (RFC 9875, section 3).
type Groups struct {
	purger *Purger
	peers  *Peers

	mu sync.Mutex
	// The groups that are not announced yet. While there are any, a background task will do it.
	waiting map[group]bool
}

// A group is a cache group of a URI origin, and how it is invalidated.
type group struct {
	origin, name string
	hard         bool
}

// NewGroups returns the groups of an edge, which announces them to its peers.
func NewGroups(p *Purger, peers *Peers) *Groups { return &Groups{purger: p, peers: peers} }

// Invalidate makes the responses of a URI origin in cache groups stale or, if it is hard, removes
// them. It takes effect here at once, and on the other edges soon.
func (g *Groups) Invalidate(origin string, names []string, hard bool) {
	tags := groupTags(origin, names, g.purger.key)
	g.purger.cache.Drop(&cache.Purge{Tags: tags, Soft: !hard}, g.purger.clock.Now())
	if g.peers == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.waiting = map[group]bool{}
		g.peers.background(g.announce)
	}
	for _, name := range names {
		g.waiting[group{origin, name, hard}] = true
	}
}

// announce announces the groups that have been gathered, after GroupDelay.
func (g *Groups) announce() {
	g.peers.sleep(GroupDelay)
	g.mu.Lock()
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, call := range slices.Concat(calls(waiting, true), calls(waiting, false)) {
		g.peers.announce(g.purger, call, 0) // which logs a failure
	}
}

// calls returns the soft or the hard calls for groups, none of which has more than MaxItems.
func calls(groups map[group]bool, soft bool) (all []Call) {
	n := 0
	for g := range groups {
		if g.hard == soft {
			continue
		}
		if n%MaxItems == 0 {
			all = append(all, Call{CacheGroups: map[string][]string{}, Soft: soft})
		}
		n++
		named := all[len(all)-1].CacheGroups
		named[g.origin] = append(named[g.origin], g.name)
	}
	return all
}

// groupTags returns the surrogate keys of cache groups. key finds the site of the origin; nil:
// there are no sites.
func groupTags(origin string, names []string, key Targets) (tags []string) {
	a, err := parseAddress(origin)
	if err != nil {
		return nil
	}
	site := ""
	if key != nil {
		_, site = key(a.name(), "/")
	}
	for _, name := range names {
		tags = append(tags, cache.GroupTag(a.scheme+"://"+a.host, name))
		if site != "" {
			tags = append(tags, cache.SharedGroupTag(site, name))
		}
	}
	return tags
}
