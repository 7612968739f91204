package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
)

const defaultSide = 16 // of an icon that gives none, and whose pack gives none: defaultIconDimensions of @iconify/utils

// maxChain is how many aliases may lie between a name and its icon, itself among them. In @iconify/json there is at most one.
const maxChain = 32

// set resolves the aliases and gives every drawing.
func (c *collection) set(ctx context.Context) (*set, error) {
	s := &set{}
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
		s.drawings = append(s.drawings, drawing{
			name: name, hidden: merged.hidden(), categories: in[name], draw: drawer(e.Body, merged),
		})
	}
	if err := c.setAliases(ctx, s, in); err != nil {
		return nil, err
	}
	slices.SortFunc(s.drawings, func(a, b drawing) int { return cmp.Compare(a.name, b.name) })
	return s, nil
}

// setAliases adds the aliases, and to their icons that they are also called so.
func (c *collection) setAliases(ctx context.Context, s *set, in map[string][]string) error {
	others := map[string][]string{} // icon: its aliases
	r := resolver{c, map[string]resolved{}}
	for name := range c.aliases {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, taken := c.icons[name]; taken { // getIconsTree of @iconify/utils: the icon wins
			continue
		}
		to := r.resolve(name)
		switch {
		case !icon.ValidKey(name):
			s.omit(name, badName(name))
			continue
		case to.why != "":
			s.omit(name, to.why)
			continue
		case !icon.ValidKey(to.of):
			s.omit(name, "it is an alias of an icon whose name is not valid")
			continue
		}
		d := c.drawAlias(name, to.of)
		d.categories = union(in[to.of], in[name])
		if !d.hidden {
			others[to.of] = append(others[to.of], name)
		}
		s.drawings = append(s.drawings, d)
	}
	for i := range s.drawings { // an icon's other names are words for it
		d := &s.drawings[i]
		d.tags = slices.Sorted(slices.Values(others[d.name]))
	}
	return nil
}

// drawAlias is the drawing of an alias that resolves to an icon, in at most maxChain steps.
func (c *collection) drawAlias(name, of string) drawing {
	merged := bare()
	for link := name; link != of; link = c.aliases[link].Parent { // from the alias to the icon, as internalGetIconData does
		merged = merge(*c.aliases[link], merged)
	}
	merged = merge(*c.icons[of], merged)
	merged = merge(c.defaults, merged)
	parent := merge(c.defaults, *c.icons[of])
	return drawing{
		name: name, of: of, same: merged.box() == parent.box() && merged.turn() == parent.turn(),
		hidden: merged.hidden(), draw: drawer(c.icons[of].Body, merged),
	}
}

// badName is what is wrong with the name of something that no icon can be called.
func badName(name string) string {
	if len(name) > icon.MaxKey {
		return fmt.Sprintf("its name has more than %d bytes", icon.MaxKey)
	}
	return "its name is not lower-case letters, digits and single hyphens"
}

// merge is mergeIconData of @iconify/utils: the child's sides count before the parent's, flips cancel, turns add up.
func merge(parent, child entry) entry {
	out := entry{
		Left:   given(child.Left, parent.Left),
		Top:    given(child.Top, parent.Top),
		Width:  given(child.Width, parent.Width),
		Height: given(child.Height, parent.Height),
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

func given(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return a
}

func (e *entry) hidden() bool { return e.Hidden != nil && *e.Hidden }

func (e *entry) box() svg.Box {
	return svg.Box{Left: given(e.Left, 0), Top: given(e.Top, 0), Width: given(e.Width, defaultSide), Height: given(e.Height, defaultSide)}
}

func (e *entry) turn() svg.Turn {
	return svg.Turn{HFlip: e.HFlip, VFlip: e.VFlip, Rotate: int(e.Rotate)}
}

func drawer(body []byte, e entry) func() (svg.Drawing, error) {
	return func() (svg.Drawing, error) { return svg.CleanTurned(body, e.box(), e.turn()) }
}

// membership turns the categories around: for each name, those that it is in, sorted.
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
