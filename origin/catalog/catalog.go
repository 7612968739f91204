// Package catalog finds the icon that a reference names. It mirrors the current release of an
// object store to a local disk, verifies every hash, and opens the archives. It watches the store
// for the next release and switches to it without interruption: a Release is an immutable snapshot
// that stays open until the last request that uses it is done. Earlier releases that are still in
// the store can be read by id.
//
// The only part of a store that the package needs is objectstore.Reader. Options.Prepare makes
// everything else that a release needs before it can be current, such as a search index; the
// catalog does not know what that is.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

// Errors of a look-up. ErrNoRelease means that the store has no release with that id, ErrNotOpen
// that the archive of a pack can't be read at the moment.
var (
	ErrNoPack    = errors.New("no such pack")
	ErrNoIcon    = errors.New("no such icon in this pack")
	ErrNoRelease = errors.New("no such release")
	ErrNotOpen   = errors.New("the archive can't be read")
)

// Options are the settings of a catalog. No two catalogs may share a mirror folder.
type Options struct {
	Store   objectstore.Reader
	Mirror  string                      // folder, created if missing
	Poll    time.Duration               // interval between two checks of Watch
	Prepare func(*Release) (any, error) // returns Release.Prepared; an error refuses the release
	Log     *slog.Logger
}

// A Catalog holds the current release. All its methods may be called concurrently, except Watch,
// which only one goroutine may call.
type Catalog struct {
	opts       Options
	mirror     *mirror
	current    atomic.Pointer[Release]
	counts     counts
	storeReads chan struct{} // limits concurrent reads of earlier releases from the store

	rest     sync.WaitGroup // see openRest
	stopping context.Context
	stop     context.CancelFunc

	mu      sync.Mutex
	earlier []*Release // open earlier releases, the most recently used first
	changes []changes  // cached results of Since, the latest first
	closed  bool
	fetches singleflight.Group // of Stored, by id
}

