package api

import (
	"net/http"
	"time"

	"github.com/iconedge/iconedge/icon"
)

// tellRelease answers GET /-/release, by which edges learn what to drop.
func (a *API) tellRelease(_ http.ResponseWriter, c *call) (*answer, error) {
	r := c.release
	ans := icon.ReleaseAnswer{Release: r.ID(), Created: r.Created().UTC().Format(time.RFC3339), All: true, Changed: []string{}, Names: preparedOf(r).sum}
	if since, given := c.params["since"]; given {
		changes := a.Catalog.Since(c.Context(), r, since)
		ans.All, ans.Changed = changes.All, list(changes.Keys)
		if !changes.All { // then it is the id of a release, and no other input
			ans.Since = since
		}
	}
	return &answer{entity: newEntity(ans), cacheControl: noStore}, nil
}

// health answers GET /healthz: the process lives.
func (a *API) health(http.ResponseWriter, *call) (*answer, error) {
	return &answer{entity: newContent(typeText, []byte("ok\n")), cacheControl: noStore}, nil
}
