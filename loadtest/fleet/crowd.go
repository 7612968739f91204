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

// A crowd is the clients of all regions. Each sends its next request when it has its response and
// its pause is over.
type crowd struct {
	judge *judge
	rate  float64 // requests a second, in total
	seed  uint64
	tally atomic.Pointer[tally] // of the current phase
	cold  atomic.Bool           // include icons that were never requested before
	blind atomic.Bool           // balancers ignore health checks and send nothing twice
	next  atomic.Int64          // index of the next such icon

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

// clientAddr returns the loopback address of one client of a group in a region: limits count by
// address.
func clientAddr(region, group, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(10 + region), byte(group), byte(1 + n)})
}

func (c *crowd) newClient(region *region, from netip.Addr, keep bool) *client {
	return &client{region: region, from: from, keep: keep, blind: &c.blind, first: firstTry, wires: map[*edge]*wire{}}
}

// start starts the clients.
func (c *crowd) start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	for n, client := range c.clients {
		order := mix.Zipf(len(c.judge.icons), 1, c.seed+uint64(n))
		a := &crowdClient{crowd: c, client: client, n: n, order: order, random: rand.New(rand.NewPCG(c.seed, uint64(n)))}
		c.all.Go(func() { a.run(ctx) })
	}
}

// stop stops the clients after their current responses.
func (c *crowd) stop() {
	c.cancel()
	c.all.Wait()
}

// A crowdClient is one client of the crowd, with its sequence of questions.
type crowdClient struct {
	*crowd
	*client
	n      int
	order  []uint32 // of icons, by a Zipf distribution
	asked  int
	random *rand.Rand
}

func (a *crowdClient) run(ctx context.Context) {
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
		// closed loop: a slow response delays the following requests
		if now := time.Now(); next.Before(now) {
			next = now
		}
	}
}

// once asks one question and counts the answer in the phase in which the question was asked.
func (a *crowdClient) once() {
	t, q := a.tally.Load(), a.question()
	a.judge.count(t, q, a.ask(q.request(a.n, a.keep)))
}

// question returns the next question.
func (a *crowdClient) question() question {
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

func (a *crowdClient) kind() kind {
	place := a.random.Float64() * 100
	for k, s := range share {
		if place -= s; place < 0 && (kind(k) != ofCold || a.cold.Load()) {
			return kind(k)
		}
	}
	return ofIcon
}
