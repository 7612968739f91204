//go:build linux

package fleet

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/loadtest/mix"
)

// A crowd is clients in every region that ask again and again, each as soon as it has its answer and its pause is over.
type crowd struct {
	judge *judge
	rate  float64 // requests a second, together
	seed  uint64
	tally atomic.Pointer[tally] // of the phase that is played
	cold  atomic.Bool           // icons that nobody asked for are among what is asked for
	blind atomic.Bool           // the load balancers look at no checks, and try nothing twice
	next  atomic.Int64          // of those icons

	clients []*client
	cancel  context.CancelFunc
	all     sync.WaitGroup
}

func newCrowd(r *run) *crowd {
	c := &crowd{judge: r.judge, rate: r.Rate, seed: r.Seed}
	c.cold.Store(true)
	for i, region := range r.regions {
		for n := range r.Clients {
			c.clients = append(c.clients, c.newClient(region, clientAddr(i, 1, n), n%2 == 0))
		}
	}
	c.tally.Store(newTally())
	return c
}

// clientAddr is a loopback address of its own for each client of each group in a region: limits count by address.
func clientAddr(region, group, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(10 + region), byte(group), byte(1 + n)})
}

func (c *crowd) newClient(region *region, from netip.Addr, keep bool) *client {
	return &client{region: region, from: from, keep: keep, blind: &c.blind, first: firstTry, wires: map[*edge]*wire{}}
}

// start lets the clients begin.
func (c *crowd) start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	for n, client := range c.clients {
		order := mix.Zipf(len(c.judge.icons), 1, c.seed+uint64(n))
		a := &asker{crowd: c, client: client, n: n, order: order, random: rand.New(rand.NewPCG(c.seed, uint64(n)))}
		c.all.Go(func() { a.run(ctx) })
	}
}

// stop waits until every answer under way is there.
func (c *crowd) stop() {
	c.cancel()
	c.all.Wait()
}

// An asker is one client's course.
type asker struct {
	*crowd
	*client
	n      int
	order  []uint32 // of icons, by Zipf's law
	asked  int
	random *rand.Rand
}

func (a *asker) run(ctx context.Context) {
	defer a.close()
	pause := time.Duration(float64(len(a.clients)) / a.rate * float64(time.Second))
	next := time.Now().Add(time.Duration(a.random.Float64() * float64(pause)))
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		a.once()
		next = next.Add(pause)
		if now := time.Now(); next.Before(now) { // closed loop: what an answer took too long for is not made up for
			next = now
		}
	}
}

// once asks one question, and counts the answer in the phase in which it was asked.
func (a *asker) once() {
	t, q := a.tally.Load(), a.question()
	a.judge.count(t, q, a.ask(q.request(a.n, a.keep)))
}

// question is the next one.
func (a *asker) question() question {
	icon := a.order[a.asked%len(a.order)]
	a.asked++
	k := a.kind()
	pick := func(targets []string) question { return question{kind: k, target: targets[int(icon)%len(targets)]} }
	switch k {
	case ofAPI:
		return pick(a.judge.api)
	case ofSearch:
		return pick(a.judge.searches)
	case ofMissing:
		return pick(a.judge.missing)
	case ofCold:
		return question{kind: k, target: a.judge.cold[int(a.next.Add(1))%len(a.judge.cold)]}
	}
	q := pick(a.judge.icons)
	if k == ofConditional {
		q.etag = a.judge.etagOf(q.target)
	}
	return q
}

func (a *asker) kind() kind {
	place := a.random.Float64() * 100
	for k, s := range share {
		if place -= s; place < 0 && (kind(k) != ofCold || a.cold.Load()) {
			return kind(k)
		}
	}
	return ofIcon
}
