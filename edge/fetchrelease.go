package edge

import (
	"net/http"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/library"
)

// fetchRelease fetches the response about the release for other edges. If it names another release
// than this edge knows, the edge first drops the changed entries itself, because the other edge
// will then fetch the new ones from here.
func (h *handler) fetchRelease(q *fetchRequest, _ *cache.Entry) cache.Result {
	asked := h.opt.Cache.Generation()
	told, a, err := h.opt.Library.RequestRelease(q.key, q.header)
	switch {
	case a == nil:
		return cache.Result{Err: err}
	case a.Status >= http.StatusInternalServerError:
		return cache.Result{Err: failed(a.Response)}
	case err == nil && told.Release != h.opt.Library.Known():
		if err := h.opt.Library.Poll(); err != nil {
			return cache.Result{Err: err}
		}
		asked = h.opt.Cache.Generation() // the response is newer than the invalidation by look
	}
	e := newOwn(q.key, a.Response, a.Content)
	e.Fields = []cache.Field{field("Cache-Control", "no-store")} // in the response
	e.Tags = []string{library.ReleaseTag}
	e.Policy = cachepolicy.Entry{Stored: a.ResponseTime, Lifetime: library.ReleaseLifetime}
	return cache.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}, Stored: h.opt.Cache.Put(e, asked)}
}
