package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// maxNames bounds a list of names, in bytes: some two million icons.
const maxNames = 16 << 20

// A nameList has the names of one release. It counts while that is the release that the edge knows: with the next one every name is asked
// for until the list of that one is here.
type nameList struct {
	release string
	sum     string // SHA-256, in hexadecimal
	*icon.Names
}

// currentNames is the list of the release that the edge knows; nil: there is none.
func (h *handler) currentNames() *nameList {
	n, known := h.names.Load(), h.release.Load()
	if n == nil || known == nil || n.release != *known {
		return nil
	}
	return n
}

// mostHints is for how many answers a second close names are looked for: that takes some 80 µs, a hundred times as long as to know that a
// name is not there, and who floods an edge with names is not looking for one.
const mostHints = 1000

// absent is the answer to a question about an icon or a pack that is not in the list, the same as the origin's; nil: the origin is to be
// asked. A pack that our origin does not have may be somebody else's path, where paths of others are served at all.
func (h *handler) absent(name string, now time.Time) *problem.Problem {
	n := h.currentNames()
	if name == "" || n == nil {
		return nil
	}
	pack, name, isIcon := strings.Cut(name, "/")
	hasPack, hasIcon := n.Has(pack, name)
	switch {
	case hasIcon, hasPack && !isIcon, !hasPack && h.proxyAll:
		return nil
	}
	h.metrics.absent.Inc()
	detail, near := icon.NoPack, []string(nil)
	if hasPack {
		detail = icon.NoIcon
	}
	if h.hints.allow(now, mostHints) {
		near = n.close(pack, name, hasPack)
	}
	return problem.NotFound(detail, near...)
}

// close are names in the pack that are close to one that it has not, or packs, if there is no such pack.
func (n *nameList) close(pack, name string, hasPack bool) []string {
	if hasPack {
		return n.Near(pack, name)
	}
	return n.NearPacks(pack)
}

// followNames gets the list of each release that the watch learns of, until ctx ends. It holds nobody up: without a list every name is
// asked for.
func (w *watch) followNames(ctx context.Context) {
	failing := "" // release whose failure is logged
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.news:
		}
		if release, err := w.learnNames(ctx); err != nil && release != failing && ctx.Err() == nil {
			failing = release
			w.h.log.Warn("the names of a release can't be had; until they are here every name is asked for", "release", release, "err", err)
		}
	}
}

// learnNames gets the list that goes with the release that is known. Where only drawings have changed it is the last one.
func (w *watch) learnNames(ctx context.Context) (release string, err error) {
	w.mu.Lock()
	n := nameList{release: w.known(), sum: w.sum}
	w.mu.Unlock()
	if last := w.h.names.Load(); last != nil && last.sum == n.sum {
		n.Names = last.Names
	} else if n.Names, err = w.h.askNames(ctx, n.release, n.sum); err != nil {
		return n.release, err
	}
	w.h.names.Store(&n)
	w.h.metrics.names.Set(float64(n.Len()))
	w.h.log.Info("names", "release", n.release, "count", n.Len())
	return n.release, nil
}

var errSum = errors.New("it is not the list that the release names")

// askNames gets a list, and checks that it is the one with that SHA-256.
func (h *handler) askNames(ctx context.Context, release, sum string) (*icon.Names, error) {
	ctx, cancel := context.WithTimeout(ctx, namesIn)
	defer cancel()
	a, err := h.origin.Do(ctx, upstream.Request{Method: http.MethodGet, Target: namesPath + "?release=" + release, Header: uncoded, Proof: true, Exact: true, Onward: true})
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if a.Status != http.StatusOK || a.Length < 0 || a.Length > maxNames {
		return nil, fmt.Errorf("the origin answered %d with %d bytes", a.Status, a.Length)
	}
	b := make([]byte, a.Length)
	if _, err := io.ReadFull(a.Body, b); err != nil {
		return nil, err
	}
	if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
		return nil, errSum
	}
	return icon.ParseNames(b)
}

// namesIn is how long a list may take; then it is asked for anew.
const namesIn = time.Minute
