//go:build linux

package fleet

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// quiet is a phase without a fault.
func (r *run) quiet(context.Context, *Phase) error { return nil }

// half returns the duration of a fault: half a phase.
func (r *run) half() time.Duration { return r.Phase / 2 }

// killEdge kills one edge of the first region, whose load balancer has another one.
func (r *run) killEdge(ctx context.Context, p *Phase) error {
	e := r.regions[0].edges[0]
	e.vanish()
	if err := load.Pause(ctx, r.half()); err != nil {
		return err
	}
	began := time.Now()
	if err := e.appear(ctx); err != nil {
		return err
	}
	p.note("%s is ready %s after its start, with an empty cache", e.name, since(began))
	return nil
}

// killShields kills the shields, so that edges use the origin directly.
func (r *run) killShields(ctx context.Context, _ *Phase) error {
	r.stopShields()
	if err := load.Pause(ctx, r.half()); err != nil {
		return err
	}
	return r.startShields(ctx)
}

func (r *run) stopShields() {
	for _, n := range r.shields {
		n.kill()
	}
}

func (r *run) startShields(ctx context.Context) error {
	for _, n := range r.shields {
		if err := n.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// loseStore stops the store; the origin has its mirror.
func (r *run) loseStore(ctx context.Context, p *Phase) error {
	r.store.kill()
	if err := load.Pause(ctx, r.half()); err != nil {
		return err
	}
	failed, err := r.origin.metric(ctx, "iconedge_origin_store_errors_total")
	if err != nil {
		return err
	}
	p.note("the origin counted %.0f failed requests to the store", failed)
	return r.store.start(ctx)
}

// cutRegion cuts off the most distant region.
func (r *run) cutRegion(ctx context.Context, p *Phase) error {
	region := r.regions[len(r.regions)-1]
	region.silence()
	defer region.mend()
	p.note("%s was cut off from shields, origin and Redis for %s", region.name, r.half())
	return load.Pause(ctx, r.half())
}

// newProgram upgrades the program of one edge after the other. Its sockets stay open meanwhile, as
// systemd keeps them. The load balancers ignore health checks and send nothing twice.
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
	p.note("%d edges, one after the other; each was down for at most %s", len(r.edges()), longest.Round(time.Millisecond))
	cached, rest, again := p.tally.counts()
	p.hold(cached.Failed+rest.Failed+again == 0, "%d requests failed, %d were sent twice", cached.Failed+rest.Failed, again)
	return r.sameProgram(ctx, p)
}

// sameProgram checks that every edge reports the version of the new program.
func (r *run) sameProgram(ctx context.Context, p *Phase) error {
	out, err := exec.CommandContext(ctx, r.Next, "version").Output()
	if err != nil {
		return fmt.Errorf("running %s for its version: %w", r.Next, err)
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
