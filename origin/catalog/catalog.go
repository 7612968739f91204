// Package catalog answers which drawing a reference names. It mirrors the current release of an object store to local disk,
// checks every hash, opens the archives, watches the store for the next release and switches to it without a gap: a
// Release is an immutable snapshot that stays open until the last request that uses it is done. Earlier releases that
// the store keeps can be asked for by id.
//
// Of a store it needs only objectstore.Reader. What else has to be made of a release before it can be current, such as a search
// index, is made by Options.Prepare; the catalog does not know what it is.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// Errors of a look-up. ErrNoRelease says that the store does not keep a release of that id.
var (
	ErrNoPack    = errors.New("no such pack")
	ErrNoIcon    = errors.New("no such icon in this pack")
	ErrNoRelease = errors.New("no such release")
)

// Options say where a catalog reads and mirrors. A mirror folder belongs to one catalog.
type Options struct {
	Store   objectstore.Reader
	Mirror  string                      // folder, made when absent
	Poll    time.Duration               // how often Watch looks for a new release
	Prepare func(*Release) (any, error) // makes Release.Prepared; an error refuses the release
	Log     *slog.Logger
}

// A Catalog holds the current release. Its methods may be called from any goroutine, but Watch from one.
type Catalog struct {
	opts    Options
	mirror  *mirror
	current atomic.Pointer[Release]
	counts  counts
	asking  chan struct{} // holds one for each look into the store for an earlier release

	mu      sync.Mutex
	kept    []*Release // earlier releases in use, the latest used first
	changes []changes  // answers of Since, the latest made first
	closed  bool
	flights singleflight.Group // of Kept, by id
}

// New makes an empty catalog over a mirror folder; Start fills it.
func New(opts Options) (*Catalog, error) {
	m, err := openMirror(opts.Mirror, opts.Store)
	if err != nil {
		return nil, err
	}
	c := &Catalog{opts: opts, mirror: m, asking: make(chan struct{}, keptAsking)}
	m.counts = &c.counts
	return c, nil
}

// Start mirrors the store's current release and makes it the catalog's. Where the store can't be reached, or has lost its
// release, the mirror's own is taken; where there is none at all yet, the catalog stays empty until Watch finds one. An object
// that is damaged, with no earlier release in the mirror to fall back on, is an error that names it.
func (c *Catalog) Start(ctx context.Context) error {
	err := c.follow(ctx)
	if err == nil {
		return nil
	}
	c.counts.failed(err)
	if mirrored := c.fallBack(ctx); mirrored == nil {
		c.opts.Log.Error("serving the release that the mirror has", "release", c.current.Load().ID(), "because", err)
		return nil
	} else if !errors.Is(mirrored, fs.ErrNotExist) {
		err = fmt.Errorf("%w; and the mirror: %w", err, mirrored)
	}
	if waitable(err) {
		c.opts.Log.Warn("no release to serve yet", "because", err)
		c.counts.failed(err)
		return nil
	}
	return err
}

// waitable reports whether an operator mends err without starting the origin again: nothing is published yet, or the store is away.
func waitable(err error) bool {
	return errors.Is(err, errNothingPublished) || errors.Is(err, objectstore.ErrUnreachable)
}

var errNothingPublished = errors.New("nothing is published in the store yet: run `iconedge publish`")

// follow makes the release that the store names the current one; it does nothing when that is so already.
func (c *Catalog) follow(ctx context.Context) error {
	id, err := c.mirror.storeCurrent(ctx)
	if err != nil {
		return err
	}
	if now := c.current.Load(); now != nil && now.ID() == id {
		return nil
	}
	m, err := c.mirror.manifest(ctx, id)
	if err != nil {
		return err
	}
	return c.change(ctx, m)
}

// fallBack makes the mirror's own release the current one, from what lies in the mirror where that is whole.
func (c *Catalog) fallBack(ctx context.Context) error {
	m, err := c.mirror.ownManifest()
	if err != nil {
		return err
	}
	return c.change(ctx, m)
}

// change opens the release of m and makes it current; the one before is closed when its last request is done.
func (c *Catalog) change(ctx context.Context, m *release.Manifest) error {
	next, err := openWhole(ctx, c.mirror, m)
	if err != nil {
		return err
	}
	if c.opts.Prepare != nil {
		if next.prepared, err = c.opts.Prepare(next); err != nil {
			next.Done()
			return fmt.Errorf("opening %s: %w", release.IndexKey(m.Index.Hash), err)
		}
	}
	if err := c.mirror.remember(m); err != nil {
		next.Done()
		return err
	}
	before := c.current.Load()
	if before != nil { // made now, while the archives of both are open: every edge is about to ask for it
		c.learn(ctx, before, next)
	}
	c.current.Store(next)
	c.counts.switches.Add(1)
	if before != nil {
		before.Done()
	}
	if err := c.mirror.prune(m.Index); err != nil {
		c.opts.Log.Warn("removing what the mirror no longer needs", "because", err)
	}
	return nil
}

// Current is the current release, nil where there is none yet. The caller calls its Done.
func (c *Catalog) Current() *Release {
	for {
		r := c.current.Load()
		if r == nil || r.hold() {
			return r
		}
	}
}

// Close closes what is open. It is called when no request is under way.
func (c *Catalog) Close() {
	c.mu.Lock()
	c.closed = true
	kept := c.kept
	c.kept = nil
	c.mu.Unlock()
	c.mirror.closing.Store(true)
	for _, r := range kept {
		r.Done()
	}
	if r := c.current.Swap(nil); r != nil {
		r.Done()
	}
}
