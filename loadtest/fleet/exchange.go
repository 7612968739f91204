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

// shownIn is the promised time until every edge serves a new release.
const shownIn = 5 * time.Second

func (r *run) newRelease(ctx context.Context, p *Phase) error {
	return r.exchange(ctx, p, func() (string, error) {
		began := time.Now()
		if _, err := r.publish(ctx, 1); err != nil {
			return "", err
		}
		p.note("publishing took %s, beside the load", since(began).Round(time.Second))
		return r.listed(ctx)
	})
}

// rollback makes the first release current again. It skips releases of earlier runs in the store.
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

// exchange calls flip, which makes another release current and returns its name. It records when
// each edge serves it, and whether an edge returns to the old one.
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
		return fmt.Errorf("waiting for every edge to serve release %s: %w", now, err)
	}
	if err := load.Pause(ctx, calm); err != nil { // earlier requests may still be in flight
		return err
	}
	return r.report(p, now)
}

// report notes the recorded times, and allows only the new release from then on.
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
	p.hold(slowest <= shownIn, "served, after the store's pointer was replaced, by %s", strings.Join(words, ", "))
	m := r.judge.mixed(now)
	p.hold(m.back == 0, "of %d responses for changed icons, %d had the old SVG although their edge had served the new one before", m.of,
		m.back)
	p.hold(m.spans <= shownIn, "an edge served new SVGs of some icons and old SVGs of others for at most %s",
		m.spans.Round(time.Millisecond))
	r.judge.finish(now)
	return nil
}

// awaitRelease waits until the origin serves a release.
func (r *run) awaitRelease(ctx context.Context, release string) error {
	err := await(ctx, func() (bool, error) {
		now, err := r.currentRelease(ctx)
		return now == release, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the origin to serve release %s: %w", release, err)
	}
	return nil
}

const watchStep = 50 * time.Millisecond

// watchEdges requests an icon that changes from each edge repeatedly. The function wait returns
// when that has stopped.
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
