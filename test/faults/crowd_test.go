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

// crowdSize returns the number of clients that request one path that is not in the cache.
func crowdSize() int { return byForm(1000, 200) }

func crowdPhases() []*phase {
	icons, files := (*scene).coldPath, func(s *scene) string { return fmt.Sprintf("/file/%d", s.next.Add(1)) }
	return []*phase{
		{name: "a thousand on one path",
			what:  "a thousand clients request one uncached path before the origin answers: it gets one request",
			begin: overrun(icons, (*wire).pass, http.StatusOK), harmless: true},
		{name: "a thousand on a failing path", what: "the same, and the origin answers 500: it gets one request nevertheless",
			begin: overrun(icons, status(500), bad, 500), cold: []int{bad, 500}},
		{name: "a thousand on a forwarded path", what: "the same for a path of `--proxy-all`",
			begin: overrun(files, (*wire).pass, http.StatusOK), harmless: true, only: true},
		{name: "a thousand on a failing forwarded path", what: "the same, and the origin answers 500, which the edge passes on",
			begin: overrun(files, status(500), 500), cold: []int{bad, 500}, only: true},
		{name: "nothing but stale-if-error", what: "the origin never answers, and stale responses may be used only " +
			"for errors: no client waits for the deadline",
			begin: answersBy(neverAnswers), cold: []int{bad, busy, late}, hangs: true, spare: true},
	}
}

// overrun makes many clients request one path. The origin's response comes only after all of them
// have sent their requests.
func overrun(choose func(s *scene) string, then fault, allowed ...int) func(s *scene) func() {
	return func(s *scene) func() {
		path := choose(s)
		asking, open := context.WithCancel(s.t.Context())
		s.wire.setFault(gate(asking, then))
		statuses := requestTogether(s, path, open)
		if n := s.wire.count(path); n != 1 {
			s.fault("%d requests to the origin for one path", n)
		}
		for status, n := range statuses {
			if !slices.Contains(allowed, status) {
				s.fault("%d clients of %d got %d", n, crowdSize(), status)
			}
		}
		s.wire.setFault(then)
		return func() { s.wire.setFault(nil) }
	}
}

// requestTogether makes all clients send their request, calls allSent when they have, and counts
// the statuses of the responses.
func requestTogether(s *scene, path string, allSent func()) map[int]int {
	var mu sync.Mutex
	var sent, done sync.WaitGroup
	statuses := map[int]int{}
	sent.Add(crowdSize())
	for i := range crowdSize() {
		done.Go(func() {
			a := s.client(i, path, sent.Done)
			s.load.tally.add(a)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	sent.Wait()
	s.waitForAll()
	allSent()
	done.Wait()
	return statuses
}

// waitForAll waits until the proxy has all requests of the clients, although it has not answered
// them. An edge exports how many clients wait; for other proxies the test waits a moment.
func (s *scene) waitForAll() {
	if s.edge == nil {
		wait(200 * time.Millisecond)
		return
	}
	s.eventually("all clients wait for the origin",
		func() bool { return harness.Sum(s.edge.Metrics(s.t), "iconedge_edge_waiting ") >= crowdSize() })
}

// client is one of the clients, with a connection of its own. The clients have several addresses,
// because an address may open only so many connections.
func (s *scene) client(i int, path string, sent func()) reply {
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
