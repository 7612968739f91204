//go:build linux

package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// seen holds the responses of a server to a list of requests.
type seen struct {
	mu      sync.Mutex
	changed int
	answers []sight
}

// A sight is the part of a response that must not change.
type sight struct {
	want         load.Want // the expected response
	etag, coding string
	hit          bool // an edge's Cache-Status says so
}

// isHit reports whether Cache-Status calls a response a hit (RFC 9211, section 2.1).
func isHit(a load.Answer) bool { return strings.Contains(a.Header.Get("Cache-Status"), "; hit") }

func (s *seen) note(i int, a load.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := sight{
		load.Want{Status: a.Status, Length: int64(len(a.Body)), Sum: load.Checksum(a.Body), Summed: true},
		a.Header.Get("ETag"), a.Header.Get("Content-Encoding"), isHit(a),
	}
	if now != s.answers[i] {
		s.changed++
	}
	s.answers[i] = now
}

// An edge makes brotli in the background from the second hit on. Its responses no longer change
// when they were the same in settledPasses passes after the first, with a pause before each.
const (
	maxSeen       = 100 // passes until the responses of a server no longer change
	settledPasses = 3
	betweenPasses = 250 * time.Millisecond
)

// see sends all requests until the responses no longer change: meanwhile caches fill, and codings
// are made. It calls check for each response.
func see(ctx context.Context, addr netip.AddrPort, requests [][]byte, check func(i int, a load.Answer) error) (*seen, error) {
	s := &seen{answers: make([]sight, len(requests))}
	unchanged := 0
	for range maxSeen {
		s.changed = 0
		err := load.Ask(ctx, addr, len(requests), func(i int) []byte { return requests[i] }, func(i int, a load.Answer) error {
			if err := check(i, a); err != nil {
				return err
			}
			s.note(i, a)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if unchanged++; s.changed > 0 {
			unchanged = 0
		}
		if unchanged == settledPasses {
			return s, nil
		}
		if err := load.Pause(ctx, betweenPasses); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: responses differ each time, for %d of %d paths", addr, s.changed, len(requests))
}
