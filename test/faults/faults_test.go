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
	warmNames = 12 // of each pack that is asked for before the fault
	atOnce    = 6  // phases under way at a time, where times do not count: they wait more than they work
)

// coldNames is how many drawings there are that are not asked for before the fault: each is asked for once or twice.
func coldNames() int { return inFull(4000, 800) }

// inFull is one of two numbers: for the full form, and for the short one.
func inFull(full, short int) int {
	if withTimes() {
		return full
	}
	return short
}

// withTimes reports whether the phases run in full: with the default deadlines, one at a time, and times are judged and written to
// docs/faults.md. Else bytes and statuses are, on a machine that may be busy.
func withTimes() bool { return os.Getenv(harness.WithPeers) != "" }

// A phase is something that goes wrong, and what clients may see of it.
type phase struct {
	name   string
	what   string // it is, for docs/faults.md
	setup  func(s *scene)
	bend   func(s *scene) (mend func()) // begins the fault, and returns what ends it
	also   func(s *scene)               // what else is to be seen when it is over
	cold   []int                        // statuses of what is not in the cache, besides 200, while it lasts
	hangs  bool                         // it lasts until deadlines are over
	mild   bool                         // what is not in the cache may all be answered
	loses  bool                         // clients may lose their connections: the proxy itself is gone
	own    bool                         // it is about paths of our own alone
	gone   bool                         // the origin says that warm paths are not there
	only   bool                         // makes sense for our own edge alone
	direct bool                         // the proxy asks a real origin, with no wire between
	spare  bool                         // what is warm may be used when the origin fails, and not before
}

// A scene is where one phase is played: a proxy in front of a wire in front of an origin, and what clients may get.
type scene struct {
	t                   *testing.T
	world               *world
	phase               *phase
	ours                bool
	wire                *wire
	origin              string // HOST:PORT that the proxy asks
	address             string // of the proxy
	args                []string
	edge                *harness.Server
	timeout             time.Duration // of the proxy for its origin
	next                atomic.Int64
	truths              truths
	load                *load
	descriptors         int        // that the edge may have; 0: as many as it likes
	toStore             *wire      // between an origin and its store
	own                 *ownServer // an origin that the phase kills
	store, mirror, disk string     // its folders, and the edge's
	faults              []string   // what should not have been
}

func (s *scene) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// A world is what phases share: a published library, and an origin of it that nothing happens to.
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

// start is an origin of its own.
func (w *world) start(t *testing.T, store, mirror string, more ...string) *harness.Server {
	t.Helper()
	args := []string{"origin", "--store", store, "--mirror", mirror, "--admin-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"}
	return harness.Start(t, w.home, append(args, more...)...).Ready()
}

// writeLibrary writes drawings of a few bytes and of many. Each ends with the same words, by which releases differ.
func writeLibrary(t *testing.T, dir, end string) {
	t.Helper()
	for pack, n := range map[string]int{"fresh": warmNames, "stale": warmNames, "spare": warmNames, "cold": coldNames()} {
		folder := filepath.Join(dir, pack)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		about := `{"name":"` + pack + `","license":{"title":"MIT License","spdx":"MIT","url":"https://example.org/license"},"author":{"name":"Somebody"}}`
		if err := os.WriteFile(filepath.Join(folder, "pack.json"), []byte(about), 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			length := []int{1, 20, 400, 9000}[i%4] / (1 + i/100)
			writeDrawing(t, folder, fmt.Sprintf("i%d", i), fmt.Sprintf("M%d.5 0%s%s", i, strings.Repeat("h1v1", length), end))
		}
	}
}

