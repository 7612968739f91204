package catalog

import (
	"context"
	"time"
)

// maxPatience bounds how many polls pass between two tries at a release that was refused: fetching a damaged archive once a
// second would help nobody.
const maxPatience = 16

// Watch looks for a new release every Options.Poll, until ctx ends. What goes wrong is logged when it begins and when it is over, and
// counted; the release that is current stays so.
func (c *Catalog) Watch(ctx context.Context) {
	tick := time.NewTicker(c.opts.Poll)
	defer tick.Stop()
	w := watcher{patience: 1, said: c.counts.lastError()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(ctx, c)
		}
	}
}

// A watcher is what Watch remembers from one look to the next.
type watcher struct {
	wait     int    // looks to leave out
	patience int    // looks to leave out after the next refusal
	refused  string // id of the release that was refused last
	said     string // the error that the log has
}

func (w *watcher) look(ctx context.Context, c *Catalog) {
	id, err := c.mirror.storeCurrent(ctx)
	if err == nil {
		if id != w.refused {
			w.wait, w.patience, w.refused = 0, 1, ""
		}
		if w.wait > 0 {
			w.wait--
			return
		}
		err = c.follow(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.mended(c)
	default:
		w.failed(c, id, err)
	}
}

func (w *watcher) mended(c *Catalog) {
	if w.said != "" {
		c.opts.Log.Info("following the store again", "release", c.current.Load().ID())
	}
	w.said, w.wait, w.patience, w.refused = "", 0, 1, ""
	c.counts.failed(nil)
}

func (w *watcher) failed(c *Catalog, id string, err error) {
	c.counts.failed(err)
	if id != "" { // the store named a release that can't be had
		c.counts.refused.Add(1)
		w.refused, w.wait = id, w.patience
		w.patience = min(2*w.patience, maxPatience)
	}
	if err.Error() == w.said {
		return
	}
	w.said = err.Error()
	if now := c.current.Load(); now != nil {
		c.opts.Log.Error("staying on the release that is served", "release", now.ID(), "refused", id, "because", err)
		return
	}
	c.opts.Log.Warn("no release to serve yet", "because", err)
}
