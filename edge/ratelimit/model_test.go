package ratelimit

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/sequential"
)

// model is a limiter in its simplest form, which keeps moments in plain lists and looks at all of
// them each time.
type model struct {
	limit Limit
	max   int
	calls map[key][]time.Duration
}

// expire removes the calls that do not count at now.
func (n *model) expire(k key, now time.Duration) {
	n.calls[k] = slices.DeleteFunc(n.calls[k], func(at time.Duration) bool { return now-at >= n.limit.Window })
	if len(n.calls[k]) == 0 {
		delete(n.calls, k)
	}
}

// window returns the key of the window in which a client's call counts.
func (n *model) window(own key) key {
	shared := 0
	for k := range n.calls {
		if k.kind.shared() {
			shared++
		}
	}
	for _, k := range []key{own, own.near(), own.wide()} {
		if n.calls[k] != nil {
			return k
		}
	}
	switch {
	case len(n.calls)-shared < n.max:
		return own
	case shared < max(1, n.max/4):
		return own.near()
	}
	return own.wide()
}

func (n *model) allow(k key, now time.Duration) Decision {
	d := Decision{OK: len(n.calls[k]) < n.limit.N}
	if d.OK {
		n.calls[k] = append(n.calls[k], now)
	}
	d.Remaining, d.Reset = n.limit.N-len(n.calls[k]), n.calls[k][0]+n.limit.Window-now
	if !d.OK {
		d.RetryAfter = (d.Reset + time.Second - 1) / time.Second * time.Second
	}
	return d
}

// A pair is a limiter and its model, which get the same calls. The model's times are rounded down
// to a tick. Below the ceiling it follows each shard's clock. Above the ceiling all idle windows
// are swept out before each call, so that it is certain which window a client gets.
type pair struct {
	l           *Limiter
	model       model
	clocks      [numShards]time.Duration
	overCeiling bool
}

func newPair(limit Limit, ceiling int) *pair {
	p := &pair{l: New(limit, Options{MaxClients: ceiling}), overCeiling: ceiling > 0}
	p.model = model{limit, int(p.l.max), map[key][]time.Duration{}}
	for i := range p.clocks {
		p.clocks[i] = -forever
	}
	return p
}

func (p *pair) sweep(at time.Duration) {
	p.l.Sweep(p.l.base.Add(at))
	for i := range p.clocks {
		p.clocks[i] = max(p.clocks[i], p.rounded(at))
	}
}

// rounded returns the tick of at.
func (p *pair) rounded(at time.Duration) time.Duration {
	down := at.Truncate(p.l.tick)
	if down > at {
		down -= p.l.tick
	}
	return down
}

// call makes a call in both.
func (p *pair) call(own key, at time.Duration) (got, want Decision) {
	window := own
	if p.overCeiling {
		p.sweep(at)
		for k := range p.model.calls {
			p.model.expire(k, p.clocks[0])
		}
		window = p.model.window(own)
	}
	clock := &p.clocks[own.hash(p.l.seed)%numShards]
	*clock = max(*clock, p.rounded(at))
	p.model.expire(window, *clock)
	return p.l.allow(own, p.l.base.Add(at)), p.model.allow(window, *clock)
}

// check makes a call in both and compares the decisions.
func (p *pair) check(t *testing.T, own key, at time.Duration) Decision {
	t.Helper()
	got, want := p.call(own, at)
	if got != want {
		t.Fatalf("limit %v, ceiling %d, %v at %v: %+v, want %+v", p.model.limit, p.model.max, own, at, got, want)
	}
	return got
}

