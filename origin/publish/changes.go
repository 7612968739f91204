package publish

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/origin/release"
)

// ErrRemoval means that a release lacks a pack, or many icons, of the current release, and that
// Options do not allow that.
var ErrRemoval = errors.New("the release would remove icons that people use")

// maxRemoved is the share of the icons of the current release that a publication may remove without
// Options.AllowRemoval: a renamed folder or a half-finished download removes more.
const maxRemoved = 0.05

// maxNamed is the number of names that a list in Changes has. Its Count is exact.
const maxNamed = 20

// Changes are the differences between a release and the release that was current before it.
type Changes struct {
	First                    bool // the store had no current release that could be read
	PacksAdded, PacksRemoved []PackSize
	Packs                    []PackChanges // of the packs of both releases in which icons changed
	// Icons counts the icons and aliases of the earlier release, Removed those that are gone.
	Icons, Removed int
}

// A PackSize is a pack with the number of its icons and aliases.
type PackSize struct {
	Key   string
	Icons int
}

// PackChanges are the names of the icons and aliases of a pack that changed.
type PackChanges struct {
	Key                     string
	Added, Changed, Removed Names
}

// Names are the first names of a list, at most 20, and the number of all.
type Names struct {
	Count int
	First []string
}

func (n *Names) add(name string) {
	if n.Count++; len(n.First) < maxNamed {
		n.First = append(n.First, name)
	}
}

// compareIcon records the change of an icon of the new archive. Icons come in the order of their
// names.
func (w *packWriter) compareIcon(name string, known, same bool) {
	switch {
	case w.old.archive == nil:
	case !known:
		w.changes.Added.add(name)
	case !same:
		w.changes.Changed.add(name)
	}
	w.names = append(w.names, name)
}

// compareRemoved records the icons of the old archive that the new one lacks.
func (w *packWriter) compareRemoved() {
	if w.old.archive == nil {
		return
	}
	for e := range w.old.archive.All() {
		name := w.old.archive.Name(e)
		if _, found := slices.BinarySearch(w.names, name); !found {
			w.changes.Removed.add(name)
		}
	}
}

// changes compares the release with the current one.
func (p *publication) changes(m *release.Manifest, packs []*pack) Changes {
	old := p.prev.manifest
	if old == nil {
		return Changes{First: true}
	}
	var c Changes
	for _, k := range packs {
		key := k.entry.Pack.Key
		if _, ok := old.Pack(key); !ok {
			c.PacksAdded = append(c.PacksAdded, PackSize{key, k.entry.Icons + k.entry.Aliases})
			continue
		}
		if n := &k.changes; n.Added.Count+n.Changed.Count+n.Removed.Count > 0 {
			n.Key = key
			c.Packs = append(c.Packs, *n)
			c.Removed += n.Removed.Count
		}
	}
	for _, k := range old.Packs {
		size := k.Icons + k.Aliases
		c.Icons += size
		if _, ok := m.Pack(k.Pack.Key); !ok {
			c.PacksRemoved = append(c.PacksRemoved, PackSize{k.Pack.Key, size})
			c.Removed += size
		}
	}
	return c
}

// removal returns ErrRemoval if the changes need permission.
func (c *Changes) removal() error {
	if len(c.PacksRemoved) == 0 && float64(c.Removed) <= maxRemoved*float64(c.Icons) {
		return nil
	}
	what := fmt.Sprintf("%s of %s icons", grouped(c.Removed), grouped(c.Icons))
	if n := len(c.PacksRemoved); n > 0 {
		var keys []string
		for _, k := range c.PacksRemoved[:min(n, maxNamed)] {
			keys = append(keys, k.Key)
		}
		what = fmt.Sprintf("%s with the packs %s", what, list(keys, n))
		if n == 1 {
			what = strings.Replace(what, "the packs", "the pack", 1)
		}
	}
	return fmt.Errorf("%w: %s; nothing was published: add the missing SOURCE, or pass --allow-removal", ErrRemoval, what)
}

// write writes the changes for people to read.
func (c *Changes) write(b *strings.Builder) {
	for _, group := range []struct {
		verb  string
		packs []PackSize
	}{{"added", c.PacksAdded}, {"removed", c.PacksRemoved}} {
		for _, k := range group.packs[:min(len(group.packs), maxNamed)] {
			fmt.Fprintf(b, "pack %-8s %s, %s icons\n", group.verb, k.Key, grouped(k.Icons))
		}
		if more := len(group.packs) - maxNamed; more > 0 {
			fmt.Fprintf(b, "pack %-8s and %s more\n", group.verb, grouped(more))
		}
	}
	for _, k := range c.Packs {
		for _, group := range []struct {
			verb  string
			names Names
		}{{"added", k.Added}, {"changed", k.Changed}, {"removed", k.Removed}} {
			if n := group.names; n.Count > 0 {
				fmt.Fprintf(b, "%-8s %s in %s: %s\n", group.verb, grouped(n.Count), k.Key, list(n.First, n.Count))
			}
		}
	}
}

// list joins the first of n names.
func list(first []string, n int) string {
	s := strings.Join(first, ", ")
	if more := n - len(first); more > 0 {
		s += ", and " + grouped(more) + " more"
	}
	return s
}
