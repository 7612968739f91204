package purge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	// MaxEvent is the largest purge of another edge, in bytes: JSON's escapes make the longest
	// body of a purge at most six times as long.
	MaxEvent = 6 * MaxBody
	// RepeatAfter is the delay after which an edge repeats a purge. An edge whose origin is another
	// edge may have fetched a response again before that edge had purged too, and would store the
	// old response for a day. All edges hear of a purge within this delay. (Wikimedia's caches do
	// the same, and call it a rebound purge.)
	RepeatAfter = time.Second

	// hurryEvery is the interval at which an edge asks its origin for a release that another edge
	// has announced, hurries times at most. Then only the regular checks go on.
	hurryEvery = 200 * time.Millisecond
	hurries    = 10
)

// announce publishes to all other edges a purge that p has done. If that fails, the error tells the
// client to call again, because nobody else would notice.
func (s *Peers) announce(p *Purger, call Call, n int) error {
	if s == nil {
		return nil
	}
	s.repeat(func() { p.Purge(call) })
	b, err := json.Marshal(call)
	if err == nil {
		err = s.Fleet.Publish(fleet.Purge, string(b))
	}
	if err != nil {
		s.log.Warn("purge not published to other edges", "entries", n, "err", err)
		return problem.New(http.StatusServiceUnavailable,
			fmt.Sprintf("%d were purged here, but the other edges may not have heard: Redis did not take it; call again",
				n)).With("Retry-After", "1")
	}
	return nil
}

// repeat repeats a purge after RepeatAfter.
func (s *Peers) repeat(purge func()) {
	s.background(func() {
		s.sleep(RepeatAfter)
		purge()
	})
}

// OnEvent handles an event that another edge published.
func (f *Follower) OnEvent(kind fleet.Kind, data string) {
	switch kind {
	case fleet.Purge:
		f.onPurge(data)
	case fleet.Release:
		f.onRelease(data)
	}
}

// onPurge repeats a purge of another edge. If it can't be read, onPurge drops the whole cache,
// because the purge may concern any entry. An edge of a later version may write such a purge.
func (f *Follower) onPurge(data string) {
	if len(data) > MaxEvent {
		data = "" // no edge publishes a longer one
	}
	call, err := readPurge(strings.NewReader(data))
	if err != nil {
		f.log.Warn("unreadable purge of another edge; dropping the cache", "err", err)
		f.OnGap()
		return
	}
	n := f.purger.Purge(call)
	f.log.Info("purge of another edge", call.logAttrs(n)...)
	f.repeat(func() { f.purger.Purge(call) })
}

// OnGap drops the whole cache, because purges of other edges may have been missed.
func (f *Follower) OnGap() {
	f.purger.Drop()
	f.repeat(f.purger.Drop)
}

// OnPosition stores the edge's position in the log beside the cache.
func (f *Follower) OnPosition(position string) { f.library.Progress.SetPosition(position) }

// onRelease asks the origin repeatedly until it serves a release that another edge has announced.
func (f *Follower) onRelease(id string) {
	if f.library.Known() == id {
		return // without stopping the questions about a later release
	}
	f.release.Store(&id)
	f.wanted.Store(&id)
	f.background(func() {
		for range hurries {
			if f.pollRelease(id) || f.sleep(hurryEvery) {
				return
			}
		}
	})
}

// pollRelease asks the origin once, and reports whether no further question about release id is
// needed.
func (f *Follower) pollRelease(id string) (done bool) {
	w := f.library
	if w.Known() == id || *f.wanted.Load() != id {
		return true
	}
	w.Poll()
	return w.Known() == id
}

// AnnounceRelease publishes a release to the other edges, unless this edge has it from them. An
// edge that misses the event soon learns of the release from its origin.
func (s *Peers) AnnounceRelease(id string) {
	if s == nil {
		return
	}
	if before := s.release.Swap(&id); before != nil && *before == id {
		return
	}
	s.background(func() {
		if err := s.Fleet.Publish(fleet.Release, id); err != nil {
			s.log.Debug("release not published to other edges", "err", err)
		}
	})
}
