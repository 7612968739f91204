package api

import (
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
	"github.com/iconedge/iconedge/origin/catalog"
)

// packs answers GET /api/v1/packs.
func (a *API) packs(_ http.ResponseWriter, c *call) (*answer, error) {
	commercial, err := c.params.Bool("commercial")
	if err != nil {
		return nil, err
	}
	category, wanted := c.params["category"], c.params["license"]
	e := preparedOf(c.release).packs
	if commercial || category != "" || wanted != "" {
		e = newEntity(listed(c.release, func(p *icon.Pack) bool {
			if commercial && !p.CommercialUse {
				return false
			}
			inCategory := category == "" || strings.EqualFold(p.Category, category)
			return inCategory && (wanted == "" || license.Matches(wanted, p.License))
		}))
	}
	return &answer{entity: e, cacheControl: listsCached, surrogate: icon.LibraryKey}, nil
}

// listed returns the visible packs of a release for which wanted returns true.
func listed(r *catalog.Release, wanted func(*icon.Pack) bool) icon.PacksAnswer {
	packs := []icon.Pack{}
	for _, p := range r.Packs() {
		if !p.Hidden && wanted(p.Pack) {
			packs = append(packs, filled(*p.Pack))
		}
	}
	return icon.PacksAnswer{Total: len(packs), Packs: packs, License: icon.LicenseEach}
}

// filled returns p with empty lists instead of nil ones, which would be null in JSON.
func filled(p icon.Pack) icon.Pack {
	p.Categories, p.Samples, p.Height = list(p.Categories), list(p.Samples), list(p.Height)
	return p
}
