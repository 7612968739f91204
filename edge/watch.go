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
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
)

const (
	watchFirst  = 250 * time.Millisecond // until the origin has answered anything: an edge that starts beside its origin is soon ready
	watchEvery  = 2 * time.Second        // asks for the release: a new one shows within 5 s
	watchAtMost = 4 * time.Second        // between two questions, when the origin fails
	watchOther  = 30 * time.Second       // an origin that has no releases may become one that has
	toldFor     = time.Second            // an answer to other edges is kept
	toldKey     = "/-/release"           // surrogate key of such answers: none of an origin's begins with a slash

	unreachedFor = 5 * time.Second // an edge may wait for its first origin before that is worth a warning
)

// A watch learns from the origin which release it serves, and drops what a new one changed. An origin that is not ours has none:
// then header fields alone decide what is kept.
type watch struct {
	h       *handler
	mu      sync.Mutex    // one question at a time
	failing bool          // logged, until it is over
	since   time.Time     // when it began
	unheard bool          // that no origin has been reached is logged
	skewed  bool          // that the origin's clock is another is logged, until it is not
	sum     string        // of the list of names that goes with the release; empty: there is none
	news    chan struct{} // the list is to be asked for
}

var errNoReleases = errors.New("the origin tells of no releases")

// newWatch begins with the release that what is on disk was made from, if there is anything.
func newWatch(h *handler) *watch {
	if release := h.progress.release; release != "" {
		h.release.Store(&release)
	}
	return &watch{h: h, news: make(chan struct{}, 1)}
}

// run asks until ctx ends.
func (w *watch) run(ctx context.Context) {
	go w.followNames(ctx)
	wait := watchEvery
	for {
		switch err := w.look(); {
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

// look asks once, and logs the first failure of a row and the end of it.
func (w *watch) look() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.learn()
	failing := err != nil && !errors.Is(err, errNoReleases)
	switch {
	case failing && !w.failing && !w.h.reached.Load():
		w.since = time.Now()
		w.h.log.Info("waiting for the origin", "err", err)
	case failing && !w.h.reached.Load() && !w.unheard && time.Since(w.since) >= unreachedFor:
		w.unheard = true
		w.h.log.Warn("no origin has been reached yet: nothing can be answered that is not stored, and the edge is not ready without a store", "err", err)
	case failing && !w.failing:
		w.h.log.Warn("the origin does not tell its release", "err", err)
	case !failing && w.failing:
		w.h.log.Info("the origin tells its release again")
	}
	w.failing = failing
	return err
}

// learn asks what changed since the release that is known, drops it, and knows the new one from then on. What the origin
// makes of the old release from here on is kept for moments only (ask).
func (w *watch) learn() error {
	known := w.known()
	key := releasePath
	if known != "" {
		key += "?since=" + known
	}
	told, a, err := w.h.askRelease(key, uncoded)
	if err != nil {
		return err
	}
	w.compare(a)
	defer func() { // when the release is known
		w.hear(told.Names)
		w.h.metrics.told(told, a.ResponseTime)
	}()
	if told.Release == known {
		return nil
	}
	if told.All || known == "" || told.Since != known {
		w.h.cache.DropAll()
	} else {
		w.h.cache.Drop(append(told.Changed, icon.LibraryKey, toldKey)...)
	}
	w.h.missing.forget()
	w.h.release.Store(&told.Release)
	w.h.progress.learnt(told.Release) // so that after a restart what is on disk is dropped in part only
	w.h.shared.learnt(told.Release)
	w.h.metrics.switches.Inc()
	w.h.log.Info("release", "id", told.Release, "before", known, "changed", len(told.Changed), "all", told.All)
	return nil
}

// compare looks at the clocks of this edge and of its origin, whose answer about a release is never older than a moment. Answers of ours are
// right all the same (aged); those that are forwarded go by Date, and get older or younger by the difference.
func (w *watch) compare(a *ownAnswer) {
	date, ok := cachepolicy.ParseDate(a.Header.Get("Date"), a.ResponseTime)
	off := a.ResponseTime.Sub(date)
	switch skewed := ok && off.Abs() >= skew; {
	case skewed && !w.skewed:
		w.h.log.Warn("the clocks of this edge and of its origin differ: one of them is wrong", "ahead_by", off.Round(time.Second))
		w.skewed = true
	case !skewed && w.skewed:
		w.h.log.Info("the clocks of this edge and of its origin agree again")
		w.skewed = false
	}
}

// hear takes the sum of the list of names that goes with the release, and has the list asked for where it is not here.
func (w *watch) hear(sum string) {
	w.sum = sum
	if n := w.h.currentNames(); sum == "" || n != nil && n.sum == sum {
		return
	}
	select {
	case w.news <- struct{}{}:
	default: // it is being asked for
	}
}

// known is the release that the edge knows; empty, if none.
func (w *watch) known() string {
	if p := w.h.release.Load(); p != nil {
		return *p
	}
	return ""
}

// askRelease asks the origin about its release.
func (h *handler) askRelease(key string, header http.Header) (told icon.ReleaseAnswer, a *ownAnswer, err error) {
	a, err = h.fetchOwn(nil, upstream.Request{Method: http.MethodGet, Target: key, Header: header, Proof: true, Exact: true, Onward: true})
	switch {
	case err != nil:
		return told, nil, err
	case a.Status == http.StatusNotFound:
		return told, a, errNoReleases
	case a.Status != http.StatusOK:
		return told, a, fmt.Errorf("asking for the release: the origin answered %d", a.Status)
	}
	if err := json.Unmarshal(a.body, &told); err != nil {
		return told, a, fmt.Errorf("%w: %w", errNoReleases, err) // some page of somebody else's
	}
	if !releaseID(told.Release) {
		return told, a, fmt.Errorf("%w: what it names is no id", errNoReleases)
	}
	return told, a, nil
}

// ask gets the answer for other edges. Should it name a newer release than this edge knows, the edge makes room for that first:
// who hears of it here may then ask here.
func (w *watch) ask(q *inquiry, _ *cache.Entry) cache.Result {
	asked := w.h.cache.Now()
	told, a, err := w.h.askRelease(q.key, q.header)
	switch {
	case a == nil:
		return cache.Result{Err: err}
	case a.Status >= http.StatusInternalServerError:
		return cache.Result{Err: failed(a.Answer)}
	case err == nil && told.Release != w.known():
		if err := w.look(); err != nil {
			return cache.Result{Err: err}
		}
		asked = w.h.cache.Now() // this answer is newer than what look dropped
	}
	e := newOwn(q.key, a.Answer, a.body)
	e.Fields = []cache.Field{field("Cache-Control", "no-store")} // for clients
	e.Tags = []string{toldKey}
	e.Policy = cachepolicy.Entry{Stored: a.ResponseTime, Lifetime: toldFor}
	return cache.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}, Stored: w.h.cache.Put(e, asked)}
}
