package api

import (
	"net/http"
	"time"

	"github.com/iconedge/iconedge/icon"
)

// currentRelease answers GET /-/release. Edges use it to learn which answers to invalidate.
func (a *API) currentRelease(_ http.ResponseWriter, c *call) (*answer, error) {
	r := c.release
	ans := icon.ReleaseAnswer{Release: r.ID(), Withdrawn: r.Withdrawn(),
		Created: r.Created().UTC().Format(time.RFC3339), All: true, Changed: []string{}, Names: preparedOf(r).sum}
	if state := r.State(); state != ans.Release {
		ans.State = state
	}
	if since, given := c.params["since"]; given {
		changes := a.Catalog.Since(c.Context(), r, since)
		ans.All, ans.Changed = changes.All, list(changes.Keys)
		if !changes.All { // since is then a known state, so it is safe to repeat
			ans.Since = since
		}
	}
	return &answer{entity: newEntity(ans), cacheControl: noStore}, nil
}

// health answers GET /healthz: the process is running.
func (a *API) health(http.ResponseWriter, *call) (*answer, error) {
	return &answer{entity: newContent(typeText, []byte("ok\n")), cacheControl: noStore}, nil
}
