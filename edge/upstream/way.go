package upstream

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/iconedge/iconedge/tier"
)

// mostSent is how many origins may get one request that comes to nothing: one that breaks whoever takes it must not go through all of them.
const mostSent = 3

// A way is where one request has been, and where it may go from there. Edges that it was to be answered by may be gone, all of a group
// at once: behind them is the next group, the origin itself.
type way struct {
	safe, onward bool
	tried        []*origin
	sent         int            // tries that may have reached somebody, and came to nothing
	beyond       int            // only groups from this one on may be asked
	failed       *http.Response // what an origin said whose own origin had failed; nil: none did
}

// anywhere is for a first try.
func anywhere(*origin) bool { return true }

// open reports whether o may be asked.
func (w *way) open(o *origin) bool { return o.group >= w.beyond && !slices.Contains(w.tried, o) }

// patience is how long the head of o's answer is waited for, 0 without a bound of its own: half of the time where there is somebody else who
// can be asked in the other half.
func (w *way) patience(c *Client, o *origin) time.Duration {
	if !w.safe || !slices.ContainsFunc(c.origins, func(other *origin) bool { return other != o && w.open(other) }) {
		return 0
	}
	return c.firstByte / 2
}

// goesOn takes what came of asking o, and reports whether somebody else is to be asked.
func (w *way) goesOn(ctx context.Context, o *origin, resp *http.Response, err error) bool {
	w.tried = append(w.tried, o)
	switch {
	case err == nil:
		if w.failed != nil || !w.safe || !w.onward || !failing(resp) {
			return false
		}
		w.failed, w.beyond = resp, o.group+1
		return true
	case ctx.Err() != nil:
		return false
	case errors.Is(err, errUnsent):
		return true
	case !w.safe || !errors.Is(err, errLost) && !errors.Is(err, errLate):
		return false
	}
	if w.sent++; w.sent == mostSent-1 {
		w.beyond = max(w.beyond, o.group+1)
	}
	return w.sent < mostSent
}

// again reports whether the one that was asked may be asked once more, since there is no other. That it did not answer in time says that it
// would not.
func (w *way) again(err error) bool {
	return len(w.tried) == 1 && err != nil && !errors.Is(err, ErrUnreachable) && !errors.Is(err, errLate)
}

// best is the answer at the end of the way: where nobody gave another, the failing one.
func (w *way) best(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case w.failed == nil || w.failed == resp:
		return resp, err
	case err != nil:
		return w.failed, nil
	}
	w.failed.Body.Close()
	return resp, nil
}

// failing reports whether an answer says that what is behind an origin has failed, or that the origin does not take this edge for one of
// its own: others may do better.
func failing(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return refused(resp)
}

// refused reports whether an origin wants a proof that this edge has not given.
func refused(resp *http.Response) bool { return resp.Header.Get(tier.FieldWanted) != "" }
