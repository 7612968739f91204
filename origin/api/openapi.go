package api

import (
	"net/http"

	"github.com/iconedge/iconedge/icon"
)

// describe answers GET /api/v1/openapi.json.
func (a *API) describe(http.ResponseWriter, *call) (*answer, error) {
	return &answer{entity: a.openapi, cacheControl: listsCached, surrogate: icon.LibraryKey}, nil
}
