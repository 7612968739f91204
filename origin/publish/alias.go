package publish

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
)

const defaultSide = 16 // of an icon that gives none, and whose pack gives none: defaultIconDimensions of @iconify/utils

// set resolves the aliases and gives every drawing.
func (c *collection) set() *set {
	s := &set{}
	in := c.membership()
	others := map[string][]string{} // icon: its aliases
	for name, e := range c.icons {
		if !icon.ValidKey(name) {
			s.omit(name, badName(name))
			continue
		}
		merged := merge(c.defaults, *e)
		s.drawings = append(s.drawings, drawing{
			name: name, hidden: merged.hidden(), categories: in[name], draw: drawer(e.Body, merged),
		})
	}
	for name := range c.aliases {
		if _, taken := c.icons[name]; taken { // getIconsTree of @iconify/utils: the icon wins
			continue
		}
		chain, of := c.resolve(name)
		switch {
		case !icon.ValidKey(name):
			s.omit(name, badName(name))
			continue
		case of == "":
			s.omit(name, "it is an alias of nothing")
			continue
		case !icon.ValidKey(of):
			s.omit(name, "it is an alias of an icon whose name is not valid")
			continue
		}
		merged := bare()
		for _, link := range chain { // from the alias to the icon, as internalGetIconData does
			merged = merge(*link, merged)
		}
		merged = merge(c.defaults, merged)
		parent := merge(c.defaults, *c.icons[of])
		d := drawing{
			name: name, of: of, same: merged.box() == parent.box() && merged.turn() == parent.turn(),
			hidden: merged.hidden(), categories: union(in[of], in[name]), draw: drawer(c.icons[of].Body, merged),
		}
		if !d.hidden {
			others[of] = append(others[of], name)
		}
		s.drawings = append(s.drawings, d)
	}
	for i := range s.drawings { // an icon's other names are words for it
		d := &s.drawings[i]
		d.tags = slices.Sorted(slices.Values(others[d.name]))
	}
	slices.SortFunc(s.drawings, func(a, b drawing) int { return cmp.Compare(a.name, b.name) })
	return s
}

// badName is what is wrong with the name of something that no icon can be called.
func badName(name string) string {
	if len(name) > icon.MaxKey {
		return fmt.Sprintf("its name has more than %d bytes", icon.MaxKey)
	}
	return "its name is not lower-case letters, digits and single hyphens"
}

// resolve follows an alias to its icon: the aliases on the way and the icon, and its name. It is "" where they lead nowhere.
func (c *collection) resolve(name string) (chain []*entry, of string) {
	seen := map[string]bool{}
	for !seen[name] {
		seen[name] = true
		if e, ok := c.icons[name]; ok {
			return append(chain, e), name
		}
		e, ok := c.aliases[name]
		if !ok {
			return nil, ""
		}
		chain = append(chain, e)
		name = e.Parent
	}
	return nil, "" // it leads back to itself
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
func (c *collection) membership() map[string][]string {
	in := map[string][]string{}
	for _, category := range slices.Sorted(maps.Keys(c.categories)) {
		for _, name := range c.categories[category] {
			if known := in[name]; line(category) != "" && !slices.Contains(known, line(category)) {
				in[name] = append(known, line(category))
			}
		}
	}
	return in
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
