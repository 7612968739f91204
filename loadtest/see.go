//go:build linux

package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/iconedge/iconedge/loadtest/load"
)

// seen is what a server answered to the requests of a list.
type seen struct {
	mu      sync.Mutex
	changed int
	answers []sight
}

// A sight is one answer.
type sight struct {
	want         load.Want // what an answer must be to be the same
	etag, coding string
}

func (s *seen) note(i int, a load.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := sight{
		load.Want{Status: a.Status, Length: int64(len(a.Body)), Sum: load.Checksum(a.Body), Summed: true},
		a.Header.Get("ETag"), a.Header.Get("Content-Encoding"),
	}
	if now != s.answers[i] {
		s.changed++
	}
	s.answers[i] = now
}

// maxSeen is how often a server is asked for the same until it has settled.
const maxSeen = 8

// see asks for everything until it answers the same twice: caches fill, codings are made. Each answer is handed to check first.
func see(ctx context.Context, addr netip.AddrPort, requests [][]byte, check func(i int, a load.Answer) error) (*seen, error) {
	s := &seen{answers: make([]sight, len(requests))}
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
		if s.changed == 0 {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s gives %d of %d paths another answer each time", addr, s.changed, len(requests))
}
