package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/problem"
)

const typeNames = "application/octet-stream"

// names answers GET /-/names?release=ID, by which edges learn which packs and icons there are, so that they need not ask for others.
func (a *API) names(_ http.ResponseWriter, c *call) (*answer, error) {
	ans := &answer{entity: preparedOf(c.release).names, cacheControl: noStore}
	id, given := c.params["release"]
	switch {
	case given && id != c.release.ID():
		return nil, problem.NotFound("the names of that release are not at hand; /-/release tells which one is current")
	case given:
		ans.cacheControl = forever + ", no-transform" // an edge need not make codings of it: the few that ask take it as it is
	}
	return ans, nil
}

// namesOf lists a release, and gives the SHA-256 of the list.
func namesOf(r *catalog.Release) (*entity, string) {
	body := icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		for _, p := range r.Packs() {
			if !yield(icon.PackNames{Key: p.Pack.Pack, Hidden: p.Hidden, Names: p.Names}) {
				return
			}
		}
	})
	sum := sha256.Sum256(body)
	return newContent(typeNames, body), hex.EncodeToString(sum[:])
}
