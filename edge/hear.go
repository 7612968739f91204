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
	// maxHeard is the largest purge of another edge, in bytes: JSON's escapes make the longest body
	// of a purge at most six times as long.
	maxHeard = 6 * maxPurge
	// purgeAgain is the delay after which an edge repeats a purge. An edge whose origin is another
	// edge may have fetched a response again before that edge had purged too, and would store the
	// old response for a day. All edges hear of a purge within this delay. (Wikimedia's caches do
	// the same, and call it a rebound purge.)
	purgeAgain = time.Second

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
	s.again(func() { s.h.purge(call) })
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

// again repeats a purge after purgeAgain.
func (s *shared) again(purge func()) {
	s.soon(func() {
		s.rest(purgeAgain)
		purge()
	})
}

// Hear handles an event that another edge published.
func (s *shared) Hear(kind fleet.Kind, data string) {
	switch kind {
	case fleet.Purge:
		s.hearPurge(data)
	case fleet.Release:
		s.hearRelease(data)
	}
}

// hearPurge repeats a purge of another edge. If it can't be read, hearPurge drops the whole cache,
// because the purge may concern any entry. An edge of a later version may write such a purge.
func (s *shared) hearPurge(data string) {
	if len(data) > maxHeard {
		data = "" // no edge publishes a longer one
	}
	call, err := readPurge(strings.NewReader(data))
	if err != nil {
		s.h.log.Warn("unreadable purge of another edge; dropping the cache", "err", err)
		s.Lost()
		return
	}
	n := s.h.purge(call)
	s.h.log.Info("purge of another edge", call.told(n)...)
	s.again(func() { s.h.purge(call) })
}

// Lost drops the whole cache, because purges of other edges may have been missed.
func (s *shared) Lost() {
	s.h.drop()
	s.again(s.h.drop)
}

// Reached stores the edge's position in the log beside the cache.
func (s *shared) Reached(position string) { s.h.progress.reached(position) }

// hearRelease asks the origin repeatedly until it serves a release that another edge has announced.
func (s *shared) hearRelease(id string) {
	if s.h.watch.known() == id {
		return // without stopping the questions about a later release
	}
	s.release.Store(&id)
	s.wanted.Store(&id)
	s.soon(func() {
		for range hurries {
			if s.look(id) || s.rest(hurryEvery) {
				return
			}
		}
	})
}

// look asks the origin once, and reports whether no further question about release id is needed.
func (s *shared) look(id string) (done bool) {
	w := s.h.watch
	if w.known() == id || *s.wanted.Load() != id {
		return true
	}
	w.look()
	return w.known() == id
}

// learnt publishes a release to the other edges, unless this edge has it from them. An edge that
// misses the event soon learns of the release from its origin.
func (s *shared) learnt(id string) {
	if s == nil {
		return
	}
	if before := s.release.Swap(&id); before != nil && *before == id {
		return
	}
	s.soon(func() {
		if err := s.fleet.Publish(fleet.Release, id); err != nil {
			s.h.log.Debug("release not published to other edges", "err", err)
		}
	})
}
