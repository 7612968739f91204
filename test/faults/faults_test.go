//go:build linux

package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

const (
	warmNames = 12 // in each pack, requested before the fault
	atOnce    = 6  // phases at a time, where times are not checked: they mostly wait
)

// coldIcons returns the number of icons that are not requested before the fault. The clients
// request each once or twice.
func coldIcons() int { return byForm(4000, 800) }

// byForm returns full for the full form, and short for the short one.
func byForm(full, short int) int {
	if withTimes() {
		return full
	}
	return short
}

// withTimes reports whether the phases run in the full form: with the default deadlines, one at a
// time; the test checks times too, and writes docs/reference/faults.md. The short form, on a
// machine that may be busy, checks only bytes and statuses.
func withTimes() bool { return os.Getenv(harness.WithPeers) != "" }

// A phase is a fault, with the responses that clients may get during it.
type phase struct {
	name     string
	what     string // description for docs/reference/faults.md
	setup    func(s *scene)
	begin    func(s *scene) (end func()) // begins the fault, and returns the function that ends it
	after    func(s *scene)              // further checks after the fault
	cold     []int                       // allowed statuses of uncached paths, besides 200
	hangs    bool                        // the fault lasts longer than the deadlines
	harmless bool                        // all uncached paths may be answered
	loses    bool                        // clients may lose their connections
	own      bool                        // clients request only paths of iconedge
	gone     bool                        // the origin answers 404 for warm paths
	only     bool                        // only an iconedge edge is tested
	direct   bool                        // the proxy connects to the origin without a wire
	spare    bool                        // stale responses are allowed only for errors
}

// A scene is the set-up of one phase: a proxy, the wire to its origin, and the responses that
// clients may get.
type scene struct {
	t                   *testing.T
	world               *world
	phase               *phase
	ours                bool
	wire                *wire
	origin              string // HOST:PORT of the proxy's origin
	address             string // of the proxy
	args                []string
	edge                *harness.Server
	timeout             time.Duration // of the proxy, for its origin
	next                atomic.Int64
	truths              truths
	load                *load
	descriptors         int        // limit for the edge; 0: none
	toStore             *wire      // between an origin and its store
	own                 *ownServer // an origin of the scene, which the phase kills
	store, mirror, disk string     // folders of that origin, and of the edge
	faults              []string   // violations
}

func (s *scene) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// A world is shared by all phases: a published library, and an origin of it that has no faults.
type world struct {
	home, sources string
	store         string // address
	truth         *truth
	origin        string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{home: t.TempDir(), sources: filepath.Join(t.TempDir(), "sources")}
	w.store = "dir:" + filepath.Join(w.home, "store")
	writeLibrary(t, w.sources, "8v8z")
	harness.Must(t, w.home, "publish", "--store", w.store, w.sources)
	w.origin = w.start(t, w.store, filepath.Join(w.home, "mirror")).Address("public")
	w.truth = newTruth(w.origin)
	return w
}

func newTruth(origin string) *truth { return &truth{address: origin, sums: map[string][32]byte{}} }

// start starts an origin.
func (w *world) start(t *testing.T, store, mirror string, more ...string) *harness.Server {
	t.Helper()
	args := []string{"origin", "--store", store, "--mirror", mirror, "--admin-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"}
	return harness.Start(t, w.home, append(args, more...)...).Ready()
}

// writeLibrary writes small and large SVGs. Each ends with end, which differs between releases.
func writeLibrary(t *testing.T, dir, end string) {
	t.Helper()
	for pack, n := range map[string]int{"fresh": warmNames, "stale": warmNames, "spare": warmNames, "cold": coldIcons()} {
		folder := filepath.Join(dir, pack)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		about := `{"name":"` + pack +
			`","license":{"title":"MIT License","spdx":"MIT","url":"https://example.org/license"},"author":{"name":"Somebody"}}`
		if err := os.WriteFile(filepath.Join(folder, "pack.json"), []byte(about), 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			length := []int{1, 20, 400, 9000}[i%4] / (1 + i/100)
			writeSVG(t, folder, fmt.Sprintf("i%d", i), fmt.Sprintf("M%d.5 0%s%s", i, strings.Repeat("h1v1", length), end))
		}
	}
}

