//go:build linux

package fleet

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A phase is something that happens to the fleet while clients go on asking. happens returns when it is over; what it found out it has
// noted.
type phase struct {
	name    string
	happens func(*run, context.Context, *Phase) error
}

// phases are played in this order.
var phases = []phase{
	{"quiet", (*run).quiet},
	{"one cold icon, all regions at once", (*run).coldIcon},
	{"an edge is killed, and comes back", (*run).killEdge},
	{"the shields are killed, and come back", (*run).killShields},
	{"the store is gone", (*run).loseStore},
	{"Redis is killed, and comes back", (*run).killRedis},
	{"a region is cut off", (*run).cutRegion},
	{"purges", (*run).purges},
	{"a new release", (*run).newRelease},
	{"a rollback", (*run).rollback},
	{"a new program on every edge", (*run).newProgram},
}

// A Phase is what came of one.
type Phase struct {
	Name    string
	From    time.Duration // since the first began
	Seconds float64
	Notes   []string // what was measured in it
	Broken  []string // promises that did not hold

	mu    sync.Mutex // of notes
	tally *tally
}

// note keeps what was measured.
func (p *Phase) note(format string, args ...any) { p.hold(true, format, args...) }

// hold keeps what was measured, and that it is not what is promised unless ok.
func (p *Phase) hold(ok bool, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	words := fmt.Sprintf(format, args...)
	p.Notes = append(p.Notes, words)
	if !ok {
		p.Broken = append(p.Broken, words)
	}
}

// playAll plays every phase. An error is one of playing it: what clients got is in the result.
func (r *run) playAll(ctx context.Context) error {
	for i, ph := range phases {
		r.say.line("%d/%d  %s", i+1, len(phases), ph.name)
		if err := r.play(ctx, ph); err != nil {
			return fmt.Errorf("%s: %w", ph.name, err)
		}
	}
	return nil
}

func (r *run) play(ctx context.Context, ph phase) error {
	p := &Phase{Name: ph.name, From: time.Since(r.began), tally: newTally()}
	r.result.Phases = append(r.result.Phases, p)
	r.crowd.tally.Store(p.tally)
	began := time.Now()
	showing, stop := context.WithCancel(ctx)
	defer stop()
	go r.show(showing, p, began)
	err := ph.happens(r, ctx, p)
	if err == nil {
		err = pause(ctx, r.Phase-time.Since(began))
	}
	stop()
	p.Seconds = time.Since(began).Seconds()
	for _, words := range p.Notes {
		r.say.line("      %s", words)
	}
	r.say.line("      %s", p.tally.words())
	return err
}

// show draws the bar while a phase is played.
func (r *run) show(ctx context.Context, p *Phase, began time.Time) {
	for pause(ctx, 200*time.Millisecond) == nil {
		r.say.draw(p.Name, time.Since(began), r.Phase, p.tally.words())
	}
}

// words are the counts so far.
func (t *tally) words() string {
	cached, rest, again := t.counts()
	return fmt.Sprintf("%d answers: cached icons %d wrong, %d failed; the rest %d wrong, %d failed; %d at the second try",
		cached.Answers+rest.Answers, cached.Wrong, cached.Failed, rest.Wrong, rest.Failed, again)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// quiet lets the clients ask, and nothing else happen.
func (r *run) quiet(context.Context, *Phase) error { return nil }

// half is how long a fault lasts in a phase.
func (r *run) half() time.Duration { return r.Phase / 2 }

// killEdge kills one edge of the first region: its load balancer has the other one.
func (r *run) killEdge(ctx context.Context, p *Phase) error {
	e := r.regions[0].edges[0]
	e.vanish()
	if err := pause(ctx, r.half()); err != nil {
		return err
	}
	began := time.Now()
	if err := e.appear(ctx); err != nil {
		return err
	}
	p.note("%s is ready %s after its start, with an empty cache", e.name, since(began))
	return nil
}

// killShields leaves the edges the origin alone.
func (r *run) killShields(ctx context.Context, _ *Phase) error {
	for _, n := range r.shields {
		n.kill()
	}
	if err := pause(ctx, r.half()); err != nil {
		return err
	}
	for _, n := range r.shields {
		if err := n.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// loseStore stops the store: the origin has its mirror.
func (r *run) loseStore(ctx context.Context, p *Phase) error {
	r.store.kill()
	if err := pause(ctx, r.half()); err != nil {
		return err
	}
	failed, err := r.origin.metric(ctx, "iconedge_origin_store_errors_total")
	if err != nil {
		return err
	}
	p.note("the origin counts %.0f questions that the store did not answer", failed)
	return r.store.start(ctx)
}

// cutRegion pulls the cables of the region that is farthest away.
func (r *run) cutRegion(ctx context.Context, p *Phase) error {
	region := r.regions[len(r.regions)-1]
	region.silence()
	defer region.mend()
	p.note("%s hears nothing of shields, origin and Redis for %s", region.name, r.half())
	return pause(ctx, r.half())
}

// newProgram exchanges the program of one edge after the other. Its sockets stay open meanwhile, as systemd's do; no load balancer is told,
// and nothing is tried twice.
func (r *run) newProgram(ctx context.Context, p *Phase) error {
	r.crowd.blind.Store(true)
	defer r.crowd.blind.Store(false)
	longest := time.Duration(0)
	for _, e := range r.edges() {
		began := time.Now()
		e.stop()
		e.program = r.Next
		if err := e.start(ctx); err != nil {
			return err
		}
		longest = max(longest, time.Since(began))
	}
	p.note("%d edges, one after the other; each was away for %s at the most", len(r.edges()), longest.Round(time.Millisecond))
	cached, rest, again := p.tally.counts()
	p.hold(cached.Failed+rest.Failed+again == 0, "%d requests failed, %d were sent twice", cached.Failed+rest.Failed, again)
	return r.sameProgram(ctx, p)
}

// sameProgram looks whether every edge tells the version of the new program.
func (r *run) sameProgram(ctx context.Context, p *Phase) error {
	out, err := exec.CommandContext(ctx, r.Next, "version").Output()
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w", r.Next, err)
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(out)), "iconedge ")
	running := 0.0
	for _, e := range r.edges() {
		n, err := e.metric(ctx, "iconedge_edge_build_info", `version="`+version+`"`)
		if err != nil {
			return err
		}
		running += n
	}
	p.hold(int(running) == len(r.edges()), "%.0f edges run version %s", running, version)
	return nil
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
