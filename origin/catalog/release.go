package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

// A Release is one immutable state of the library. A caller that gets one must call Done after its
// last use of the release and of the icons in it.
type Release struct {
	mirror   *mirror
	manifest *release.Manifest
	packs    map[string]*Pack
	order    []*Pack       // by key
	index    []byte        // mapped; nil in an earlier release
	sets     []release.Set // in the order of the sources; nil in an earlier release
	prepared any
	made     [][]byte // mapped, see Made
	users    atomic.Int64

	withdrawn *withdrawal.Set
}

// newRelease makes a release without open archives and without the withdrawn packs. It has one
// user: the caller.
func newRelease(m *mirror, man *release.Manifest, withdrawn *withdrawal.Set) *Release {
	r := &Release{mirror: m, manifest: man, packs: make(map[string]*Pack, len(man.Packs)), withdrawn: withdrawn}
	for i := range man.Packs {
		e := &man.Packs[i]
		if withdrawn.Pack(e.Pack.Key) {
			continue
		}
		about := e.Pack
		about.Palette = about.Palette || !about.Monochrome // earlier programs do not say it
		p := &Pack{Pack: &about, Hidden: e.Hidden, release: r, blob: e.Archive, seqs: e.Seqs}
		r.packs[e.Pack.Key] = p
		r.order = append(r.order, p)
	}
	r.users.Store(1)
	return r
}

// parallel is the number of objects that are fetched and hashed at a time. It is enough to use the
// network, and the processors of a small machine.
const parallel = 4

// openWhole opens a release whose objects are all in the mirror, so that it needs the store no
// more. An archive that the mirror already has is opened, which checks its hash, by the first use
// of the pack or by Catalog.openRest. An archive with withdrawn icons is opened now, because the
// lists of packs do not count them.
func openWhole(ctx context.Context, m *mirror, man *release.Manifest, withdrawn *withdrawal.Set) (*Release, error) {
	r := newRelease(m, man, withdrawn)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	g.Go(func() (err error) {
		r.index, err = m.mapIndex(ctx, man.Index)
		return err
	})
	g.Go(func() error {
		all, err := m.readSets(ctx, man.Sets)
		r.sets = slices.DeleteFunc(all, func(s release.Set) bool { return withdrawn.Pack(s.Key) })
		return err
	})
	for _, p := range r.order {
		p.held = m.hold(p.blob)
	}
	for _, p := range r.order {
		if m.has(release.ArchiveKey(p.blob.Hash), p.blob.Size) && len(withdrawn.Names(p.Pack.Key)) == 0 {
			continue
		}
		g.Go(func() error {
			_, err := r.open(ctx, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		r.Done()
		return nil, fmt.Errorf("opening release %s: %w", man.ID, err)
	}
	return r, nil
}

// unload takes the pages out of memory that were read to check the release: of an index of a
// gigabyte, searches need a small part.
func (r *Release) unload() {
	unload(r.index)
	for _, data := range r.made {
		unload(data)
	}
}

// Hold adds a user, unless the last user has already called Done. The caller of another Hold can't
// be the last.
func (r *Release) Hold() bool {
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

// Done ends one use of the release. After the last one, its files are closed, and its index is no
// longer in memory.
func (r *Release) Done() {
	if r.users.Add(-1) > 0 {
		return
	}
	unmap(r.index)
	for _, data := range r.made {
		unmap(data)
	}
	for _, p := range r.order {
		if p.held != nil {
			r.mirror.putBack(p.held)
		}
	}
}

// ID returns the hash of the content of the release.
func (r *Release) ID() string { return r.manifest.ID }

// Created returns the time at which the release was first published.
func (r *Release) Created() time.Time { return r.manifest.Created }

// Index returns the search index as published, or nil in an earlier release. Its bytes are those of
// the mirror's file, and may be used until the last Done, but never written.
func (r *Release) Index() []byte { return r.index }

// Sets returns what the sources say about their packs, in the order of the sources. It has no set
// of a withdrawn pack. It is empty in an earlier release, and in one of an earlier program.
func (r *Release) Sets() []release.Set { return r.sets }

// Epoch returns the release in which something with that number last changed.
func (r *Release) Epoch(seq int) release.Epoch { return r.manifest.Changed(seq) }

// Prepared returns the result of Options.Prepare for the release, or nil in an earlier one.
func (r *Release) Prepared() any { return r.prepared }

// Packs returns all packs by key, including hidden ones.
func (r *Release) Packs() []*Pack { return r.order }

// Pack finds a pack by its key, even a hidden one.
func (r *Release) Pack(key string) (*Pack, bool) {
	p, ok := r.packs[key]
	return p, ok
}

// Seqs returns the numbers of the publications that last changed an icon of the pack, ascending.
func (p *Pack) Seqs() []int { return p.seqs }

// Withdrew reports whether an icon or alias of the pack is withdrawn.
func (p *Pack) Withdrew(name string) bool { return p.withdrawn[name] }

// HasWithdrawn reports whether any icon of the pack is withdrawn.
func (p *Pack) HasWithdrawn() bool { return len(p.withdrawn) > 0 }

// A Pack is a pack in a release. Clients can get icons of a hidden pack by name, but no list shows
// it.
type Pack struct {
	*icon.Pack
	Hidden bool

	release *Release
	blob    release.Blob
	seqs    []int
	opening sync.Mutex
	held    *archive                // of the mirror, open or not; nil: not held. Guarded by opening
	archive atomic.Pointer[archive] // held, once it is open

	withdrawn map[string]bool // names, aliases included; set before archive
}

// Content identifies the icons of the pack that clients can get: the SHA-256 of its archive, and
// the withdrawn names.
func (p *Pack) Content() string {
	return p.blob.Hash + " " + strings.Join(slices.Sorted(maps.Keys(p.withdrawn)), " ")
}

// open opens a pack's archive, once.
func (r *Release) open(ctx context.Context, p *Pack) (*archive, error) {
	if a := p.archive.Load(); a != nil {
		return a, nil
	}
	p.opening.Lock()
	defer p.opening.Unlock()
	if a := p.archive.Load(); a != nil {
		return a, nil
	}
	if p.held == nil {
		p.held = r.mirror.hold(p.blob)
	}
	if err := r.mirror.ensure(ctx, p.held, p.blob); err != nil {
		return nil, fmt.Errorf("pack %s: %w: %w", p.Pack.Key, ErrNotOpen, err)
	}
	if names := r.withdrawn.Names(p.Pack.Key); len(names) > 0 {
		if err := p.withdraw(p.held, names); err != nil {
			return nil, fmt.Errorf("pack %s: %w", p.Pack.Key, err)
		}
	}
	p.archive.Store(p.held)
	return p.held, nil
}
