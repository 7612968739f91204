//go:build linux

package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// shownIn is how soon every edge shows a new release.
const shownIn = 5 * time.Second

func (r *run) newRelease(ctx context.Context, p *Phase) error {
	return r.exchange(ctx, p, func() (string, error) {
		began := time.Now()
		if _, err := r.publish(ctx, 1); err != nil {
			return "", err
		}
		p.note("publishing took %s, beside all else", since(began).Round(time.Second))
		return r.listed(ctx)
	})
}

// rollback goes back to the first release: past others, where the store has some from runs before.
func (r *run) rollback(ctx context.Context, p *Phase) error {
	return r.exchange(ctx, p, func() (now string, err error) {
		for now != r.judge.firstRelease && err == nil {
			if _, err = r.call(ctx, "publish", "--store", r.storeURL(), "--rollback"); err == nil {
				now, err = r.listed(ctx)
			}
		}
		return now, err
	})
}

// exchange has another release made current, which flip names, and sees when each edge shows it, and whether one goes back.
func (r *run) exchange(ctx context.Context, p *Phase, flip func() (now string, err error)) error {
	before := r.judge.prepare()
	watching, stop := context.WithCancel(ctx)
	wait := r.watchEdges(watching, p)
	defer wait()
	defer stop()
	now, err := flip()
	if err != nil {
		return err
	}
	if err := r.awaitRelease(ctx, now); err != nil {
		return err
	}
	if err := r.learn(ctx, r.judge, now, r.judge.asked()); err != nil {
		return err
	}
	r.judge.allow(before, now)
	if err := await(ctx, func() (bool, error) { return len(r.judge.watched(now)) == len(r.edges()), nil }); err != nil {
		return fmt.Errorf("waiting for every edge to show release %s: %w", now, err)
	}
	if err := load.Pause(ctx, calm); err != nil { // what was asked for before may still be under way
		return err
	}
	return r.report(p, now)
}

// report notes what was seen of the exchange, and allows no more but the new release.
func (r *run) report(p *Phase, now string) error {
	at, err := r.flipped()
	if err != nil {
		return err
	}
	shown, slowest, words := r.judge.watched(now), time.Duration(0), []string(nil)
	for _, e := range r.edges() {
		took := shown[e].Sub(at)
		slowest, words = max(slowest, took), append(words, fmt.Sprintf("%s after %.2f s", e.name, took.Seconds()))
	}
	p.hold(slowest <= shownIn, "once the store's pointer was replaced, it is shown by %s", strings.Join(words, ", "))
	m := r.judge.mixed(now)
	p.hold(m.back == 0, "of %d answers with what it changed %d were old drawings of an icon that their edge had shown the new one of", m.of, m.back)
	p.hold(m.spans <= shownIn, "an edge had new drawings of some icons and old ones of others for %s at the most", m.spans.Round(time.Millisecond))
	r.judge.finish(now)
	return nil
}

// awaitRelease waits until the origin shows a release.
func (r *run) awaitRelease(ctx context.Context, release string) error {
	err := await(ctx, func() (bool, error) {
		now, err := r.currentRelease(ctx)
		return now == release, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the origin to show release %s: %w", release, err)
	}
	return nil
}

const watchStep = 50 * time.Millisecond

// watchEdges has somebody ask each edge for an icon that changes, again and again; wait returns when they have stopped.
func (r *run) watchEdges(ctx context.Context, p *Phase) (wait func()) {
	var all sync.WaitGroup
	q := question{kind: ofIcon, target: r.judge.watchedIcon()}
	for _, e := range r.edges() {
		c := r.crowd.newClient(e.region, clientAddr(0, groupWatch, 1), true)
		all.Go(func() {
			defer c.close()
			for load.Pause(ctx, watchStep) == nil {
				began := time.Now()
				a := c.try(e, q.request(2, true), firstTry)
				a.began, a.ended = began, time.Now()
				r.judge.count(p.tally, q, a)
			}
		})
	}
	return all.Wait
}
