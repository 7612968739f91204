package catalog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
)

// A Release is one immutable state of the library. Whoever was given one calls Done when the last use of it, and of the
// icons read from it, is over.
type Release struct {
	mirror   *mirror
	manifest *release.Manifest
	packs    map[string]*Pack
	order    []*Pack // by key
	index    []byte
	prepared any
	users    atomic.Int64
}

// newRelease has no archive open yet. It has one user: the caller.
func newRelease(m *mirror, man *release.Manifest) *Release {
	r := &Release{mirror: m, manifest: man, packs: make(map[string]*Pack, len(man.Packs))}
	for i := range man.Packs {
		e := &man.Packs[i]
		p := &Pack{Pack: &e.Pack, Hidden: e.Hidden, blob: e.Archive}
		r.packs[e.Pack.Pack] = p
		r.order = append(r.order, p)
	}
	r.users.Store(1)
	return r
}

// parallel is how many objects are fetched and hashed at a time: enough for the network, and for the processors of a small machine.
const parallel = 4

// openWhole opens a release with all that it has: what it gives needs no store any more.
func openWhole(ctx context.Context, m *mirror, man *release.Manifest) (*Release, error) {
	r := newRelease(m, man)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	g.Go(func() (err error) {
		r.index, err = m.readIndex(ctx, man.Index)
		return err
	})
	for _, p := range r.order {
		g.Go(func() error {
			_, err := p.open(ctx, m)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		r.Done()
		return nil, fmt.Errorf("opening release %s: %w", man.ID, err)
	}
	return r, nil
}

// hold adds a user, unless the last one has left already.
func (r *Release) hold() bool {
	for {
		n := r.users.Load()
		if n == 0 {
			return false
		}
		if r.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Done ends one use of the release. After the last, its files are closed.
func (r *Release) Done() {
	if r.users.Add(-1) > 0 {
		return
	}
	for _, p := range r.order {
		if a := p.archive.Load(); a != nil {
			r.mirror.giveBack(a)
		}
	}
}

// ID is the hash of what is in the release.
func (r *Release) ID() string { return r.manifest.ID }

// Created is when the release was published first.
func (r *Release) Created() time.Time { return r.manifest.Created }

// Index is the search index, as it was published; nil in an earlier release.
func (r *Release) Index() []byte { return r.index }

// Whole reports whether all of the release is open: the current one is, earlier ones are opened as they are asked for.
func (r *Release) Whole() bool { return r.index != nil }

// Prepared is what Options.Prepare made of the release; nil in an earlier one.
func (r *Release) Prepared() any { return r.prepared }

// Packs are all packs by key, the hidden ones included.
func (r *Release) Packs() []*Pack { return r.order }

// Pack finds a pack by its key, also a hidden one.
func (r *Release) Pack(key string) (*Pack, bool) {
	p, ok := r.packs[key]
	return p, ok
}

// A Pack is a pack in a release. Hidden ones are served by name and left out of lists.
type Pack struct {
	*icon.Pack
	Hidden bool

	blob    release.Blob
	opening sync.Mutex
	archive atomic.Pointer[archive]
}

// open opens the pack's archive, once.
func (p *Pack) open(ctx context.Context, m *mirror) (*archive, error) {
	if a := p.archive.Load(); a != nil {
		return a, nil
	}
	p.opening.Lock()
	defer p.opening.Unlock()
	if a := p.archive.Load(); a != nil {
		return a, nil
	}
	a, err := m.take(ctx, p.blob)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", p.Pack.Pack, err)
	}
	p.archive.Store(a)
	return a, nil
}
