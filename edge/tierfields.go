package edge

import (
	"net/http"

	"github.com/iconedge/iconedge/problem"
)

// looped returns the problem for a request that has passed through this edge before. It warns the
// operator only once, because every further request would repeat the warning.
func (h *handler) looped() *problem.Problem {
	h.loopLogged.Do(func() {
		h.opt.Log.Warn("request loop: some --origin leads back to this edge; answering such requests with 508")
	})
	return problem.New(http.StatusLoopDetected, "this request has passed through this server before: the origin of some server leads back to it")
}

// releaseOf returns the release for which a response is current: the one that this edge knew before
// the lookup, because it had by then dropped the entries that this release changed. A response that
// keep stored only briefly, because it names another release, belongs to the release that it names.
func (r *request) releaseOf(f found) string {
	e := f.entry
	if r.known == "" || e.Release == "" || storedBriefly(e) {
		return e.Release
	}
	return r.known
}
