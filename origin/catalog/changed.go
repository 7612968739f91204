package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

// Changes lists the surrogate keys of the differences between two releases. All means that they are
// unknown or too many to list.
type Changes struct {
	All  bool
	Keys []string // icon/PACK/NAME, set/PACK, pack/PACK and icon.LibraryKey, sorted
}

// maxChanges bounds a result of Since. With more changes, it is cheaper for an edge to fetch
// everything again.
const maxChanges = 20_000

// maxAnswers is the number of cached results of Since. Edges request few different ones,
// repeatedly.
const maxAnswers = 16

type changes struct {
	from, to string
	Changes
}

// Since returns the differences between an earlier release and now, the current release. It returns
// All for a release that the store does not have or can't deliver.
func (c *Catalog) Since(ctx context.Context, now *Release, id string) Changes {
	switch {
	case id == now.State():
		return Changes{}
	}
	if known, ok := c.cachedChanges(id, now.State()); ok {
		return known
	}
	if now.State() != now.ID() || !release.ValidID(id) {
		// An earlier release is opened with the icons that are withdrawn now, so a comparison would
		// miss those that were withdrawn since.
		return Changes{All: true}
	}
	before, err := c.Stored(ctx, id)
	if err != nil {
		if !errors.Is(err, ErrNoRelease) {
			c.opts.Log.Warn("comparing releases failed", "since", id, "because", err)
		}
		return Changes{All: true}
	}
	defer before.Done()
	return c.compare(ctx, before, now)
}

func (c *Catalog) cachedChanges(from, to string) (Changes, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.changes, func(ch changes) bool { return ch.from == from && ch.to == to })
	if i < 0 {
		return Changes{}, false
	}
	return c.changes[i].Changes, true
}

// compare compares two releases and caches the result.
func (c *Catalog) compare(ctx context.Context, before, now *Release) Changes {
	found, err := compareReleases(ctx, before, now)
	if err != nil {
		c.opts.Log.Warn("comparing releases failed", "since", before.ID(), "because", err)
		return Changes{All: true}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = slices.Insert(c.changes, 0, changes{before.State(), now.State(), found})
	c.changes = c.changes[:min(len(c.changes), maxAnswers)]
	return found
}

// compareReleases returns the differences between two releases.
func compareReleases(ctx context.Context, before, now *Release) (Changes, error) {
	keys := []string{icon.LibraryKey}
	for _, p := range now.order {
		old, was := before.packs[p.Pack.Key]
		switch {
		case !was || !sameCredits(old, p):
			// Is on every answer about the pack, including 404s from before it existed.
			keys = append(keys, packKey(p))
		case old.blob.Hash != p.blob.Hash:
			names, err := changedIcons(ctx, before, now, p.Pack.Key)
			if err != nil {
				return Changes{}, err
			}
			// A whole set has all icons.
			keys = append(append(keys, "set/"+p.Pack.Key), names...)
		}
		if len(keys) > maxChanges {
			return Changes{All: true}, nil
		}
	}
	for _, old := range before.order {
		if _, still := now.packs[old.Pack.Key]; !still {
			keys = append(keys, packKey(old))
		}
	}
	// All icons of a pack with another withdrawal, because caches also have icons of earlier
	// releases, whose aliases the current one may not know.
	for _, key := range withdrawal.Changed(before.withdrawn, now.withdrawn) {
		keys = append(keys, "pack/"+key)
	}
	keys = append(keys, changedSets(before, now)...)
	slices.Sort(keys)
	return Changes{Keys: slices.Compact(keys)}, nil
}

// changedSets returns the keys of the responses that say something about a pack as a whole, such as
// lists of its names, where that has changed. A release without sets differs in all.
func changedSets(before, now *Release) (keys []string) {
	old := map[string]release.Set{}
	for _, s := range before.sets {
		old[s.Key] = s
	}
	for _, s := range now.sets {
		if was, ok := old[s.Key]; !ok || !was.Same(s) {
			keys = append(keys, "set/"+s.Key)
		}
	}
	return keys
}

func packKey(p *Pack) string { return "pack/" + p.Pack.Key }

// sameCredits reports whether the answer of an icon says the same about both packs.
func sameCredits(a, b *Pack) bool {
	return a.Name == b.Name && a.LicenseOf() == b.LicenseOf() && a.CommercialUse == b.CommercialUse && a.Attribution == b.Attribution
}

// changedIcons returns the keys of the icons of a pack that were added, removed or changed.
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

// epochs returns, for each name of a pack, the id of the release in which it last changed. Icons
// with the same id in two releases are the same. (The sequence number of the publication would not
// do, because a rollback causes it to be used again.)
func (r *Release) epochs(ctx context.Context, pack string) (map[string]string, error) {
	p := r.packs[pack]
	a, err := r.open(ctx, p)
	if err != nil {
		return nil, err
	}
	epochs := make(map[string]string, a.Len())
	for e := range a.All() {
		m, err := a.Meta(e)
		if err != nil {
			return nil, err
		}
		if !p.withdrawn[m.Name] {
			epochs[m.Name] = r.manifest.Changed(m.Seq).ID
		}
	}
	return epochs, nil
}
