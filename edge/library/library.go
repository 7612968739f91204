// Package library holds what an edge knows about an origin of our own software: its release, the
// list of the names in it, and the names that it does not have.
package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	// watchFirst is the interval until the origin has first answered. It is short, so that an edge
	// that starts together with its origin is soon ready.
	watchFirst = 250 * time.Millisecond
	// WatchEvery is the usual interval. With it, clients see a new release within 5 s.
	WatchEvery  = 2 * time.Second
	watchAtMost = 4 * time.Second  // the longest interval while the origin fails
	watchOther  = 30 * time.Second // for an origin without releases, which may get some later

	ReleaseLifetime = time.Second // freshness lifetime of a response to other edges
	// ReleaseTag is the surrogate key of these responses. No key of an origin begins with a slash.
	ReleaseTag = "/-/release"

	// MaxSkew is the difference between clocks from which the Date of a response is considered
	// wrong. The clocks of machines that are synchronised differ by less.
	MaxSkew = time.Minute

	// UnreachedFor is the time from the first failure to a warning, if no origin was reached.
	UnreachedFor = 5 * time.Second
	// unpublishedFor is the same, if the origin has no release yet: at its first start an origin
	// copies one from the store.
	unpublishedFor = time.Minute
)

// An Observer records what a Library learns.
type Observer interface {
	// ReleaseKnown records the origin's answer about its release, which came at a time.
	ReleaseKnown(r icon.ReleaseAnswer, at time.Time)
	// ReleaseSwitched counts a switch to another release.
	ReleaseSwitched()
	// NamesKnown records the number of names in the list.
	NamesKnown(n int)
	// NameAbsent counts a request for a name that is not in the list.
	NameAbsent()
}

// Options configures a Library. All fields are required.
type Options struct {
	Cache      *cache.Cache
	CacheBytes int64 // limit of the cache in memory
	State      *OriginState
	ProxyAll   bool // the path of an unknown pack may belong to another application
	// NoIcons means that the edge serves no icons: it never asks the origin for a release.
	NoIcons bool
	// Fetch fetches a whole response from the origin.
	Fetch func(upstream.Request) (*upstream.WholeResponse, error)
	// Do sends a request to the origin; see upstream.Client.
	Do func(context.Context, upstream.Request) (*upstream.Response, error)
	// Connect opens a connection to an origin, and closes it.
	Connect func(context.Context) error
	// Announce publishes a new release to other edges.
	Announce func(release string)
	Observer Observer
	Log      *slog.Logger
}

// A Library is what an edge knows about an origin of our own software. It polls the origin for its
// release, drops the entries that a new release has changed, and holds the list of its names and
// the negative cache. An origin of other software has no releases; then only header fields decide
// how long entries live.
type Library struct {
	Options
	Negative *NegativeCache
	Progress *Progress
	release  atomic.Pointer[string] // last known state of the origin's release; nil: none
	newest   atomic.Pointer[string] // the same, before the entries that it changed were dropped
	// withdrawn has the icons and packs that the operator has withdrawn; nil: unknown, or none.
	withdrawn atomic.Pointer[map[string]bool]
	foreign   atomic.Bool
	names     atomic.Pointer[nameList] // names of that release; nil: no list, or not yet
	hints     ratelimit.PerSecond

	mu              sync.Mutex    // held during a poll
	failing         bool          // the last poll failed, and a failure has been logged
	Since           time.Time     // of the first failure
	unreachedLogged bool          // the warning that no origin was reached has been logged
	skewed          bool          // the warning that the clocks differ has been logged
	identifying     sync.Mutex    // held while requests wait for a poll
	unidentified    time.Time     // end of the last poll for which a request waited
	identifyErr     error         // its result
	sum             string        // checksum of the release's list of names; empty: it has none
	NamesDue        chan struct{} // receives when the list has to be fetched
}

var (
	ErrNoReleases  = errors.New("the origin has no releases")
	errUnpublished = errors.New("the origin has no release yet, or is still reading it")
)

// New returns a library that knows the release of the entries on disk, if there are any.
func New(o Options) *Library {
	l := &Library{Options: o, Negative: NewNegative(o.CacheBytes), Progress: newProgress(o.Cache), NamesDue: make(chan struct{}, 1)}
	if l.Progress.release != "" && !o.NoIcons {
		l.Restore(l.Progress.release)
	}
	return l
}

// Restore records a release as known, because all stored entries are of that release.
func (l *Library) Restore(release string) {
	l.newest.Store(&release)
	l.release.Store(&release)
}

