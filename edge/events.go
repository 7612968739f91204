package edge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/problem"
)

const (
	// maxPurgeEvent is the largest purge of another edge, in bytes: JSON's escapes make the longest
	// body of a purge at most six times as long.
	maxPurgeEvent = 6 * maxPurge
	// purgeRepeat is the delay after which an edge repeats a purge. An edge whose origin is another
	// edge may have fetched a response again before that edge had purged too, and would store the
	// old response for a day. All edges hear of a purge within this delay. (Wikimedia's caches do
	// the same, and call it a rebound purge.)
	purgeRepeat = time.Second

	// hurryEvery is the interval at which an edge asks its origin for a release that another edge
	// has announced, hurries times at most. Then only the regular checks go on.
	hurryEvery = 200 * time.Millisecond
	hurries    = 10
)

// announce publishes to all other edges a purge that this edge has done. If that fails, the error
// tells the client to call again, because nobody else would notice.
func (s *shared) announce(call purgeCall, n int) error {
	if s == nil {
		return nil
	}
	s.repeat(func() { s.h.purge(call) })
	b, err := json.Marshal(call)
	if err == nil {
		err = s.fleet.Publish(fleet.Purge, string(b))
	}
	if err != nil {
		s.h.log.Warn("purge not published to other edges", "entries", n, "err", err)
		return problem.New(http.StatusServiceUnavailable, fmt.Sprintf("%d were purged here, but the other edges may not have heard: Redis did not take it; call again", n)).With("Retry-After", "1")
	}
	return nil
}

// repeat repeats a purge after purgeRepeat.
func (s *shared) repeat(purge func()) {
	s.background(func() {
		s.sleep(purgeRepeat)
		purge()
	})
}

// OnEvent handles an event that another edge published.
func (s *shared) OnEvent(kind fleet.Kind, data string) {
	switch kind {
	case fleet.Purge:
		s.onPurge(data)
	case fleet.Release:
		s.onRelease(data)
	}
}

// onPurge repeats a purge of another edge. If it can't be read, onPurge drops the whole cache,
// because the purge may concern any entry. An edge of a later version may write such a purge.
func (s *shared) onPurge(data string) {
	if len(data) > maxPurgeEvent {
		data = "" // no edge publishes a longer one
	}
	call, err := readPurge(strings.NewReader(data))
	if err != nil {
		s.h.log.Warn("unreadable purge of another edge; dropping the cache", "err", err)
		s.OnGap()
		return
	}
	n := s.h.purge(call)
	s.h.log.Info("purge of another edge", call.logAttrs(n)...)
	s.repeat(func() { s.h.purge(call) })
}

// OnGap drops the whole cache, because purges of other edges may have been missed.
func (s *shared) OnGap() {
	s.h.drop()
	s.repeat(s.h.drop)
}

// OnPosition stores the edge's position in the log beside the cache.
func (s *shared) OnPosition(position string) { s.h.library.Progress.SetPosition(position) }

// onRelease asks the origin repeatedly until it serves a release that another edge has announced.
func (s *shared) onRelease(id string) {
	if s.h.library.Known() == id {
		return // without stopping the questions about a later release
	}
	s.release.Store(&id)
	s.wanted.Store(&id)
	s.background(func() {
		for range hurries {
			if s.pollRelease(id) || s.sleep(hurryEvery) {
				return
			}
		}
	})
}

// pollRelease asks the origin once, and reports whether no further question about release id is
// needed.
func (s *shared) pollRelease(id string) (done bool) {
	w := s.h.library
	if w.Known() == id || *s.wanted.Load() != id {
		return true
	}
	w.Poll()
	return w.Known() == id
}

// announceRelease publishes a release to the other edges, unless this edge has it from them. An
// edge that misses the event soon learns of the release from its origin.
func (s *shared) announceRelease(id string) {
	if s == nil {
		return
	}
	if before := s.release.Swap(&id); before != nil && *before == id {
		return
	}
	s.background(func() {
		if err := s.fleet.Publish(fleet.Release, id); err != nil {
			s.h.log.Debug("release not published to other edges", "err", err)
		}
	})
}