// For any mixture of clients, pauses and late calls the limiter decides as the model does, and a
// call after Retry-After gets through: with few clients and with many, below the ceiling and above
// it.
func TestAgainstModel(t *testing.T) {
	sequential.Test(t)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := randomLimit(r)
		ceiling, clients := 0, 1+r.IntN(30)
		if seed%3 == 1 {
			ceiling = 1 + r.IntN(12)
		} else if seed%10 == 0 {
			clients = 20_000
		}
		p, now := newPair(limit, ceiling), time.Duration(0)
		calls := 3000 + 4*clients
		for range calls {
			now += pause(r, limit, clients)
			own := randomKey(r, p.l.seed, clients)
			if d := p.check(t, own, now-late(r, limit)); !d.OK && r.IntN(10) == 0 {
				now = max(now, p.clocks[own.hash(p.l.seed)%numShards]) + d.RetryAfter
				if d := p.check(t, own, now); !d.OK && ceiling == 0 {
					t.Fatalf("seed %d: refused after a Retry-After: %+v", seed, d)
				}
			}
			if r.IntN(calls/10) == 0 {
				p.sweep(now)
			}
		}
	}
}

// randomLimit returns a limit whose window has ticks of any length, and sometimes many blocks.
func randomLimit(r *rand.Rand) Limit {
	l := Limit{1 + r.IntN(90), time.Duration(1+r.IntN(90)) * time.Second}
	switch r.IntN(4) {
	case 0:
		l.N *= 1 + r.IntN(8)
	case 1:
		l.Window *= time.Duration(1 + r.IntN(960)) // up to a day
	}
	return l
}

// pause returns a pause after which the limit is sometimes reached.
func pause(r *rand.Rand, limit Limit, clients int) time.Duration {
	switch r.IntN(20 * max(1, clients/100)) {
	case 0: // exactly when a place frees, or a tick before
		return limit.Window - time.Duration(r.IntN(2))*limit.tick()
	case 1:
		return time.Duration(r.Int64N(3 * int64(limit.Window)))
	}
	return time.Duration(r.Int64N(int64(limit.Window) / int64(limit.N)))
}

// late returns by how much a call is out of order.
func late(r *rand.Rand, limit Limit) time.Duration {
	if r.IntN(10) > 0 {
		return 0
	}
	return time.Duration(r.Int64N(int64(2 * limit.Window)))
}

// randomKey returns the key of one of n clients: an address in one of its forms, or a token.
func randomKey(r *rand.Rand, seed maphash.Seed, n int) key {
	i := uint32(r.IntN(n)) * 0x3007 // some clients share a network
	var token [16]byte
	a := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, i)))
	switch r.IntN(4) {
	case 0:
		return keyOf(a)
	case 1:
		return keyOf(netip.AddrFrom16(a.As16())) // ::ffff:192.0.2.n
	case 2:
		binary.BigEndian.PutUint32(token[4:], i)
		binary.BigEndian.PutUint64(token[8:], r.Uint64())
		return keyOf(netip.AddrFrom16(token))
	}
	binary.BigEndian.PutUint32(token[:], i)
	return keyOfToken(seed, token)
}

// FuzzAllow compares a limiter with its model for any history, in which three bytes are a client,
// an action and a pause.
func FuzzAllow(f *testing.F) {
	f.Add(uint8(1), uint8(0), []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0})
	f.Add(uint8(15), uint8(2), []byte{0, 0, 0, 1, 0, 0, 2, 3, 9, 3, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, n, ceiling uint8, history []byte) {
		limit := Limit{1 + int(n), 10 * time.Second}
		p, now := newPair(limit, int(ceiling)), time.Duration(0)
		for ; len(history) >= 3; history = history[3:] {
			who, how, long := history[0], history[1], time.Duration(history[2])
			own := keyOf(netip.AddrFrom4([4]byte{1 + who>>7, who >> 4 & 3, who >> 2 & 3, who & 3}))
			switch how % 5 {
			case 0:
				now += long * limit.Window / time.Duration(limit.N) / 16
			case 1:
				now += limit.Window - long%2*limit.tick()
			case 2:
				now -= long * time.Second / 8
			case 3:
				own = keyOfToken(p.l.seed, [16]byte{0: who, 15: who & 1})
			case 4:
				p.sweep(now)
			}
			for range 1 + how/32 {
				p.check(t, own, now)
			}
		}
	})
}
