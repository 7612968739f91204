package catalog

import (
	"context"
	"time"
)

// maxBackoff bounds the number of polls that are skipped between two attempts to open a refused
// release: it would not help to fetch a damaged archive once a second.
const maxBackoff = 16

// checkEarlier is the interval between two checks whether the store still has the open earlier
// releases: a pruned release is gone from an origin within a minute.
const checkEarlier = 30 * time.Second

// Watch checks for a new release every Options.Poll, until ctx ends. It counts errors, and logs
// when they begin and when they end; the current release stays current.
func (c *Catalog) Watch(ctx context.Context) {
	tick := time.NewTicker(c.opts.Poll)
	defer tick.Stop()
	w := watcher{backoff: 1, logged: c.counts.lastError()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(ctx, c)
		}
	}
}

// A watcher is the state of Watch between two checks.
type watcher struct {
	skip    int       // number of checks to skip
	backoff int       // number of checks to skip after the next refusal
	refused string    // id of the last refused release
	logged  string    // the error that was last logged
	checked time.Time // when the open earlier releases were last looked up in the store
}

func (w *watcher) look(ctx context.Context, c *Catalog) {
	if now := time.Now(); now.Sub(w.checked) >= checkEarlier {
		w.checked = now
		c.forgetPruned(ctx)
	}
	id, err := c.mirror.storeCurrent(ctx)
	if err == nil {
		if id != w.refused {
			w.skip, w.backoff, w.refused = 0, 1, ""
		}
		if w.skip > 0 {
			w.skip--
			return
		}
		err = c.follow(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.recovered(c)
	default:
		w.failed(c, id, err)
	}
}

func (w *watcher) recovered(c *Catalog) {
	if w.logged != "" {
		c.opts.Log.Info("following the store again", "release", c.current.Load().ID())
	}
	w.logged, w.skip, w.backoff, w.refused = "", 0, 1, ""
	c.counts.failed(nil)
}

func (w *watcher) failed(c *Catalog, id string, err error) {
	c.counts.failed(err)
	if id != "" { // the store named a release that can't be had
		c.counts.refused.Add(1)
		w.refused, w.skip = id, w.backoff
		w.backoff = min(2*w.backoff, maxBackoff)
	}
	if err.Error() == w.logged {
		return
	}
	w.logged = err.Error()
	if now := c.current.Load(); now != nil {
		c.opts.Log.Error("new release refused; serving the previous one", "release", now.ID(), "refused", id, "because", err)
		return
	}
	c.opts.Log.Warn("no release to serve yet", "because", err)
}
