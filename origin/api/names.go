package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

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

// namesOf returns the list of names of a release, and its SHA-256.
func namesOf(r *catalog.Release) (*entity, string) {
	body := icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		for _, p := range r.Packs() {
			if !yield(icon.PackNames{Key: p.Pack.Key, Hidden: p.Hidden, Names: p.Names, Spellings: p.Spellings()}) {
				return
			}
		}
	})
	sum := sha256.Sum256(body)
	return newContent(typeNames, body), hex.EncodeToString(sum[:])
}
