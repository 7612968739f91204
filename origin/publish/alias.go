package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/svg"
)

// defaultSide is the width or height of an icon if neither the icon nor its pack gives one
// (defaultIconDimensions of @iconify/utils).
const defaultSide = 16

// maxChain is the largest number of aliases that lead from a name to its icon, including the name
// itself. In @iconify/json there is at most one.
const maxChain = 32

// set resolves the aliases and returns all icons and aliases.
func (c *collection) set(ctx context.Context) (*set, error) {
	s := &set{about: c.about()}
	in, err := c.membership(ctx)
	if err != nil {
		return nil, err
	}
	for name, e := range c.icons {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !icon.ValidKey(name) {
			s.omit(name, badName(name))
			continue
		}
		merged := merge(c.defaults, *e)
		s.icons = append(s.icons, rawIcon{
			name: name, hidden: merged.hidden(), categories: in[name], clean: cleaner(e.Body, merged),
		})
	}
	if err := c.setAliases(ctx, s, in); err != nil {
		return nil, err
	}
	slices.SortFunc(s.icons, func(a, b rawIcon) int { return cmp.Compare(a.name, b.name) })
	return s, nil
}

// setAliases adds the aliases to s, and their names as tags to their icons.
func (c *collection) setAliases(ctx context.Context, s *set, in map[string][]string) error {
	others := map[string][]string{} // icon: its aliases
	r := resolver{c, map[string]resolved{}}
	for name := range c.aliases {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, taken := c.icons[name]; taken { // the icon wins, as in getIconsTree of @iconify/utils
			continue
		}
		to := r.resolve(name)
		switch {
		case !icon.ValidKey(name):
			s.omit(name, badName(name))
			continue
		case to.reason != "":
			s.omit(name, to.reason)
			continue
		case !icon.ValidKey(to.of):
			s.omit(name, "it is an alias of an icon whose name is not valid")
			continue
		}
		d := c.rawAlias(name, to.of)
		d.categories = union(in[to.of], in[name])
		if !d.hidden {
			others[to.of] = append(others[to.of], name)
		}
		s.icons = append(s.icons, d)
	}
	for i := range s.icons { // search finds an icon by the names of its aliases too
		d := &s.icons[i]
		d.tags = slices.Sorted(slices.Values(others[d.name]))
	}
	return nil
}

// rawAlias returns an alias that resolves to the icon of in at most maxChain steps.
func (c *collection) rawAlias(name, of string) rawIcon {
	merged := emptyEntry()
	parent := c.icons[of]
	// Merge from the alias to the icon, as internalGetIconData of @iconify/utils does.
	for link := name; link != of; link = c.aliases[link].Parent {
		merged = merge(*c.aliases[link], merged)
	}
	turn := merged.asTurn()
	// Iconify merges both turns, which is not one after the other.
	if parent.turn() != (svg.Turn{}) {
		turn = nil
	}
	merged = merge(*parent, merged)
	merged = merge(c.defaults, merged)
	whole := merge(c.defaults, *parent)
	d := rawIcon{
		name: name, of: of, same: merged.box() == whole.box() && merged.turn() == whole.turn(), turn: turn,
		hidden: merged.hidden(), clean: cleaner(parent.Body, merged),
	}
	if d.same {
		d.turn = nil
	}
	d.own = !d.same || d.hidden != whole.hidden()
	return d
}

// asTurn returns what an alias changes of its icon, or nil if it changes nothing.
func (e *entry) asTurn() *release.Turn {
	t := release.Turn{Rotate: int(e.Rotate), HFlip: e.HFlip, VFlip: e.VFlip}
	for _, f := range []struct {
		from float64
		to   **float64
	}{{e.Left, &t.Left}, {e.Top, &t.Top}, {e.Width, &t.Width}, {e.Height, &t.Height}} {
		if !math.IsNaN(f.from) {
			*f.to = &f.from
		}
	}
	if t == (release.Turn{}) {
		return nil
	}
	return &t
}

// badName returns the reason why name, which icon.ValidKey refuses, is invalid.
func badName(name string) string {
	if len(name) > icon.MaxKey {
		return fmt.Sprintf("its name has more than %d bytes", icon.MaxKey)
	}
	return "its name is not lower-case letters, digits and single hyphens"
}

// merge combines entries as mergeIconData of @iconify/utils does: the child's dimensions override
// the parent's, two flips cancel each other, and rotations add up.
func merge(parent, child entry) entry {
	out := entry{
		Left:   numberOr(child.Left, parent.Left),
		Top:    numberOr(child.Top, parent.Top),
		Width:  numberOr(child.Width, parent.Width),
		Height: numberOr(child.Height, parent.Height),
		HFlip:  child.HFlip != parent.HFlip,
		VFlip:  child.VFlip != parent.VFlip,
		Rotate: math.Mod(child.Rotate+parent.Rotate, 4),
		Hidden: child.Hidden,
	}
	if out.Hidden == nil {
		out.Hidden = parent.Hidden
	}
	return out
}

// numberOr returns n, or fallback if n is NaN, which stands for an absent number.
func numberOr(n, fallback float64) float64 {
	if math.IsNaN(n) {
		return fallback
	}
	return n
}

func (e *entry) hidden() bool { return e.Hidden != nil && *e.Hidden }

func (e *entry) box() svg.Box {
	return svg.Box{Left: numberOr(e.Left, 0), Top: numberOr(e.Top, 0), Width: numberOr(e.Width, defaultSide),
		Height: numberOr(e.Height, defaultSide)}
}

func (e *entry) turn() svg.Turn {
	return svg.Turn{HFlip: e.HFlip, VFlip: e.VFlip, Rotate: int(e.Rotate)}
}

func cleaner(body []byte, e entry) func() (svg.Icon, error) {
	return func() (svg.Icon, error) { return svg.CleanTurned(body, e.box(), e.turn()) }
}

// membership returns the sorted categories of each icon and alias.
func (c *collection) membership(ctx context.Context) (map[string][]string, error) {
	in := map[string][]string{}
	type pair struct{ name, category string }
	known := map[pair]bool{}
	for _, category := range slices.Sorted(maps.Keys(c.categories)) {
		title := line(category)
		if title == "" {
			continue
		}
		for _, name := range c.categories[category] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if p := (pair{name, title}); !known[p] {
				known[p] = true
				in[name] = append(in[name], title)
			}
		}
	}
	return in, nil
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
