package edge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

var (
	// errStatus says that the origin answered, and that its answer was a failure.
	errStatus = errors.New("the origin answered a failure")
	// errUnready says besides that it is one of ours, and has no release yet.
	errUnready = fmt.Errorf("%w: it has no release yet", errStatus)
)

// failed makes an error of an origin's failure: its body is never passed on on our own routes. That nothing is published yet is no
// failure that calling again in a second would get around.
func failed(a *upstream.Answer) error {
	if a.Status == http.StatusServiceUnavailable && withoutRelease(a) {
		return problem.New(http.StatusServiceUnavailable, "not ready: there is no release to answer from yet; trying again later may help").
			With("Retry-After", "5").Because(errUnready)
	}
	return problem.New(http.StatusBadGateway, "the origin failed; trying again in a moment may help").
		With("Retry-After", "1").Because(fmt.Errorf("%w: %d", errStatus, a.Status))
}

// withoutRelease reports whether an origin says that it has no release yet.
func withoutRelease(a *upstream.Answer) bool { return a.Header.Get(icon.FieldReady) == "?0" }

// heard notes what an answer tells of the origin: whether requests can be sent here.
func (h *handler) heard(a *upstream.Answer) {
	h.unpublished.Store(withoutRelease(a))
	if a.Status < http.StatusInternalServerError && !withoutRelease(a) {
		h.reached.Store(true)
	}
}

// tellUnready tells an edge behind this one what the origin would: that it has no release yet.
func tellUnready(r *request, p *problem.Problem) {
	if errors.Is(p, errUnready) && r.Tier {
		r.ctx.Response.Header.Set(icon.FieldReady, "?0")
	}
}
