package edge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

var (
	// errStatus reports that the origin answered with an error status.
	errStatus = errors.New("the origin answered with an error status")
	// errUnready reports that the origin is one of ours and has no release yet.
	errUnready = fmt.Errorf("%w: it has no release yet", errStatus)
)

// failed returns the problem for an origin's error response. Our own routes never pass its body on.
// An origin without a release is a 503 and not a 502, because another call after a second would not
// help.
func failed(a *upstream.Response) error {
	if a.Status == http.StatusServiceUnavailable && library.WithoutRelease(a) {
		return problem.New(http.StatusServiceUnavailable, "not ready: the origin has published no release yet; trying again later may help").
			With("Retry-After", "5").Because(errUnready)
	}
	return problem.New(http.StatusBadGateway, "the origin failed; trying again in a moment may help").
		With("Retry-After", "1").Because(fmt.Errorf("%w: %d", errStatus, a.Status))
}

// writeUnready passes the origin's declaration that it has no release yet on to an edge behind this
// one.
func writeUnready(r *request, p *problem.Problem) {
	if errors.Is(p, errUnready) && r.Tier {
		r.Response.Set(icon.FieldReady, "?0")
	}
}