// MayGetSecret reports whether requests to the origin may carry the secret between tiers. They may
// if the origin has named a release, as our origins and the edges in front of them do, or for a
// request on one of the edge's own routes, if no path is forwarded. With --proxy-all the origin may
// be other software, and a page of it that shows the fields of its request would reveal the secret
// to any client.
func (l *Library) MayGetSecret(ownRoute bool) bool {
	return ownRoute && !l.ProxyAll || l.release.Load() != nil
}

// Run polls the origin until ctx ends. Without icons it only waits until an origin accepts a
// connection.
func (l *Library) Run(ctx context.Context) {
	if l.NoIcons {
		l.connect(ctx)
		return
	}
	go l.followNames(ctx)
	wait := WatchEvery
	for {
		switch err := l.Poll(); {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrNoReleases):
			wait = watchOther
		case err != nil && !l.State.Reached():
			wait = watchFirst
		case err != nil:
			wait = min(wait+WatchEvery, watchAtMost)
		default:
			wait = WatchEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Poll polls once. It logs the first of a series of failures, and the success that ends the series.
func (l *Library) Poll() error {
	if l.NoIcons {
		return ErrNoReleases
	}
	return l.try(l.update)
}

// connect tries to connect to an origin until one accepts, or ctx ends. Then the edge is ready.
func (l *Library) connect(ctx context.Context) {
	for !l.State.Reached() {
		err := l.try(func() error {
			err := l.Connect(ctx)
			if err == nil {
				l.State.reached.Store(true)
			}
			return err
		})
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchFirst):
		}
	}
}

// try asks the origin by ask, and logs failures as Poll says.
func (l *Library) try(ask func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := ask()
	failing := err != nil && !errors.Is(err, ErrNoReleases)
	switch {
	case failing && !l.failing && !l.State.Reached():
		l.Since = time.Now()
		l.Log.Info("waiting for the origin", "err", err)
	case failing && errors.Is(err, errUnpublished) && time.Since(l.Since) < unpublishedFor:
	case failing && !l.State.Reached() && !l.unreachedLogged && time.Since(l.Since) >= UnreachedFor:
		l.unreachedLogged = true
		l.Log.Warn("no origin reached yet; serving only stored responses, and not ready unless the cache was restored from disk", "err",
			err)
	case failing && !l.failing:
		l.Log.Warn("release check failed", "err", err)
	case !failing && l.failing && err != nil: // other software, which has no releases
		l.Log.Info("origin reachable again")
	case !failing && l.failing:
		l.Log.Info("release check succeeds again")
	}
	l.failing = failing
	return err
}

// update asks the origin for the changes since the known release, records the new release as the
// newest, drops the changed entries, and records the release as known. From the first of these
// steps on the edge stores responses of the old release only briefly: a tier before it may not have
// the new one yet.
func (l *Library) update() error {
	known := l.Known()
	key := routes.ReleasePath
	if known != "" {
		key += "?since=" + known
	}
	told, a, err := l.RequestRelease(key, http.Header{"Accept-Encoding": {"identity"}})
	if err == nil || errors.Is(err, ErrNoReleases) { // other failures say nothing about the origin
		l.foreign.Store(err != nil && known == "")
	}
	if err != nil {
		return err
	}
	l.compareClocks(a)
	defer func() { // after the release has been recorded
		l.setNamesSum(told.Names)
		l.Observer.ReleaseKnown(told, a.ResponseTime)
	}()
	if told.State == known {
		return nil
	}
	// Both before the entries are dropped, because the next request for them may fetch them again
	// from a tier that has not dropped its own yet.
	l.newest.Store(&told.State)
	l.withdrawn.Store(setOf(told.Withdrawn))
	if told.All || known == "" || told.Since != known {
		l.Cache.InvalidateAll()
	} else {
		l.Cache.Invalidate(append(told.Changed, icon.LibraryKey, ReleaseTag)...)
	}
	l.Negative.Clear()
	l.release.Store(&told.State)
	l.Progress.setRelease(told.State) // so that a restart need not drop the whole disk cache
	l.Announce(told.State)
	l.Observer.ReleaseSwitched()
	l.Log.Info("release", "id", told.State, "before", known, "changed", len(told.Changed), "all", told.All,
		"withdrawn", len(told.Withdrawn))
	return nil
}

