package client

import (
	"slices"

	"github.com/iconedge/iconedge/icon"
)

// Hits returns the results of a search that a user wants and a program can use: those of the packs
// (empty: all), and those that may be used commercially if commercial is set. It leaves out names
// that are none, and makes every text a single line.
func Hits(a *icon.SearchAnswer, packs []string, commercial bool) []icon.Result {
	var hits []icon.Result
	for _, r := range a.Results {
		c := CreditOf(r.License, r.Attribution, r.CommercialUse)
		named := icon.ValidKey(r.Pack) && icon.ValidKey(r.Name)
		wanted := len(packs) == 0 || slices.Contains(packs, r.Pack)
		if !named || !wanted || commercial && !c.CommercialUse {
			continue
		}
		r.License, r.Attribution, r.CommercialUse, r.PackName = c.License, c.Attribution, c.CommercialUse, Line(r.PackName)
		hits = append(hits, r)
	}
	return hits
}
