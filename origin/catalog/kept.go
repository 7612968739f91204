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
	maxKept     = 3                // earlier releases that are open at a time
	keptTimeout = 10 * time.Second // of asking the store for one
	keptAsking  = 4                // at a time; an id is anything that a client sends
)

// Kept gives a release by its id, the current one or an earlier one that the store keeps; the caller calls its Done. Its archives
// are opened when they are asked for. The error is ErrNoRelease, or the store's.
func (c *Catalog) Kept(ctx context.Context, id string) (*Release, error) {
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
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	_, err, _ := c.flights.Do(id, func() (any, error) {
		// The flight is shared: it does not end because the client that began it went away.
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
	return nil, fmt.Errorf("release %s: more releases are asked for than are kept open", id)
}

// openKept puts a release among those kept open; the one used longest ago makes room.
func (c *Catalog) openKept(ctx context.Context, id string) error {
	man, err := c.mirror.manifest(ctx, id)
	if errors.Is(err, objectstore.ErrNotExist) {
		return ErrNoRelease
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrNoRelease
	}
	c.kept = slices.Insert(c.kept, 0, newRelease(c.mirror, man))
	for len(c.kept) > maxKept {
		c.kept[maxKept].Done()
		c.kept = c.kept[:maxKept]
	}
	return nil
}

// recall gives a release that is kept open, and moves it to the front.
func (c *Catalog) recall(id string) *Release {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(r *Release) bool { return r.ID() == id })
	if i < 0 {
		return nil
	}
	r := c.kept[i]
	copy(c.kept[1:i+1], c.kept[:i])
	c.kept[0] = r
	r.hold()
	return r
}
