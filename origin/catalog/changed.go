package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
)

// Changes are the surrogate keys of what differs between two releases; All says that they are too many to name, or not known.
type Changes struct {
	All  bool
	Keys []string // icon/PACK/NAME, pack/PACK and icon.LibraryKey, sorted
}

// maxChanges bounds an answer of Since: with more it is cheaper for an edge to ask for everything again.
const maxChanges = 20_000

// maxAnswers is how many answers of Since are remembered: edges ask for few different ones, again and again.
const maxAnswers = 16

type changes struct {
	from, to string
	Changes
}

// Since tells what differs between an earlier release and now, which is the current one. A release that the store does not
// keep, or can't give now, is All.
func (c *Catalog) Since(ctx context.Context, now *Release, id string) Changes {
	switch {
	case id == now.ID():
		return Changes{}
	case !release.ValidID(id):
		return Changes{All: true}
	}
	if known, ok := c.known(id, now.ID()); ok {
		return known
	}
	before, err := c.Kept(ctx, id)
	if err != nil {
		if !errors.Is(err, ErrNoRelease) {
			c.opts.Log.Warn("telling what changed since a release", "since", id, "because", err)
		}
		return Changes{All: true}
	}
	defer before.Done()
	return c.learn(ctx, before, now)
}

func (c *Catalog) known(from, to string) (Changes, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.changes, func(ch changes) bool { return ch.from == from && ch.to == to })
	if i < 0 {
		return Changes{}, false
	}
	return c.changes[i].Changes, true
}

// learn compares two releases and remembers the answer.
func (c *Catalog) learn(ctx context.Context, before, now *Release) Changes {
	found, err := compare(ctx, before, now)
	if err != nil {
		c.opts.Log.Warn("telling what changed since a release", "since", before.ID(), "because", err)
		return Changes{All: true}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = slices.Insert(c.changes, 0, changes{before.ID(), now.ID(), found})
	c.changes = c.changes[:min(len(c.changes), maxAnswers)]
	return found
}

// compare finds what differs between two releases.
func compare(ctx context.Context, before, now *Release) (Changes, error) {
	keys := []string{icon.LibraryKey}
	for _, p := range now.order {
		old, was := before.packs[p.Pack.Pack]
		switch {
		case !was || !sameCredits(old, p):
			keys = append(keys, packKey(p)) // stands on every answer about the pack, also on those that had no such pack
		case old.blob.Hash != p.blob.Hash:
			names, err := changedIcons(ctx, before, now, p.Pack.Pack)
			if err != nil {
				return Changes{}, err
			}
			keys = append(keys, names...)
		}
		if len(keys) > maxChanges {
			return Changes{All: true}, nil
		}
	}
	for _, old := range before.order {
		if _, still := now.packs[old.Pack.Pack]; !still {
			keys = append(keys, packKey(old))
		}
	}
	slices.Sort(keys)
	return Changes{Keys: keys}, nil
}

func packKey(p *Pack) string { return "pack/" + p.Pack.Pack }

// sameCredits reports whether all that the answer of an icon says of its pack is the same.
func sameCredits(a, b *Pack) bool {
	return a.Name == b.Name && a.LicenseOf() == b.LicenseOf() && a.CommercialUse == b.CommercialUse && a.Attribution == b.Attribution
}

// changedIcons merges the names of a pack before and now, and gives the keys of those that were added, removed or changed.
func changedIcons(ctx context.Context, before, now *Release, pack string) (keys []string, err error) {
	old, err := before.epochs(ctx, pack)
	if err != nil {
		return nil, err
	}
	current, err := now.epochs(ctx, pack)
	if err != nil {
		return nil, err
	}
	add := func(name string) { keys = append(keys, "icon/"+icon.Ref{Pack: pack, Name: name}.String()) }
	for name, id := range current {
		if old[name] != id {
			add(name)
		}
	}
	for name := range old {
		if _, still := current[name]; !still {
			add(name)
		}
	}
	return keys, nil
}

// epochs gives for each name of a pack the release in which it last changed. Where that is the same in two releases, so is
// the drawing. (The number of the publication alone would not do: after a rollback it is given out again.)
func (r *Release) epochs(ctx context.Context, pack string) (map[string]string, error) {
	a, err := r.packs[pack].open(ctx, r.mirror)
	if err != nil {
		return nil, err
	}
	epochs := make(map[string]string, a.Len())
	for e := range a.All() {
		m, err := a.Meta(e)
		if err != nil {
			return nil, err
		}
		epochs[m.Name] = r.manifest.Changed(m.Seq).ID
	}
	return epochs, nil
}
