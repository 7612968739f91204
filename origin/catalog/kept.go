package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

const (
	maxKept       = 3                // open earlier releases
	keptTimeout   = 10 * time.Second // for reading one from the store
	maxStoreReads = 4                // concurrent reads, because clients can send any id
)

// Stored returns a release by its id, the current one or an earlier one in the store. The caller
// must call its Done. The archives of an earlier release are opened when they are needed. The error
// is ErrNoRelease, or one of the store.
func (c *Catalog) Stored(ctx context.Context, id string) (*Release, error) {
	if !release.ValidID(id) {
		return nil, ErrNoRelease
	}
	if r := c.Current(); r != nil {
		if r.ID() == id {
			return r, nil
		}
		r.Done()
	}
	if r := c.recall(id); r != nil {
		return r, nil
	}
	select {
	case c.storeReads <- struct{}{}:
		defer func() { <-c.storeReads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	_, err, _ := c.fetches.Do(id, func() (any, error) {
		// Several callers share this fetch, so it must not end when the client that began it
		// disconnects.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keptTimeout)
		defer cancel()
		return nil, c.openKept(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	if r := c.recall(id); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("release %s: too many earlier releases are requested at a time", id)
}

// openKept adds a release to the open earlier ones. If there are too many, the least recently used
// one is closed.
func (c *Catalog) openKept(ctx context.Context, id string) error {
	man, err := c.mirror.manifest(ctx, id)
	if isMissing(err) {
		return ErrNoRelease
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.current.Load()
	if now == nil {
		return ErrNoRelease
	}
	withdrawn := now.withdrawn // a later change closes the releases of another set
	if c.closed {
		return ErrNoRelease
	}
	c.earlier = slices.Insert(c.earlier, 0, newRelease(c.mirror, man, withdrawn))
	for len(c.earlier) > maxKept {
		c.earlier[maxKept].Done()
		c.earlier = c.earlier[:maxKept]
	}
	return nil
}

// isMissing reports whether the store has no release, as its manifest says.
func isMissing(err error) bool { return errors.Is(err, objectstore.ErrNotExist) }

// recall returns an open earlier release, and marks it as the most recently used.
func (c *Catalog) recall(id string) *Release {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.earlier, func(r *Release) bool { return r.ID() == id })
	if i < 0 {
		return nil
	}
	r := c.earlier[i]
	copy(c.earlier[1:i+1], c.earlier[:i])
	c.earlier[0] = r
	r.Hold()
	return r
}