func writeDrawing(t *testing.T, folder, name, path string) {
	t.Helper()
	text := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="` + path + `"/></svg>`
	if err := os.WriteFile(filepath.Join(folder, name+".svg"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFaults plays every phase against a real edge, in front of a real origin: zero wrong bytes, what is in the cache is served, what is
// not is a clean problem, and when the fault is over so is what it did. `make faults` runs it in full, plays those phases that
// make sense for any proxy against the others that are installed, and writes docs/faults.md.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes that fail take a while")
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
		t.Logf("docs/faults.md:\n%s", faultsPage(readFaults(t)))
	}
}

// A contender is a proxy to be tested.
type contender struct {
	name, version string
	ours          bool
	start         func(s *scene)
}

// playAll plays the phases, some at a time, or one after the other where times count.
func playAll(t *testing.T, w *world, c contender, phases []*phase) (results []*result) {
	slots := make(chan struct{}, inFull(1, atOnce))
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

// A result is what came of a phase.
type result struct {
	phase    *phase
	tally    *tally // nil: it was not played
	recovery time.Duration
	faults   []string // what should not have been
}

func (r *result) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// play warms the proxy, lets clients ask, begins the fault, ends it, and waits for the first good answer to a cold path.
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
	mend := r.phase.bend(s)
	s.load.cold()
	s.last()
	s.load.stop()
	mend()
	r.recovery = s.recover()
	s.load.end()
	if r.phase.also != nil {
		r.phase.also(s)
	}
	s.settled()
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

// timeout is the proxy's for its origin: its own where times count. Else it is short where the fault lasts until it is over, and longer where it never
// is to be over than a busy machine stands still.
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

// lasts is how long the fault does at least.
func (s *scene) lasts() time.Duration {
	switch {
	case s.phase.hangs:
		return s.timeout + time.Second
	case withTimes():
		return 4 * time.Second
	}
	return time.Second
}

// last waits for the fault's time to be over, and for enough answers to judge by: the machine may be busy.
func (s *scene) last() {
	wait(s.lasts())
	harness.Comes(func() bool { return s.load.tally.enough() })
}

const leastWarm, leastCold = 50, 6

// warmUp asks for what is to be warm, until the stale ones are: their life is a second.
func (s *scene) warmUp() {
	l := newLoad(s)
	harness.Eventually(s.t, "the proxy answers", func() bool { return l.ask(ofWarm, s.warmPath()).right })
	for range 2 { // some proxies keep what is asked for a second time
		for i := range warmNames {
			for _, pack := range []string{"fresh", "stale", "spare"} {
				harness.Eventually(s.t, pathOf(pack, i)+" is warm", func() bool { return s.warmed(l.ask(ofWarm, pathOf(pack, i))) })
			}
		}
	}
	l.end()
	wait(1100 * time.Millisecond)
}

// warmed reports whether an answer was the right one. A deadline of a second may be over before anything has gone wrong: then the edge is asked again.
func (s *scene) warmed(a reply) bool {
	if !a.right && (!s.phase.hangs || a.status < 500) {
		s.t.Fatalf("warming up: %+v", a)
	}
	return a.right
}

// recover asks for what was never asked for until it is answered, and returns how long that took.
func (s *scene) recover() time.Duration {
	begun := time.Now()
	probe := newLoad(s)
	defer probe.end()
	s.within("what is not in the cache is answered again", func() bool { return probe.right(s.coldPath()) })
	return time.Since(begun)
}

// settled: within some seconds everything is what it was.
func (s *scene) settled() {
	l := newLoad(s)
	defer l.end()
	for _, path := range append(s.warmPaths(), s.coldPath(), s.coldPath()) {
		if !s.within(path+" is right again", func() bool { return l.right(path) }) {
			return
		}
	}
}

// within waits for what comes true, or is a fault.
func (s *scene) within(what string, is func() bool) bool {
	if harness.Comes(is) {
		return true
	}
	s.fault("never: %s", what)
	return false
}

// right asks once more; bytes that are wrong count here too.
func (l *load) right(path string) bool {
	a := l.ask(ofCold, path)
	if a.status == http.StatusOK && a.err == nil && !a.right {
		l.s.load.tally.add(a)
	}
	return a.right
}

// judgeAnswers says what clients should not have seen.
func (r *result) judgeAnswers() {
	y := r.tally
	if !y.enough() {
		r.fault("too few answers to judge by: %v", y.requests)
	}
	if y.wrong > 0 {
		r.fault("%d wrong bodies, such as %s", y.wrong, y.first["wrong bytes"])
	}
	if y.warmRefused > 0 {
		r.fault("%d answers of 5xx to what is in the cache, such as %s", y.warmRefused, y.first["warm 5xx"])
	}
	if y.warmOther > 0 && !r.phase.gone {
		r.fault("%d answers other than 200 to what is in the cache, such as %s", y.warmOther, y.first["warm, not 200"])
	}
	if n := y.lost[ofWarm] + y.lost[ofCold]; n > 0 && !r.phase.loses {
		r.fault("%d answers that did not come, or not whole, such as %s", n, y.first["lost"])
	}
	refused := 0
	for status, n := range y.cold {
		if status != http.StatusOK {
			refused += n
		}
		if status != http.StatusOK && !slices.Contains(r.phase.cold, status) {
			r.fault("%d cold answers of %d", n, status)
		}
	}
	if refused+y.lost[ofCold] == 0 && !r.phase.mild {
		r.fault("nothing went wrong: the fault was none")
	}
}

// waited is how long a warm answer takes that waits for an origin: the quickest of those that are slow takes two seconds. A busy machine takes
// its time too.
const waited = 1900 * time.Millisecond

// slack is what an answer may take beyond the deadline for the origin, and how soon a fault is to be forgotten.
const slack = 2 * time.Second

func (r *result) judgeTimes(s *scene) {
	if took := r.tally.slowest[ofCold]; took > s.timeout+slack {
		r.fault("a cold answer took %v", took)
	}
	if took := r.tally.slowest[ofWarm]; took > waited && !r.phase.loses {
		r.fault("a warm answer took %v", took)
	}
	if r.recovery > slack {
		r.fault("recovery took %v", r.recovery)
	}
}

// startEdge starts an iconedge in front of the scene's origin, and waits for it.
func startEdge(s *scene) {
	s.startEdge()
	s.edge.Ready()
}

func (s *scene) startEdge() {
	args := []string{"edge", "--proxy-all", "--origin", "http://" + s.origin, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--cache-bytes", "33554432", "--origin-timeout", s.timeout.String()}
	cmd := harness.Program(s.t, s.world.home, append(args, s.args...)...)
	if s.descriptors > 0 {
		cmd = limited(cmd, s.descriptors)
	}
	s.edge = harness.StartCommand(s.t, cmd)
	if address := s.edge.Address("public"); address != s.address { // one that is started again has the address that it had: others read it
		s.address = address
	}
}
