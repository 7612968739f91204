//go:build linux

package faults

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

// A kind is a kind of path that clients request.
type kind int

const (
	ofWarm kind = iota // requested before the fault: fresh, or stale and usable
	ofCold             // not requested before
	// not requested before, and too large for the proxy to hold whole, so that only the client can
	// see a truncation
	ofBig
)

// A reply is the result of one request.
type reply struct {
	kind   kind
	path   string
	status int           // 0: none
	err    error         // the response is missing or truncated
	right  bool          // the body is one that the path may have
	took   time.Duration // until the end of the body
}

// A tally counts the responses.
type tally struct {
	mu          sync.Mutex
	requests    [ofBig + 1]int
	wrong       int            // 200, complete by its framing, and with the wrong body
	warmRefused int            // 5xx
	warmOther   int            // any other status but 200
	lost        [ofBig + 1]int // missing or truncated
	cold        map[int]int    // by status
	slowest     [ofBig + 1]time.Duration
	first       map[string]string // the first example of each violation
}

func newTally() *tally { return &tally{cold: map[int]int{}, first: map[string]string{}} }

func (y *tally) add(a reply) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.requests[a.kind]++
	y.slowest[a.kind] = max(y.slowest[a.kind], a.took)
	switch {
	case a.err != nil:
		y.lost[a.kind]++
		y.example("lost", a)
		return
	case a.status == http.StatusOK && !a.right:
		y.wrong++
		y.example("wrong bytes", a)
	case a.kind == ofWarm && a.status >= 500:
		y.warmRefused++
		y.example("warm 5xx", a)
	case a.kind == ofWarm && a.status != http.StatusOK:
		y.warmOther++
		y.example("warm, not 200", a)
	}
	if a.kind == ofCold {
		y.cold[a.status]++
	}
}

// enough reports whether there are enough responses for a verdict.
func (y *tally) enough() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.requests[ofWarm] >= leastWarm && y.requests[ofCold] >= leastCold
}

func (y *tally) example(what string, a reply) {
	if y.first[what] == "" {
		y.first[what] = fmt.Sprintf("%s: %d %v after %v", a.path, a.status, a.err, a.took)
	}
}

func (y *tally) statuses() string {
	var list []string
	for _, s := range slices.Sorted(maps.Keys(y.cold)) {
		list = append(list, fmt.Sprintf("%d × %d", y.cold[s], s))
	}
	return strings.Join(list, ", ")
}

// A load is a group of clients that send requests to the tested proxy until they are stopped.
type load struct {
	s     *scene
	tally *tally
	// ends new requests; the load waits for the responses to earlier ones
	ctx    context.Context
	stop   context.CancelFunc
	all    sync.WaitGroup
	client *http.Client
}

func newLoad(s *scene) *load {
	l := &load{s: s, tally: newTally()}
	l.ctx, l.stop = context.WithCancel(s.t.Context())
	l.client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	return l
}

// clientPatience is longer than any deadline of a proxy.
const clientPatience = 2 * time.Minute

// repeat calls ask repeatedly with a pause, which is longer in the short form, because other tests
// run beside it.
func (l *load) repeat(pause time.Duration, ask func()) {
	pause *= time.Duration(byForm(1, 4))
	l.all.Go(func() {
		for l.ctx.Err() == nil {
			ask()
			select {
			case <-l.ctx.Done():
			case <-time.After(pause):
			}
		}
	})
}

// warm starts the clients of warm paths: three with net/http, and one that pipelines.
func (l *load) warm() {
	for range 3 {
		l.repeat(4*time.Millisecond, func() { l.tally.add(l.ask(ofWarm, l.s.warmPath())) })
	}
	l.repeat(20*time.Millisecond, l.pipeline)
}

// cold starts the clients of uncached paths, and one that requests large bodies if the proxy
// forwards any path.
func (l *load) cold() {
	for range 3 {
		l.repeat(20*time.Millisecond, func() { l.tally.add(l.ask(ofCold, l.s.coldPath())) })
	}
	if !l.s.phase.direct && !l.s.phase.own {
		l.repeat(50*time.Millisecond, func() { l.tally.add(l.ask(ofBig, fmt.Sprintf("/big/%d", l.s.next.Add(1)))) })
	}
}

