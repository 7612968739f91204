package site

import (
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
)

// An obligation is a duty that a licence imposes on the user of an icon, in the order from the
// lightest.
type obligation int

const (
	noticeOnly obligation = iota
	attribution
	shareAlike
	copyleft
	nonCommercial
	obligations
)

// obligationTitles are the headings of the groups of licences.
var obligationTitles = [obligations]string{
	"Keep the notice at most", "Attribution", "Share-alike", "Copyleft", "Non-commercial",
}

// obligationTexts tell the user of an icon what to do.
var obligationTexts = [obligations]string{
	"Free for any use. Copies of the icons keep the licence notice, if it has one.",
	"Credit the author where you show the icons.",
	"Credit the author, and share changed icons under the same licence.",
	"Distribute changed icons under the same licence, with their source.",
	"No use for commercial advantage or payment. Credit the author.",
}

// obligationOf returns the heaviest obligation of a licence, by the table of package license.
func obligationOf(spdx string) obligation {
	switch o, _ := license.Of(spdx); {
	case o.Has(license.NonCommercial):
		return nonCommercial
	case o.Has(license.Copyleft):
		return copyleft
	case o.Has(license.ShareAlike):
		return shareAlike
	case o.Has(license.Attribution):
		return attribution
	}
	return noticeOnly
}

// obligationsOf returns the sentence about the obligations of a licence.
func obligationsOf(spdx string) string { return obligationTexts[obligationOf(spdx)] }

// credited reports whether a licence requires that the author is credited where the icon is shown.
func credited(spdx string) bool {
	o, _ := license.Of(spdx)
	return o.Has(license.Attribution)
}

// A licenseGroup is a group of licences with the same heaviest obligation, in a filter.
type licenseGroup struct {
	Title    string
	Licenses []choice
}

// A choice is one option of a select element.
type choice struct {
	Value, Label string
	Selected     bool
}

// licenseGroups returns the licences of packs, in groups by obligation.
func licenseGroups(packs []*icon.Pack, selected string) []licenseGroup {
	var ids [obligations][]string
	for _, p := range packs {
		if o := obligationOf(p.License); !slices.Contains(ids[o], p.License) {
			ids[o] = append(ids[o], p.License)
		}
	}
	var groups []licenseGroup
	for o, list := range ids {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		g := licenseGroup{Title: obligationTitles[o]}
		for _, id := range list {
			g.Licenses = append(g.Licenses, choice{id, id, strings.EqualFold(id, selected)})
		}
		groups = append(groups, g)
	}
	return groups
}