// compareClocks warns if the clocks of this edge and its origin differ. It can tell by Date,
// because the origin's response about its release is at most a few seconds old. The edge corrects
// the Date of our origin's responses (see aged); the age of forwarded responses is wrong by the
// difference.
func (l *Library) compareClocks(a *upstream.WholeResponse) {
	date, ok := cachepolicy.ParseDate(a.Header.Get("Date"), a.ResponseTime)
	off := a.ResponseTime.Sub(date)
	switch skewed := ok && off.Abs() >= MaxSkew; {
	case skewed && !l.skewed:
		l.Log.Warn("clocks of this edge and its origin differ; one of them is wrong", "ahead_by", off.Round(time.Second))
		l.skewed = true
	case !skewed && l.skewed:
		l.Log.Info("clocks of this edge and its origin agree again")
		l.skewed = false
	}
}

// setNamesSum records the checksum of the release's list of names, and has the list fetched if the
// edge does not have it.
func (l *Library) setNamesSum(sum string) {
	l.sum = sum
	if n := l.CurrentNames(); sum == "" || n != nil && n.sum == sum {
		return
	}
	select {
	case l.NamesDue <- struct{}{}:
	default: // a fetch is already due
	}
}

// Known returns the release that the edge last learnt, after it has dropped what that release
// changed: all entries stored before are current. Empty means that there is none.
func (l *Library) Known() string { return valueOf(&l.release) }

// Newest returns the release that the edge last learnt, before it drops what that release changed.
// A response to a request that was sent after the drop and that names another release is not
// current.
func (l *Library) Newest() string { return valueOf(&l.newest) }

func valueOf(p *atomic.Pointer[string]) string {
	if s := p.Load(); s != nil {
		return *s
	}
	return ""
}

// IsForeign reports whether the origin is other software: it has no releases, and had none before.
func (l *Library) IsForeign() bool { return l.foreign.Load() }

// Identify makes sure that the edge knows whether its origin has releases, because addresses of
// Iconify's API differ at an origin of other software. It polls the origin if nothing is known yet,
// and returns the error of a poll that failed. Requests that wait for a poll share its result.
func (l *Library) Identify() error {
	if l.Known() != "" || l.IsForeign() || l.NoIcons {
		return nil
	}
	l.identifying.Lock()
	defer l.identifying.Unlock()
	if l.Known() != "" || l.IsForeign() {
		return nil
	}
	if now := time.Now(); now.Sub(l.unidentified) >= watchFirst {
		l.identifyErr = l.Poll()
		l.unidentified = time.Now()
	}
	if l.identifyErr == nil || errors.Is(l.identifyErr, ErrNoReleases) || errors.Is(l.identifyErr, errUnpublished) {
		return nil
	}
	if p, ok := errors.AsType[*problem.Problem](l.identifyErr); ok {
		return p
	}
	return problem.New(http.StatusBadGateway, "the origin failed; trying again in a moment may help").With(
		"Retry-After", "1").Because(l.identifyErr).OfType(upstream.TypeOf(l.identifyErr))
}

// setOf returns a set of targets.
func setOf(targets []string) *map[string]bool {
	set := make(map[string]bool, len(targets))
	for _, t := range targets {
		set[t] = true
	}
	return &set
}

// isWithdrawn reports whether an icon, PACK/NAME, or a pack is withdrawn.
func (l *Library) isWithdrawn(name string) bool {
	set := l.withdrawn.Load()
	if set == nil || len(*set) == 0 {
		return false
	}
	pack, _, _ := strings.Cut(name, "/")
	return (*set)[name] || (*set)[pack]
}

// RequestRelease asks the origin for its release. The error is ErrNoReleases if the origin has
// none.
func (l *Library) RequestRelease(key string, header http.Header) (told icon.ReleaseAnswer, a *upstream.WholeResponse, err error) {
	a, err = l.Fetch(upstream.Request{Method: http.MethodGet, Target: key, Header: header, SendTierSecret: true,
		StrictLength: true, TryNextGroup: true})
	switch {
	case err != nil:
		return told, nil, err
	case a.Status == http.StatusNotFound:
		return told, a, ErrNoReleases
	case a.Status == http.StatusServiceUnavailable && WithoutRelease(a.Response):
		return told, a, fmt.Errorf("%w: asking for the release: the origin answered %d", errUnpublished, a.Status)
	case a.Status != http.StatusOK:
		return told, a, fmt.Errorf("asking for the release: the origin answered %d", a.Status)
	}
	if err := json.Unmarshal(a.Content, &told); err != nil {
		return told, a, fmt.Errorf("%w: %w", ErrNoReleases, err) // a page of other software
	}
	if told.State == "" { // nothing is withdrawn
		told.State = told.Release
	}
	if !routes.ValidRelease(told.State) {
		return told, a, fmt.Errorf("%w: the release in its response has no valid id", ErrNoReleases)
	}
	return told, a, nil
}
