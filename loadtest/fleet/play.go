//go:build linux

package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// A phase is an event in the fleet while clients continue their requests. The function happens
// returns when it is over; it adds notes to the Phase.
type phase struct {
	name    string
	happens func(*run, context.Context, *Phase) error
}

// phases lists the phases in order.
var phases = []phase{
	{"quiet", (*run).quiet},
	{"one cold icon, all regions at once", (*run).coldIcon},
	{"an edge is killed, and comes back", (*run).killEdge},
	{"the shields are killed, and come back", (*run).killShields},
	{"the store is gone", (*run).loseStore},
	{"Redis is killed, and comes back", (*run).killRedis},
	{"a region is cut off", (*run).cutRegion},
	{"purges", (*run).purges},
	{"takedowns", (*run).takedown},
	{"a new release", (*run).newRelease},
	{"a rollback", (*run).rollback},
	{"a new program on every edge", (*run).newProgram},
}

// A Phase is the result of a phase.
type Phase struct {
	Name    string
	From    time.Duration // since the start of the first phase
	Seconds float64
	Notes   []string // measurements
	Broken  []string // broken promises

	mu    sync.Mutex // protects Notes and Broken
	tally *tally
}

// note adds a measurement.
func (p *Phase) note(format string, args ...any) { p.hold(true, format, args...) }

// hold adds a measurement. If ok is false, it is also a broken promise.
func (p *Phase) hold(ok bool, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	words := fmt.Sprintf(format, args...)
	p.Notes = append(p.Notes, words)
	if !ok {
		p.Broken = append(p.Broken, words)
	}
}

// playAll runs every phase. An error means that a phase could not be run; failed requests are in
// the result.
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
		err = load.Pause(ctx, r.Phase-time.Since(began))
	}
	stop()
	p.Seconds = time.Since(began).Seconds()
	for _, words := range p.Notes {
		r.say.line("      %s", words)
	}
	r.say.line("      %s", p.tally.words())
	return err
}

// show draws the progress bar during a phase.
func (r *run) show(ctx context.Context, p *Phase, began time.Time) {
	for load.Pause(ctx, 200*time.Millisecond) == nil {
		r.say.draw(p.Name, time.Since(began), r.Phase, p.tally.words())
	}
}

// words summarises the counts so far.
func (t *tally) words() string {
	cached, rest, again := t.counts()
	return fmt.Sprintf("%d answers: cached icons %d wrong, %d failed; others %d wrong, %d failed; %d at the second try",
		cached.Answers+rest.Answers, cached.Wrong, cached.Failed, rest.Wrong, rest.Failed, again)
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
