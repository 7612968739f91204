//go:build linux

package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// shownIn is how soon every edge shows a new release.
const shownIn = 5 * time.Second

func (r *run) newRelease(ctx context.Context, p *Phase) error {
	return r.exchange(ctx, p, func() error {
		began := time.Now()
		_, err := r.publish(ctx, 1)
		p.note("publishing took %s, beside all else", since(began).Round(time.Second))
		return err
	})
}

func (r *run) rollback(ctx context.Context, p *Phase) error {
	return r.exchange(ctx, p, func() error {
		_, err := r.call(ctx, "publish", "--store", r.storeURL(), "--rollback")
		return err
	})
}

// exchange has another release made current, and sees when each edge shows it, and whether one goes back.
func (r *run) exchange(ctx context.Context, p *Phase, flip func() error) error {
	before := r.judge.prepare()
	watching, stop := context.WithCancel(ctx)
	wait := r.watchEdges(watching, p)
	defer wait()
	defer stop()
	if err := flip(); err != nil {
		return err
	}
	now, err := r.nextRelease(ctx, before)
	if err != nil {
		return err
	}
	if err := r.learn(ctx, r.judge, now, r.judge.asked()); err != nil {
		return err
	}
	r.judge.allow(before, now)
	if err := await(ctx, func() (bool, error) { return len(r.judge.watched(now)) == len(r.edges()), nil }); err != nil {
		return fmt.Errorf("waiting for every edge to show release %s: %w", now, err)
	}
	if err := pause(ctx, calm); err != nil { // what was asked for before may still be under way
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

// nextRelease waits until the origin shows another release.
func (r *run) nextRelease(ctx context.Context, before string) (now string, err error) {
	err = await(ctx, func() (bool, error) {
		now, err = r.currentRelease(ctx)
		return now != before, err
	})
	return now, err
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
			for pause(ctx, watchStep) == nil {
				began := time.Now()
				a := c.try(e, q.request(2, true), firstTry)
				a.began, a.ended = began, time.Now()
				r.judge.count(p.tally, q, a)
			}
		})
	}
	return all.Wait
}
