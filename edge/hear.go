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
	// maxHeard is how long a purge of another edge may be, in bytes: what JSON makes of the longest body.
	maxHeard = 6 * maxPurge
	// purgeAgain is after how long a purge is done a second time: an edge whose origin is another edge may have asked it again before
	// that one had purged too, and keep the old answer for a day. All edges hear of a purge within that time. (Wikimedia's caches do the same,
	// and call it a rebound purge.)
	purgeAgain = time.Second

	hurryEvery = 200 * time.Millisecond // the origin is asked for a release that another edge knows
	hurries    = 10                     // times; then it is asked as often as ever
)

// announce tells all other edges of a purge that was done here. It is the caller's to know if that can't be done, and to call again: nobody else would
// notice.
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
		s.h.log.Warn("a purge was done here alone", "entries", n, "err", err)
		return problem.New(http.StatusServiceUnavailable, fmt.Sprintf("%d were purged here, but the other edges may not have heard: Redis did not take it; call again", n)).With("Retry-After", "1")
	}
	return nil
}

// again does something in a moment, a second time.
func (s *shared) again(purge func()) {
	s.soon(func() {
		s.rest(purgeAgain)
		purge()
	})
}

// Hear takes what another edge did.
func (s *shared) Hear(kind fleet.Kind, data string) {
	switch kind {
	case fleet.Purge:
		s.hearPurge(data)
	case fleet.Release:
		s.hearRelease(data)
	}
}

// hearPurge does what another edge did. What can't be read, as an edge of a later version may write it, might be about anything.
func (s *shared) hearPurge(data string) {
	if len(data) > maxHeard {
		data = "" // an edge writes none that is longer
	}
	call, err := readPurge(strings.NewReader(data))
	if err != nil {
		s.h.log.Warn("a purge of another edge can't be read: the cache is dropped", "err", err)
		s.Lost()
		return
	}
	n := s.h.purge(call)
	s.h.log.Info("purged as another edge did", call.told(n)...)
	s.again(func() { s.h.purge(call) })
}

// Lost drops everything: it is not known what others have purged.
func (s *shared) Lost() {
	s.h.drop()
	s.again(s.h.drop)
}

// Reached keeps the edge's place in the log beside what is cached.
func (s *shared) Reached(position string) { s.h.progress.reached(position) }

// hearRelease asks the origin for a release that another edge knows, until it tells of it.
func (s *shared) hearRelease(id string) {
	if s.h.watch.known() == id {
		return // and whoever asks for a later one goes on
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

// look asks once, and reports whether it need not be asked again.
func (s *shared) look(id string) (done bool) {
	w := s.h.watch
	if w.known() == id || *s.wanted.Load() != id {
		return true
	}
	w.look()
	return w.known() == id
}

// learnt tells the others of a release, unless they told this edge. Who does not hear asks its origin soon.
func (s *shared) learnt(id string) {
	if s == nil {
		return
	}
	if before := s.release.Swap(&id); before != nil && *before == id {
		return
	}
	s.soon(func() {
		if err := s.fleet.Publish(fleet.Release, id); err != nil {
			s.h.log.Debug("the release is not told to other edges", "err", err)
		}
	})
}