// drain waits for the responses to the requests that were sent.
func (l *load) drain() {
	l.stop()
	l.all.Wait()
	l.client.CloseIdleConnections()
}

func (l *load) ask(k kind, path string) reply {
	begun, patience := time.Now(), clientPatience
	if k == ofBig {
		patience = l.s.timeout // a body that drips may go on dripping
	}
	ctx, leave := context.WithTimeout(l.s.t.Context(), patience)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.s.address+path, nil)
	var resp *http.Response
	if err == nil {
		resp, err = l.client.Do(req)
	}
	if err != nil {
		return reply{kind: k, path: path, err: err, took: time.Since(begun)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	a := reply{kind: k, path: path, status: resp.StatusCode, err: err, took: time.Since(begun)}
	return l.s.judge(a, resp, body)
}

// judge compares a body with the bytes of its path, and an error with the form of iconedge's
// problems.
func (s *scene) judge(a reply, resp *http.Response, body []byte) reply {
	switch {
	case a.err != nil:
	case a.status == http.StatusOK:
		a.right = s.right(a.path, sha256.Sum256(body))
	case s.ours && a.status >= 500 && resp.Header.Get("Content-Type") != "application/problem+json" && generated(a.path) == nil:
		a.err = fmt.Errorf("a %d without a problem document: %q", a.status, body[:min(len(body), 60)])
	}
	return a
}

// pipeline sends three requests at once on one connection, and reads the responses by their
// framing.
func (l *load) pipeline() {
	c, err := net.DialTimeout("tcp", l.s.address, clientPatience)
	if err != nil {
		l.tally.add(reply{kind: ofWarm, path: "(dial)", err: err})
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(clientPatience))
	begun, r := time.Now(), bufio.NewReader(c)
	paths := []string{l.s.warmPath(), l.s.warmPath(), l.s.warmPath()}
	for i, path := range paths {
		end := map[bool]string{true: "Connection: close\r\n"}[i == len(paths)-1]
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, l.s.address, end)
	}
	for _, path := range paths {
		resp, err := http.ReadResponse(r, nil)
		var body []byte
		a := reply{kind: ofWarm, path: path}
		if err == nil {
			a.status = resp.StatusCode
			body, err = io.ReadAll(resp.Body)
		}
		a.took, begun = time.Since(begun), time.Now() // the next response can begin now
		if a.err = err; err != nil {
			l.tally.add(a)
			return
		}
		l.tally.add(l.s.judge(a, resp, body))
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 {
		l.tally.add(reply{kind: ofWarm, path: "(after the last response)", status: 200})
	} else if err != nil && !errors.Is(err, net.ErrClosed) {
		l.tally.add(reply{kind: ofWarm, path: "(after the last response)", err: err})
	}
}

// warmPath and coldPath choose the next path.
func (s *scene) warmPath() string {
	paths := s.warmPaths()
	return paths[rand.N(len(paths))]
}

func (s *scene) warmPaths() (paths []string) {
	for i := range warmNames {
		if s.phase.spare {
			paths = append(paths, pathOf("spare", i))
			continue
		}
		paths = append(paths, pathOf("fresh", i), pathOf("stale", i))
	}
	return paths
}

func (s *scene) coldPath() string { return pathOf("cold", int(s.next.Add(1)-1)%coldIcons()) }

func pathOf(pack string, i int) string { return fmt.Sprintf("/%s/i%d.svg", pack, i) }

// A truth knows the right bytes of every path, from an origin without faults. It requests each path
// once.
type truth struct {
	address string
	mu      sync.Mutex
	sums    map[string][sha256.Size]byte
}

func (u *truth) sum(path string) (sum [sha256.Size]byte, ok bool) {
	if made := generated(path); made != nil {
		return sha256.Sum256(made), true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if sum, ok = u.sums[path]; ok {
		return sum, true
	}
	resp, err := (&http.Client{Transport: transport}).Get("http://" + u.address + path)
	if err != nil {
		return sum, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return sum, false
	}
	u.sums[path] = sha256.Sum256(body)
	return u.sums[path], true
}

// right reports whether bytes are those of a path, in one of the releases that are served now.
func (s *scene) right(path string, sum [sha256.Size]byte) bool {
	for _, u := range *s.truths.Load() {
		if want, ok := u.sum(path); ok && want == sum {
			return true
		}
	}
	return false
}

type truths = atomic.Pointer[[]*truth]
