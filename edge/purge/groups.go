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

	mu      sync.Mutex
	waiting [2]map[string][]string // not announced yet: soft and hard, by URI origin
	begun   bool                   // a background task will announce them
}

// NewGroups returns the groups of an edge, which announces them to its peers.
func NewGroups(p *Purger, peers *Peers) *Groups { return &Groups{purger: p, peers: peers} }

// Invalidate makes the responses of a URI origin in cache groups stale or, if it is hard, removes
// them. It takes effect here at once, and on the other edges soon.
func (g *Groups) Invalidate(origin string, names []string, hard bool) {
	if len(names) == 0 {
		return
	}
	tags := groupTags(origin, names, g.purger.key)
	g.purger.cache.Drop(&cache.Purge{Tags: tags, Soft: !hard}, g.purger.clock.Now())
	if g.peers != nil {
		g.gather(origin, names, hard)
	}
}

// gather remembers groups for the next announcement.
func (g *Groups) gather(origin string, names []string, hard bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	kind := 0
	if hard {
		kind = 1
	}
	if g.waiting[kind] == nil {
		g.waiting[kind] = map[string][]string{}
	}
	all := g.waiting[kind][origin]
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	g.waiting[kind][origin] = all
	if !g.begun {
		g.begun = true
		g.peers.background(g.announce)
	}
}

// announce announces the groups that have been gathered, after GroupDelay.
func (g *Groups) announce() {
	g.peers.sleep(GroupDelay)
	g.mu.Lock()
	waiting := g.waiting
	g.waiting, g.begun = [2]map[string][]string{}, false
	g.mu.Unlock()
	for kind, groups := range waiting {
		for _, call := range split(groups, kind == 0) {
			g.peers.announce(g.purger, call, 0) // which logs a failure
		}
	}
}

// split returns calls for the groups, none of which has too many.
func split(groups map[string][]string, soft bool) (calls []Call) {
	call := Call{Soft: soft}
	for origin, names := range groups {
		for len(names) > 0 {
			n := min(len(names), MaxItems-call.groups())
			if call.CacheGroups == nil {
				call.CacheGroups = map[string][]string{}
			}
			call.CacheGroups[origin], names = names[:n], names[n:]
			if call.groups() == MaxItems {
				calls, call = append(calls, call), Call{Soft: soft}
			}
		}
	}
	if call.groups() > 0 {
		calls = append(calls, call)
	}
	return calls
}

// groupTags returns the surrogate keys of cache groups. key finds the site of the origin; nil:
// there are no sites.
func groupTags(origin string, names []string, key Targets) (tags []string) {
	a, err := parseAddress(origin)
	if err != nil {
		return nil
	}
	for _, name := range names {
		tags = append(tags, cache.GroupTag(a.scheme+"://"+a.host, name))
		if key == nil {
			continue
		}
		if _, site := key(a.name(), "/"); site != "" {
			tags = append(tags, cache.SharedGroupTag(site, name))
		}
	}
	return tags
}
