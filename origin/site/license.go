package site

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
)

// advice returns the sentences about the obligations of a licence.
func advice(spdx string) string { return strings.Join(license.Advice(spdx), " ") }

// credited reports whether a licence requires that the author is credited where the icon is shown.
func credited(spdx string) bool {
	o, _ := license.Of(spdx)
	return o.Has(license.Attribution)
}

// A licenseGroup is a group of licences with the same heaviest obligation, in a filter.
type licenseGroup struct {
	Title    string
	Licenses []choice
	heaviest license.Obligations
	known    bool
}

// A choice is one option of a select element.
type choice struct {
	Value, Label string
	Selected     bool
}

// options returns the options of a select element. It writes them by itself, because a template
// takes as long for those of all packs as for the rest of a page of results.
func options(choices []choice) template.HTML {
	var b strings.Builder
	for _, c := range choices {
		b.WriteString("<option")
		if c.Value != c.Label {
			b.WriteString(` value="` + template.HTMLEscapeString(c.Value) + `"`)
		}
		if c.Selected {
			b.WriteString(" selected")
		}
		b.WriteString(">" + template.HTMLEscapeString(c.Label) + "</option>")
	}
	return template.HTML(b.String())
}

// licenseGroups returns the licences of packs, in groups by obligation, the lightest first. The
// first choice of a group of several is the whole group.
func licenseGroups(packs []*icon.Pack, selected string) (groups []*licenseGroup) {
	for _, p := range packs {
		o, known := p.Obligations()
		g := groupOf(&groups, o.Heaviest(), known)
		if !slices.ContainsFunc(g.Licenses, func(c choice) bool { return c.Value == p.License }) {
			g.Licenses = append(g.Licenses, choice{p.License, p.License, strings.EqualFold(p.License, selected)})
		}
	}
	slices.SortFunc(groups, func(a, b *licenseGroup) int {
		return cmp.Compare(a.weight(), b.weight())
	})
	for _, g := range groups {
		slices.SortFunc(g.Licenses, func(a, b choice) int { return cmp.Compare(a.Value, b.Value) })
		if len(g.Licenses) > 1 && g.known {
			name := g.heaviest.String()
			g.Licenses = slices.Insert(g.Licenses, 0, choice{name, "All of these", name == selected})
		}
	}
	return groups
}

// groupOf finds the group of an obligation, and adds it if it is missing.
func groupOf(groups *[]*licenseGroup, heaviest license.Obligations, known bool) *licenseGroup {
	for _, g := range *groups {
		if g.known == known && (!known || g.heaviest == heaviest) {
			return g
		}
	}
	g := &licenseGroup{Title: license.Unknown, heaviest: heaviest, known: known}
	if known {
		g.Title = heaviest.Heading()
	}
	*groups = append(*groups, g)
	return g
}

// weight orders groups: no conditions, then the obligations from the lightest, then the unknown.
func (g *licenseGroup) weight() int {
	switch {
	case !g.known:
		return 1
	case g.heaviest == 0:
		return -int(license.All()) - 1
	}
	return -int(g.heaviest)
}