func writeSVG(t *testing.T, folder, name, path string) {
	t.Helper()
	text := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="` + path + `"/></svg>`
	if err := os.WriteFile(filepath.Join(folder, name+".svg"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFaults plays every phase against a real edge in front of a real origin. No body may have a
// wrong byte; cached paths are served; uncached ones get a clean problem; and the fault has no
// effect after its end. `make faults` runs the full form, plays the phases that apply to any proxy
// against the installed ones, and writes docs/reference/faults.md.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes: not with -short")
	}
	w := newWorld(t)
	contenders := []contender{{name: "iconedge", start: startEdge, ours: true}}
	if withTimes() {
		contenders = append(contenders, faultPeers(t)...)
	}
	for _, c := range contenders {
		t.Run(c.name, func(t *testing.T) {
			results := playAll(t, w, c, faultPhases())
			if withTimes() {
				updateFaults(t, c, results)
			}
		})
	}
	if withTimes() {
		t.Logf("docs/reference/faults.md:\n%s", faultsPage(readFaults(t)))
	}
}

// A contender is a proxy to be tested.
type contender struct {
	name, version string
	ours          bool
	start         func(s *scene)
}

// playAll plays the phases: several at a time, or one after the other if times are checked.
func playAll(t *testing.T, w *world, c contender, phases []*phase) (results []*result) {
	slots := make(chan struct{}, byForm(1, atOnce))
	var all sync.WaitGroup
	for _, p := range phases {
		if p.only && !c.ours {
			continue
		}
		r := &result{phase: p}
		results = append(results, r)
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) { r.play(t, w, c) })
		})
	}
	all.Wait()
	return results
}

// A result is the result of a phase.
type result struct {
	phase    *phase
	tally    *tally // nil: the phase was not played
	recovery time.Duration
	faults   []string // violations
}

func (r *result) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// play warms the proxy's cache, starts the clients, begins the fault, ends it, and waits for the
// first good response for an uncached path.
func (r *result) play(t *testing.T, w *world, c contender) {
	s := &scene{t: t, world: w, phase: r.phase, ours: c.ours, timeout: r.phase.timeout()}
	s.truths.Store(&[]*truth{w.truth})
	s.wire = newWire(t, w.origin)
	s.origin = s.wire.address
	if r.phase.setup != nil {
		r.phase.setup(s)
	}
	c.start(s)
	s.warmUp()
	s.load = newLoad(s)
	s.load.warm()
	end := r.phase.begin(s)
	s.load.cold()
	s.waitForEnd()
	s.load.stop()
	end()
	r.recovery = s.recover()
	s.load.drain()
	if r.phase.after != nil {
		r.phase.after(s)
	}
	s.checkSettled()
	r.tally = s.load.tally
	r.faults = s.faults
	r.judgeAnswers()
	if withTimes() {
		r.judgeTimes(s)
	}
	for _, f := range r.faults {
		if c.ours {
			t.Error(f)
		} else {
			t.Log(c.name + ": " + f)
		}
	}
	t.Logf("%v requests, cold: %s, slowest %v, recovery %v", r.tally.requests, r.tally.statuses(), r.tally.slowest, r.recovery)
}

// timeout returns the proxy's time limit for its origin. It is the default if times are checked.
// Otherwise it is short if the fault outlasts it, and longer than a busy machine may stall if the
// fault must not reach it.
func (p *phase) timeout() time.Duration {
	switch {
	case withTimes():
		return 10 * time.Second
	case p.hangs:
		return time.Second
	}
	return time.Minute
}

func wait(d time.Duration) { <-time.After(d) }

// minimumTime returns the minimum duration of the fault.
func (s *scene) minimumTime() time.Duration {
	switch {
	case s.phase.hangs:
		return s.timeout + time.Second
	case withTimes():
		return 4 * time.Second
	}
	return time.Second
}

// waitForEnd waits for the end of the fault, and for enough responses to check: the machine may be
// busy.
func (s *scene) waitForEnd() {
	wait(s.minimumTime())
	harness.WaitFor(func() bool { return s.load.tally.enough() })
}

const leastWarm, leastCold = 50, 6

// warmUp requests the warm paths until they are cached, and until the stale ones are stale; their
// freshness lifetime is a second.
func (s *scene) warmUp() {
	l := newLoad(s)
	harness.Eventually(s.t, "the proxy answers", func() bool { return l.ask(ofWarm, s.warmPath()).right })
	for range 2 { // some proxies cache a response on its second request
		for i := range warmNames {
			for _, pack := range []string{"fresh", "stale", "spare"} {
				harness.Eventually(s.t, pathOf(pack, i)+" is warm", func() bool { return s.checkWarm(l.ask(ofWarm, pathOf(pack, i))) })
			}
		}
	}
	l.drain()
	wait(1100 * time.Millisecond)
}

// checkWarm reports whether a response was right. A deadline of a second may pass without a fault;
// the caller then tries again.
func (s *scene) checkWarm(a reply) bool {
	if !a.right && (!s.phase.hangs || a.status < 500) {
		s.t.Fatalf("warming up: %+v", a)
	}
	return a.right
}

// recover requests uncached paths until one is answered, and returns the time that it took.
func (s *scene) recover() time.Duration {
	begun := time.Now()
	probe := newLoad(s)
	defer probe.drain()
	s.eventually("uncached paths are answered again", func() bool { return probe.isRight(s.coldPath()) })
	return time.Since(begun)
}

// checkSettled checks that all paths are right again within some seconds.
func (s *scene) checkSettled() {
	l := newLoad(s)
	defer l.drain()
	for _, path := range append(s.warmPaths(), s.coldPath(), s.coldPath()) {
		if !s.eventually(path+" is right again", func() bool { return l.isRight(path) }) {
			return
		}
	}
}

// eventually waits until is returns true, and records a violation if that never happens.
func (s *scene) eventually(what string, is func() bool) bool {
	if harness.WaitFor(is) {
		return true
	}
	s.fault("never: %s", what)
	return false
}

// isRight requests a path and reports whether the response is right. Wrong bytes count here too.
func (l *load) isRight(path string) bool {
	a := l.ask(ofCold, path)
	if a.status == http.StatusOK && a.err == nil && !a.right {
		l.s.load.tally.add(a)
	}
	return a.right
}

// judgeAnswers records the responses that clients should not have got.
func (r *result) judgeAnswers() {
	y := r.tally
	if !y.enough() {
		r.fault("too few responses for a verdict: %v", y.requests)
	}
	if y.wrong > 0 {
		r.fault("%d wrong bodies, such as %s", y.wrong, y.first["wrong bytes"])
	}
	if y.warmRefused > 0 {
		r.fault("%d responses of 5xx for cached paths, such as %s", y.warmRefused, y.first["warm 5xx"])
	}
	if y.warmOther > 0 && !r.phase.gone {
		r.fault("%d responses other than 200 for cached paths, such as %s", y.warmOther, y.first["warm, not 200"])
	}
	if n := y.lost[ofWarm] + y.lost[ofCold]; n > 0 && !r.phase.loses {
		r.fault("%d responses missing or truncated, such as %s", n, y.first["lost"])
	}
	refused := 0
	for status, n := range y.cold {
		if status != http.StatusOK {
			refused += n
		}
		if status != http.StatusOK && !slices.Contains(r.phase.cold, status) {
			r.fault("%d uncached responses of %d", n, status)
		}
	}
	if refused+y.lost[ofCold] == 0 && !r.phase.harmless {
		r.fault("no request failed: the fault had no effect")
	}
}

// originWait is the minimum time of a warm response that waited for an origin: the fastest slow
// origin takes two seconds. The rest allows for a busy machine.
const originWait = 1900 * time.Millisecond

// slack is the time that a response may take beyond the deadline for the origin, and the time limit
// for recovery.
const slack = 2 * time.Second

func (r *result) judgeTimes(s *scene) {
	if took := r.tally.slowest[ofCold]; took > s.timeout+slack {
		r.fault("an uncached response took %v", took)
	}
	if took := r.tally.slowest[ofWarm]; took > originWait && !r.phase.loses {
		r.fault("a cached response took %v", took)
	}
	if r.recovery > slack {
		r.fault("recovery took %v", r.recovery)
	}
}

// startEdge starts an edge in front of the scene's origin, and waits until it is ready.
func startEdge(s *scene) {
	s.startEdge()
	s.edge.Ready()
}

func (s *scene) startEdge() {
	args := []string{"edge", "--proxy-all", "--icons", "on", "--origin", "http://" + s.origin, "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--cache-bytes", "33554432", "--origin-timeout", s.timeout.String()}
	cmd := harness.Program(s.t, s.world.home, append(args, s.args...)...)
	if s.descriptors > 0 {
		cmd = limited(cmd, s.descriptors)
	}
	s.edge = harness.StartCommand(s.t, cmd)
	// a restarted edge keeps its address, because clients read it
	if address := s.edge.Address("public"); address != s.address {
		s.address = address
	}
}
