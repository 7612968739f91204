package upstream

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/iconedge/iconedge/internal/tier"
)

// maxTries is how many origins may lose one request. A request that crashes its origins must not
// reach all of them.
const maxTries = 3

// A route records which origins one request was sent to, and decides about further tries. If all
// edges of one group are down, the next group follows, and finally the origin itself.
type route struct {
	safe, onward bool
	tried        []*origin
	lost         int            // tries that may have reached an origin and had no response
	minGroup     int            // only groups from this one on may be tried
	failingResp  *http.Response // a failing response of an earlier origin; nil: none
}

// anyOrigin allows any origin, for a first try.
func anyOrigin(*origin) bool { return true }

// allows reports whether o may be tried.
func (w *route) allows(o *origin) bool {
	return o.group >= w.minGroup && !slices.Contains(w.tried, o)
}

// headTimeout returns how long to wait for the head of o's response, 0 for no limit of its own:
// half of the time if another origin can be tried in the other half.
func (w *route) headTimeout(c *Client, o *origin, firstByte time.Duration) time.Duration {
	if !w.safe || !slices.ContainsFunc(c.set.all(), func(other *origin) bool { return other != o && w.allows(other) }) {
		return 0
	}
	return firstByte / 2
}

// tryNext records the outcome of a try with o, and reports whether another origin is to be tried.
func (w *route) tryNext(ctx context.Context, o *origin, resp *http.Response, err error) bool {
	w.tried = append(w.tried, o)
	switch {
	case err == nil:
		if w.failingResp != nil || !w.safe || !w.onward || !failing(resp) {
			return false
		}
		w.failingResp, w.minGroup = resp, o.group+1
		return true
	case ctx.Err() != nil:
		return false
	case errors.Is(err, errUnsent):
		return true
	case !w.safe || !errors.Is(err, errLost) && !errors.Is(err, errLate):
		return false
	}
	if w.lost++; w.lost == maxTries-1 {
		w.minGroup = max(w.minGroup, o.group+1)
	}
	return w.lost < maxTries
}

// mayRepeat reports whether the only origin may be tried once more. It may not after a timeout,
// because it would time out again.
func (w *route) mayRepeat(err error) bool {
	return len(w.tried) == 1 && err != nil && !errors.Is(err, ErrUnreachable) && !errors.Is(err, errLate)
}

// result returns the final response. If there is no other, it is the failing one.
func (w *route) result(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case w.failingResp == nil || w.failingResp == resp:
		return resp, err
	case err != nil:
		return w.failingResp, nil
	}
	w.failingResp.Body.Close()
	return resp, nil
}

// failing reports whether a response means that the origin's own origin has failed, or that the
// origin refuses this edge's tier secret. Another origin may succeed.
func failing(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return refused(resp)
}

// refused reports whether an origin requires a valid tier secret or certificate.
func refused(resp *http.Response) bool { return resp.Header.Get(tier.FieldWanted) != "" }
