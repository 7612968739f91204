package api

import (
	"net/http"

	"github.com/iconedge/iconedge/icon"
)

// suggest answers GET /api/v1/suggest.
func (a *API) suggest(_ http.ResponseWriter, c *call) (*answer, error) {
	q, err := text(c.params)
	if err != nil {
		return nil, err
	}
	found := icon.SuggestAnswer{
		Query: q, Suggestions: list(preparedOf(c.release).index.Complete(q)), License: icon.LicenseNone,
	}
	return &answer{entity: newEntity(found), cacheControl: listsCached, surrogate: icon.LibraryKey}, nil
}
