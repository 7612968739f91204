//go:build linux

package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

// crowd is how many clients ask for one path that is not in the cache.
func crowd() int { return inFull(1000, 200) }

func crowdPhases() []*phase {
	icons, files := (*scene).coldPath, func(s *scene) string { return fmt.Sprintf("/file/%d", s.next.Add(1)) }
	return []*phase{
		{name: "a thousand on one path", what: "a thousand clients ask for one path that is not in the cache, before the origin answers: it is asked once",
			bend: crowded(icons, (*wire).pass, http.StatusOK), mild: true},
		{name: "a thousand on a failing path", what: "the same, and the origin answers 500: it is asked once all the same",
			bend: crowded(icons, status(500), bad, 500), cold: []int{bad, 500}},
		{name: "a thousand on a forwarded path", what: "the same for a path of `--proxy-all`", bend: crowded(files, (*wire).pass, http.StatusOK), mild: true, only: true},
		{name: "a thousand on a failing forwarded path", what: "the same, and the origin answers 500, which is passed on",
			bend: crowded(files, status(500), 500), cold: []int{bad, 500}, only: true},
		{name: "nothing but stale-if-error", what: "the origin says nothing, and what is stale may be used for errors alone: no client waits for the deadline",
			bend: answersBy(saysNothing), cold: []int{bad, busy, late}, hangs: true, spare: true},
	}
}

// crowded lets a thousand clients ask for a path of which the origin's answer is held back until they all have.
func crowded(choose func(s *scene) string, then fault, allowed ...int) func(s *scene) func() {
	return func(s *scene) func() {
		path := choose(s)
		asking, open := context.WithCancel(s.t.Context())
		s.wire.bend(gate(asking, then))
		statuses := gather(s, path, open)
		if n := s.wire.count(path); n != 1 {
			s.fault("%d requests to the origin for one path", n)
		}
		for status, n := range statuses {
			if !slices.Contains(allowed, status) {
				s.fault("%d clients of %d got %d", n, crowd(), status)
			}
		}
		s.wire.bend(then)
		return func() { s.wire.bend(nil) }
	}
}

// gather has all clients ask, calls asked when they have, and counts the statuses that they get.
func gather(s *scene, path string, asked func()) map[int]int {
	var mu sync.Mutex
	var sent, done sync.WaitGroup
	statuses := map[int]int{}
	sent.Add(crowd())
	for i := range crowd() {
		done.Go(func() {
			a := s.oneOf(i, path, sent.Done)
			s.load.tally.add(a)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	sent.Wait()
	s.awaited()
	asked()
	done.Wait()
	return statuses
}

// awaited waits until all clients of a crowd are in the proxy: what they have sent is not read yet. Ours says how many wait, of others a moment has to do.
func (s *scene) awaited() {
	if s.edge == nil {
		wait(200 * time.Millisecond)
		return
	}
	s.within("all clients wait for the origin", func() bool { return harness.Sum(s.edge.Metrics(s.t), "iconedge_edge_waiting ") >= crowd() })
}

// oneOf is one client of a crowd, with a connection of its own. The crowd has several addresses: one may hold only so many connections.
func (s *scene) oneOf(i int, path string, sent func()) reply {
	begun, a := time.Now(), reply{kind: ofCold, path: path}
	dialer := net.Dialer{Timeout: clientPatience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}}
	c, err := dialer.Dial("tcp", s.address)
	if err == nil {
		defer c.Close()
		c.SetDeadline(begun.Add(clientPatience))
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, s.address)
	}
	sent()
	if a.err = err; err != nil {
		return a
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	var body []byte
	if err == nil {
		a.status = resp.StatusCode
		body, err = io.ReadAll(resp.Body)
	}
	a.err, a.took = err, time.Since(begun)
	return s.judge(a, resp, body)
}
