//go:build linux

package fleet

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// withdrawnWithin is the promised time until every edge refuses a withdrawn icon, after the
// withdrawal or after the return of the node that was away.
const withdrawnWithin = 10 * time.Second

// takedown withdraws icons, and measures when every edge refuses all of their addresses: with all
// nodes up, without the shields, without Redis, and after the store was gone. In the end it undoes
// the withdrawals, for the next run over the same store.
func (r *run) takedown(ctx context.Context, p *Phase) error {
	targets := r.judge.reserved[4:8]
	for _, target := range targets {
		if err := r.fill(ctx, r.edges(), []string{target}); err != nil {
			return err
		}
	}
	for i, step := range []takedown{
		{how: "with all nodes up"},
		{how: "without the shields", leave: func() error { r.stopShields(); return nil },
			back: func() error { return r.startShields(ctx) }},
		{how: "without Redis", leave: func() error { r.redis.kill(); return nil }, back: func() error { return r.redis.start(ctx) }},
		{how: "after the return of the store, which was gone from the moment of the withdrawal", early: true,
			leave: func() error { r.store.kill(); return nil }, back: func() error { return r.store.start(ctx) }},
	} {
		if err := r.takedownOnce(ctx, p, targets[i], step); err != nil {
			return err
		}
	}
	for _, target := range targets {
		if _, err := r.call(ctx, "withdraw", "--store", r.storeURL(), refOf(target), "--undo"); err != nil {
			return err
		}
	}
	began := time.Now()
	for _, e := range r.edges() {
		if err := await(ctx, func() (bool, error) { return r.statusOf(e, targets[0]) == http.StatusOK, nil }); err != nil {
			return fmt.Errorf("%s does not answer %s again: %w", e.name, targets[0], err)
		}
	}
	p.note("%s after the withdrawals were undone, every edge answered again", since(began))
	return nil
}

// A takedown is a withdrawal while a node is away.
type takedown struct {
	how         string
	leave, back func() error
	early       bool // the withdrawal is stored before the node leaves
}

// takedownOnce withdraws one icon while a node is away, or just before it leaves.
func (r *run) takedownOnce(ctx context.Context, p *Phase, target string, step takedown) error {
	if step.leave != nil && !step.early {
		if err := step.leave(); err != nil {
			return err
		}
	}
	if _, err := r.call(ctx, "withdraw", "--store", r.storeURL(), refOf(target), "--reason", "fleet"); err != nil {
		return err
	}
	began := time.Now()
	if step.early {
		if err := step.leave(); err != nil {
			return err
		}
		if err := load.Pause(ctx, awayFor); err != nil {
			return err
		}
		if err := step.back(); err != nil {
			return err
		}
		began = time.Now()
	}
	for _, e := range r.edges() {
		for address, status := range addressesOf(target) {
			if err := await(ctx, func() (bool, error) { return r.statusOf(e, address) == status, nil }); err != nil {
				return fmt.Errorf("%s answers %s with %d, not %d: %w", e.name, address, r.statusOf(e, address), status, err)
			}
		}
	}
	took := time.Since(began)
	p.hold(took <= withdrawnWithin, "%s, all edges refused every address of an icon %s after its withdrawal", step.how,
		took.Round(time.Millisecond))
	if step.back != nil && !step.early {
		return step.back()
	}
	return nil
}

// refOf returns the pack and name in the address of an icon.
func refOf(target string) string { return strings.TrimSuffix(strings.TrimPrefix(target, "/"), ".svg") }

// addressesOf returns addresses of an icon that have no limit by default, with the status of each
// once the icon is withdrawn: clients of Iconify take 404 for a missing icon.
func addressesOf(target string) map[string]int {
	return map[string]int{
		target: http.StatusGone, target + "?color=%23ff0000&size=48": http.StatusGone,
		"/" + strings.Replace(refOf(target), "/", ":", 1) + ".svg": http.StatusNotFound,
	}
}

// statusOf returns the status of an edge's response; 0: there was none.
func (r *run) statusOf(e *edge, target string) int {
	m := mix.Maker{Host: "icons.example"}
	c := r.crowd.newClient(e.region, clientAddr(0, groupWatch, 0), false)
	a := c.try(e, m.Get(target, "Connection: close"), firstTry)
	if a.err != nil {
		return 0
	}
	return a.status
}
