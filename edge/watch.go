package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
)

const (
	// watchFirst is the interval until the origin has first answered. It is short, so that an edge
	// that starts together with its origin is soon ready.
	watchFirst = 250 * time.Millisecond
	// watchEvery is the usual interval. With it, clients see a new release within 5 s.
	watchEvery  = 2 * time.Second
	watchAtMost = 4 * time.Second  // the longest interval while the origin fails
	watchOther  = 30 * time.Second // for an origin without releases, which may get some later

	releaseLifetime = time.Second // freshness lifetime of a response to other edges
	// releaseTag is the surrogate key of these responses. No key of an origin begins with a slash.
	releaseTag = "/-/release"

	unreachedFor = 5 * time.Second // from the first failure to a warning, if no origin was reached
)

// A watch polls the origin for its release, and drops the entries that a new release has changed.
// An origin of other software has no releases; then only header fields decide how long entries
// live.
type watch struct {
	h               *handler
	mu              sync.Mutex    // held during a poll
	failing         bool          // the last poll failed, and a failure has been logged
	since           time.Time     // of the first failure
	unreachedLogged bool          // the warning that no origin was reached has been logged
	skewed          bool          // the warning that the clocks differ has been logged
	sum             string        // checksum of the release's list of names; empty: it has none
	namesDue        chan struct{} // receives when the list has to be fetched
}

var errNoReleases = errors.New("the origin has no releases")

// newWatch returns a watch that starts with the release of the entries on disk, if there are any.
func newWatch(h *handler) *watch {
	if release := h.progress.release; release != "" {
		h.release.Store(&release)
	}
	return &watch{h: h, namesDue: make(chan struct{}, 1)}
}

// run polls the origin until ctx ends.
func (w *watch) run(ctx context.Context) {
	go w.followNames(ctx)
	wait := watchEvery
	for {
		switch err := w.poll(); {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errNoReleases):
			wait = watchOther
		case err != nil && !w.h.reached.Load():
			wait = watchFirst
		case err != nil:
			wait = min(wait+watchEvery, watchAtMost)
		default:
			wait = watchEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// poll polls once. It logs the first of a series of failures, and the success that ends the series.
func (w *watch) poll() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.update()
	failing := err != nil && !errors.Is(err, errNoReleases)
	switch {
	case failing && !w.failing && !w.h.reached.Load():
		w.since = time.Now()
		w.h.log.Info("waiting for the origin", "err", err)
	case failing && !w.h.reached.Load() && !w.unreachedLogged && time.Since(w.since) >= unreachedFor:
		w.unreachedLogged = true
		w.h.log.Warn("no origin reached yet; serving only stored responses, and not ready unless the cache was restored from disk", "err", err)
	case failing && !w.failing:
		w.h.log.Warn("release check failed", "err", err)
	case !failing && w.failing:
		w.h.log.Info("release check succeeds again")
	}
	w.failing = failing
	return err
}

// update asks the origin for the changes since the known release, drops the changed entries, and
// records the new release as known. From then on keep stores responses of the old release only
// briefly.
func (w *watch) update() error {
	known := w.known()
	key := routes.ReleasePath
	if known != "" {
		key += "?since=" + known
	}
	told, a, err := w.h.requestRelease(key, uncoded)
	if err != nil {
		return err
	}
	w.compareClocks(a)
	defer func() { // after the release has been recorded
		w.setNamesSum(told.Names)
		w.h.metrics.SetRelease(told, a.ResponseTime)
	}()
	if told.Release == known {
		return nil
	}
	if told.All || known == "" || told.Since != known {
		w.h.cache.InvalidateAll()
	} else {
		w.h.cache.Invalidate(append(told.Changed, icon.LibraryKey, releaseTag)...)
	}
	w.h.negative.clear()
	w.h.release.Store(&told.Release)
	w.h.progress.setRelease(told.Release) // so that a restart need not drop the whole disk cache
	w.h.shared.announceRelease(told.Release)
	w.h.metrics.Switches.Inc()
	w.h.log.Info("release", "id", told.Release, "before", known, "changed", len(told.Changed), "all", told.All)
	return nil
}

// compareClocks warns if the clocks of this edge and its origin differ. It can tell by Date,
// because the origin's response about its release is at most a few seconds old. The edge corrects
// the Date of our origin's responses (see aged); the age of forwarded responses is wrong by the
// difference.
func (w *watch) compareClocks(a *ownResponse) {
	date, ok := cachepolicy.ParseDate(a.Header.Get("Date"), a.ResponseTime)
	off := a.ResponseTime.Sub(date)
	switch skewed := ok && off.Abs() >= skew; {
	case skewed && !w.skewed:
		w.h.log.Warn("clocks of this edge and its origin differ; one of them is wrong", "ahead_by", off.Round(time.Second))
		w.skewed = true
	case !skewed && w.skewed:
		w.h.log.Info("clocks of this edge and its origin agree again")
		w.skewed = false
	}
}

// setNamesSum records the checksum of the release's list of names, and has the list fetched if the
// edge does not have it.
func (w *watch) setNamesSum(sum string) {
	w.sum = sum
	if n := w.h.currentNames(); sum == "" || n != nil && n.sum == sum {
		return
	}
	select {
	case w.namesDue <- struct{}{}:
	default: // a fetch is already due
	}
}

// known returns the release that the edge last learnt; empty if there is none.
func (w *watch) known() string {
	if p := w.h.release.Load(); p != nil {
		return *p
	}
	return ""
}

// requestRelease asks the origin for its release. The error is errNoReleases if the origin has
// none.
func (h *handler) requestRelease(key string, header http.Header) (told icon.ReleaseAnswer, a *ownResponse, err error) {
	a, err = h.fetchWhole(nil, upstream.Request{Method: http.MethodGet, Target: key, Header: header, SendTierSecret: true, StrictLength: true, TryNextGroup: true})
	switch {
	case err != nil:
		return told, nil, err
	case a.Status == http.StatusNotFound:
		return told, a, errNoReleases
	case a.Status != http.StatusOK:
		return told, a, fmt.Errorf("asking for the release: the origin answered %d", a.Status)
	}
	if err := json.Unmarshal(a.body, &told); err != nil {
		return told, a, fmt.Errorf("%w: %w", errNoReleases, err) // a page of other software
	}
	if !routes.ValidRelease(told.Release) {
		return told, a, fmt.Errorf("%w: the release in its response has no valid id", errNoReleases)
	}
	return told, a, nil
}

// fetchRelease fetches the response about the release for other edges. If it names another release
// than this edge knows, the edge first drops the changed entries itself, because the other edge
// will then fetch the new ones from here.
func (w *watch) fetchRelease(q *fetchRequest, _ *cache.Entry) cache.Result {
	asked := w.h.cache.Generation()
	told, a, err := w.h.requestRelease(q.key, q.header)
	switch {
	case a == nil:
		return cache.Result{Err: err}
	case a.Status >= http.StatusInternalServerError:
		return cache.Result{Err: failed(a.Response)}
	case err == nil && told.Release != w.known():
		if err := w.poll(); err != nil {
			return cache.Result{Err: err}
		}
		asked = w.h.cache.Generation() // the response is newer than the invalidation by look
	}
	e := newOwn(q.key, a.Response, a.body)
	e.Fields = []cache.Field{field("Cache-Control", "no-store")} // in the response
	e.Tags = []string{releaseTag}
	e.Policy = cachepolicy.Entry{Stored: a.ResponseTime, Lifetime: releaseLifetime}
	return cache.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}, Stored: w.h.cache.Put(e, asked)}
}
