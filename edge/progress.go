package edge

import (
	"strings"
	"sync"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fleet"
)

// A progress is how far what is cached has come, kept beside it on disk: the release that the edge knows, and its place in the log of
// purges that edges share. After a restart only what came since is dropped. It is one string there, so that neither is written without what it
// rests on: release, space, position; or the release alone.
type progress struct {
	mu                sync.Mutex
	cache             *cache.Cache
	release, position string // empty: unknown
}

// newProgress reads what an earlier life of the edge kept.
func newProgress(c *cache.Cache) *progress {
	p := &progress{cache: c}
	release, position, _ := strings.Cut(c.Label(), " ")
	if releaseID(release) {
		p.release = release
	}
	if fleet.ValidPosition(position) {
		p.position = position
	}
	return p
}

// learnt keeps the release, for which everything has been dropped.
func (p *progress) learnt(release string) { p.keep(func() { p.release = release }) }

// reached keeps the position, up to which everything has been purged.
func (p *progress) reached(position string) { p.keep(func() { p.position = position }) }

func (p *progress) keep(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	label := p.release
	if p.position != "" {
		label += " " + p.position
	}
	p.cache.SetLabel(label)
}
