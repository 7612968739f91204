package library

import (
	"strings"
	"sync"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/routes"
)

// A Progress records up to which release and which shared purge the cache is current, on disk
// beside the cache. After a restart the edge only drops entries that later events concern. The
// record is one string, so that both parts are written together: the release, a space and the
// position in the log of purges; or the release alone.
type Progress struct {
	mu                sync.Mutex
	cache             *cache.Cache
	release, Position string // empty: unknown
}

// newProgress reads the record of the cache on disk.
func newProgress(c *cache.Cache) *Progress {
	p := &Progress{cache: c}
	release, position, _ := strings.Cut(c.Label(), " ")
	if routes.ValidRelease(release) {
		p.release = release
	}
	if fleet.ValidPosition(position) {
		p.Position = position
	}
	return p
}

// setRelease records a release, after the entries that it changed have been dropped.
func (p *Progress) setRelease(release string) { p.update(func() { p.release = release }) }

// SetPosition records a position in the log, after all purges up to it have been done.
func (p *Progress) SetPosition(position string) { p.update(func() { p.Position = position }) }

func (p *Progress) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	label := p.release
	if p.Position != "" {
		label += " " + p.Position
	}
	p.cache.SetLabel(label)
}