// New makes an empty catalog over a mirror folder. Start loads its release.
func New(opts Options) (*Catalog, error) {
	m, err := openMirror(opts.Mirror, opts.Store)
	if err != nil {
		return nil, err
	}
	c := &Catalog{opts: opts, mirror: m, storeReads: make(chan struct{}, maxStoreReads)}
	m.counts = &c.counts
	c.stopping, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Start mirrors the current release of the store and makes it current. If the store is unreachable
// or has lost the release, Start uses the release in the mirror. If there is no release at all yet,
// the catalog stays empty until Watch finds one. If an object is damaged and the mirror has no
// earlier release, Start returns an error that names the object.
func (c *Catalog) Start(ctx context.Context) error {
	err := c.follow(ctx)
	if err == nil {
		return nil
	}
	c.counts.failed(err)
	if mirrored := c.fallBack(ctx); mirrored == nil {
		c.opts.Log.Error("store not usable; serving the mirrored release", "release", c.current.Load().ID(), "because", err)
		return nil
	} else if !errors.Is(mirrored, fs.ErrNotExist) {
		err = fmt.Errorf("%w; and the mirror: %w", err, mirrored)
	}
	if recoverable(err) {
		c.opts.Log.Warn("no release to serve yet", "because", err)
		c.counts.failed(err)
		return nil
	}
	return err
}

// recoverable reports whether err can end without a restart of the origin: nothing has been
// published yet, or the store is unreachable.
func recoverable(err error) bool {
	return errors.Is(err, errNothingPublished) || errors.Is(err, objectstore.ErrUnreachable)
}

var errNothingPublished = errors.New("nothing is published in the store yet: run `iconedge publish`")

// follow makes the release that the store names the current one, without the withdrawn icons. It
// does nothing if both are current already.
func (c *Catalog) follow(ctx context.Context) error {
	id, err := c.mirror.storeCurrent(ctx)
	if err != nil {
		return err
	}
	withdrawn, list, err := c.mirror.storeWithdrawn(ctx)
	if err != nil {
		return err
	}
	now := c.current.Load()
	if now != nil && now.ID() == id && now.withdrawn.Sum() == withdrawn.Sum() {
		return nil
	}
	m, err := c.mirror.manifest(ctx, id)
	if err != nil {
		return err
	}
	if err := c.change(ctx, m, withdrawn, list); err != nil {
		return err
	}
	if now != nil && now.ID() == id {
		c.opts.Log.Info("list of withdrawn icons", "sum", withdrawn.Sum(), "before", now.withdrawn.Sum())
	}
	return nil
}

// fallBack makes the release in the mirror current.
func (c *Catalog) fallBack(ctx context.Context) error {
	m, err := c.mirror.ownManifest()
	if err != nil {
		return err
	}
	withdrawn, list, err := c.mirror.ownWithdrawn()
	if err != nil {
		return err
	}
	return c.change(ctx, m, withdrawn, list)
}

// change opens the release of m without the withdrawn icons, and makes it current. List is the
// content of the object with their list. The previous release is closed when its last request is
// done.
func (c *Catalog) change(ctx context.Context, m *release.Manifest, withdrawn *withdrawal.Set, list []byte) error {
	next, err := openWhole(ctx, c.mirror, m, withdrawn)
	if err != nil {
		return err
	}
	if c.opts.Prepare != nil {
		if next.prepared, err = c.opts.Prepare(next); err != nil {
			next.Done()
			return fmt.Errorf("opening %s: %w", release.IndexKey(m.Index.Hash), err)
		}
	}
	next.unload()
	// The list comes first: after a crash between the two, no withdrawn icon is served.
	if err := errors.Join(c.mirror.setWithdrawn(list), c.mirror.setCurrent(m)); err != nil {
		next.Done()
		return err
	}
	before := c.current.Load()
	// Compare now, while both are open: every edge is about to request the result.
	if before != nil {
		c.compare(ctx, before, next)
	}
	c.current.Store(next)
	c.mirror.used.Store(true)
	c.closeEarlier(func(r *Release) bool { return r.withdrawn.Sum() != withdrawn.Sum() })
	c.counts.switches.Add(1)
	if before != nil {
		before.Done()
	}
	if err := c.mirror.prune(m, next.State()); err != nil {
		c.opts.Log.Warn("pruning the mirror failed", "because", err)
	}
	next.Hold()
	c.rest.Go(func() { c.openRest(next) })
	return nil
}

// openRest opens the archives of the current release that are not open yet, so that all hashes are
// checked, and the first use of a pack need not wait for it. It ends with the use of the release.
func (c *Catalog) openRest(r *Release) {
	defer r.Done()
	failed := 0
	for _, p := range r.order {
		_, err := r.open(c.stopping, p)
		if c.stopping.Err() != nil || c.current.Load() != r {
			return
		}
		if err != nil {
			if failed++; failed == 1 {
				c.opts.Log.Error("pack not usable; the next request for it tries again", "because", err)
			}
		}
	}
	if failed > 1 {
		c.opts.Log.Error("packs not usable", "packs", failed)
	}
}

// TempFile creates an empty file in the mirror, which the next start removes if it is still there.
// Until it is closed, it is locked.
func (c *Catalog) TempFile() (*os.File, error) { return c.mirror.download() }

// Current returns the current release, or nil if there is none yet. The caller must call its Done.
func (c *Catalog) Current() *Release {
	for {
		r := c.current.Load()
		if r == nil || r.Hold() {
			return r
		}
	}
}

// Close closes all open releases. No request may be in progress.
func (c *Catalog) Close() {
	c.mu.Lock()
	c.closed = true
	kept := c.earlier
	c.earlier = nil
	c.mu.Unlock()
	c.mirror.closing.Store(true)
	c.stop()
	c.rest.Wait()
	for _, r := range kept {
		r.Done()
	}
	if r := c.current.Swap(nil); r != nil {
		r.Done()
	}
}
