package api

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
)

const typeNames = "application/octet-stream"

// names answers GET /-/names?release=STATE. Edges use it to refuse requests for packs and icons
// that do not exist.
func (a *API) names(_ http.ResponseWriter, c *call) (*answer, error) {
	ans := &answer{entity: preparedOf(c.release).names, cacheControl: noStore}
	id, given := c.params["release"]
	switch {
	case given && id != c.release.State():
		return nil, problem.NotFound("only the names of the current release are available; /-/release returns its id")
	case given:
		// Edges need not compress it, because few clients request it.
		ans.cacheControl = forever + ", no-transform"
	}
	return ans, nil
}

// listNames makes the list of names of a release, or takes the one that the mirror has.
func (p *prepared) listNames(r *catalog.Release) error {
	body, sum, err := r.Made(icon.NamesVersion, func() ([]byte, error) {
		all := make([]icon.PackNames, 0, len(r.Packs()))
		for _, pack := range r.Packs() {
			c, err := pack.Open(context.Background())
			if err != nil {
				return nil, err
			}
			all = append(all, icon.PackNames{Key: pack.Pack.Key, Hidden: pack.Hidden, Names: c.Names, Spellings: c.Spellings()})
		}
		return icon.AppendNames(nil, slices.Values(all)), nil
	})
	if err != nil {
		return err
	}
	p.names, p.sum = newContent(typeNames, body), hex.EncodeToString(sum[:])
	return nil
}
