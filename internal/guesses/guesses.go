// Package guesses limits what clients can make the server spend on checking secrets: passwords,
// whose comparison is slow on purpose, and tokens, which cost a request or a read of the store.
//
// A Queue runs a few checks at a time. Requests with the same secret share one check. The client
// whose last check is the longest ago goes first, and of its checks the newest, so that a client
// with many guesses delays others by one check at most. A check that nobody waits for any more is
// dropped before it costs anything. Memory recalls verdicts, in bounded space.
package guesses

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// MaxOfClient bounds the checks of one client that wait. The newest stay, because the client
	// may be many people behind one address, and one of them may send nothing but guesses.
	MaxOfClient = 64
	// MaxWaiting bounds the checks of all clients that wait.
	MaxWaiting = 256
	// lookEvery is the time between two looks whether the client of a waiting request has gone.
	lookEvery = 100 * time.Millisecond
)

// The errors of a request without a verdict.
var (
	ErrClient = errors.New("too many checks of this client are waiting")
	ErrFull   = errors.New("too many checks are waiting")
	ErrLate   = errors.New("the check has not ended in time")
	ErrGone   = errors.New("the client has gone")
)

// A Key identifies a secret, with everything else that its verdict depends on.
type Key [32]byte

// A Guess is a request that needs a verdict.
type Guess struct {
	Key      Key
	Client   netip.Prefix  // the network that counts as one client
	Exempt   bool          // the client may have as many waiting checks as all together
	First    bool          // the secret was right before, so it goes before all others
	Gone     func() bool   // reports whether the client has gone, and must not block; nil: unknown
	Patience time.Duration // how long the request waits
}

// A Queue runs checks with results of type V. Its methods may be called concurrently.
type Queue[V any] struct {
	slots int

	mu      sync.Mutex
	checks  map[Key]*check[V] // waiting and running
	waiting []*check[V]       // the newest last
	running int
	clients *Memory[netip.Prefix, *client]
	turn    int64 // of the last check that began
	stats   Stats
}

// A client is a network with checks, waiting or past.
type client struct {
	turn    int64 // of its last check that began; 0: none
	waiting int   // its checks that wait
}

// A check runs once, for all requests that wait for it.
type check[V any] struct {
	key    Key
	owner  *client // counts it; the client of the first request
	exempt bool    // from the bound of its owner
	began  time.Time
	wants  []*request
	run    func() V
	done   chan struct{} // closed when result and err are set
	result V
	err    error
}

// A request waits for a check.
type request struct {
	client *client
	first  bool
	gone   func() bool
}

// Stats counts the checks of a Queue.
type Stats struct {
	Begun   int64 // checks that ran
	Refused int64 // checks that found no room
	Dropped int64 // checks that nobody waited for any more
	Waiting int
}

// New returns a Queue that runs so many checks at a time.
func New[V any](slots int) *Queue[V] {
	return &Queue[V]{slots: slots, checks: map[Key]*check[V]{}, clients: NewMemory[netip.Prefix, *client](maxClients)}
}

// maxClients bounds the clients whose turns are remembered, in each of two generations.
const maxClients = 4096

// Stats returns the counts so far.
func (q *Queue[V]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting = len(q.waiting)
	return s
}

// Pending returns when the check of a key was asked for, if it waits or runs.
func (q *Queue[V]) Pending(key Key) (since time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.checks[key]; c != nil {
		return c.began, true
	}
	return since, false
}

// Do waits for the result of a check. It calls run on another goroutine when its turn has come,
// unless a check of the same key waits or runs already. Without a result it returns one of the
// errors above. A check that runs goes on after its last request has left. While a slot is free Do
// does not ask whether the client has gone, because a client that has closed only its sending
// direction looks the same.
func (q *Queue[V]) Do(g Guess, run func() V) (result V, err error) {
	c, r := q.add(g, run)
	if c == nil {
		return result, ErrGone
	}
	patience, look := time.NewTimer(g.Patience), time.NewTicker(lookEvery)
	defer patience.Stop()
	defer look.Stop()
	for {
		select {
		case <-c.done:
			return c.result, c.err
		case <-patience.C:
			q.leave(c, r)
			return result, ErrLate
		case <-look.C:
			if r.left() && q.abandon(c, r) {
				return result, ErrGone
			}
		}
	}
}

func (r *request) left() bool { return r.gone != nil && r.gone() }

// add makes a request wait for its check, which it adds if there is none. It returns nil if the
// client has gone before.
func (q *Queue[V]) add(g Guess, run func() V) (*check[V], *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	owner, ok := q.clients.Get(g.Client)
	if !ok {
		owner = &client{}
		q.clients.Put(g.Client, owner)
	}
	r := &request{owner, g.First, g.Gone}
	if c := q.checks[g.Key]; c != nil {
		c.wants = append(c.wants, r)
		return c, r
	}
	c := &check[V]{key: g.Key, owner: owner, exempt: g.Exempt, began: time.Now(), wants: []*request{r}, run: run, done: make(chan struct{})}
	switch {
	case q.running < q.slots: // none waits
		q.start(c)
	case r.left():
		q.stats.Dropped++
		return nil, nil
	default:
		q.checks[g.Key] = c
		q.waiting = append(q.waiting, c)
		owner.waiting++
		q.bound(c)
	}
	return c, r
}

// bound refuses a check if more wait than may, now that c does. q.mu is held.
func (q *Queue[V]) bound(c *check[V]) {
	switch {
	case !c.exempt && c.owner.waiting > MaxOfClient:
		oldest := slices.IndexFunc(q.waiting, func(one *check[V]) bool { return one.owner == c.owner })
		q.refuse(oldest, ErrClient)
	case len(q.waiting) > MaxWaiting:
		last := 0
		for i, one := range q.waiting {
			if one.rank() > q.waiting[last].rank() {
				last = i
			}
		}
		q.refuse(last, ErrFull)
	}
}

func (q *Queue[V]) refuse(i int, err error) {
	q.stats.Refused++
	q.waiting[i].err = err
	close(q.remove(i).done)
}

// remove takes a waiting check out. q.mu is held.
func (q *Queue[V]) remove(i int) *check[V] {
	c := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	c.owner.waiting--
	delete(q.checks, c.key)
	return c
}

// rank orders checks: that of the lowest rank goes first.
func (c *check[V]) rank() int64 {
	rank := c.owner.turn
	for _, r := range c.wants {
		if r.first {
			return -1
		}
		rank = min(rank, r.client.turn)
	}
	return rank
}

// begin starts waiting checks while there are slots. q.mu is held.
func (q *Queue[V]) begin() {
	for q.running < q.slots && len(q.waiting) > 0 {
		next := len(q.waiting) - 1
		for i, one := range slices.Backward(q.waiting) {
			if one.rank() < q.waiting[next].rank() {
				next = i
			}
		}
		c := q.remove(next)
		if !slices.ContainsFunc(c.wants, func(r *request) bool { return !r.left() }) {
			q.stats.Dropped++
			c.err = ErrGone
			close(c.done)
			continue
		}
		q.start(c)
	}
}

// start runs a check. q.mu is held.
func (q *Queue[V]) start(c *check[V]) {
	q.checks[c.key] = c // for requests that join
	q.stats.Begun++
	q.running++
	q.turn++
	c.owner.turn = q.turn
	for _, r := range c.wants {
		r.client.turn = q.turn
	}
	go q.work(c)
}

func (q *Queue[V]) work(c *check[V]) {
	c.result = c.run()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.checks, c.key)
	close(c.done)
	q.running--
	q.begin()
}

// leave makes a request not wait any more. A check that waits for nobody is dropped.
func (q *Queue[V]) leave(c *check[V], r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.wants = slices.DeleteFunc(c.wants, func(one *request) bool { return one == r })
	if i := slices.Index(q.waiting, c); i >= 0 && len(c.wants) == 0 {
		q.stats.Dropped++
		q.remove(i)
	}
}

// abandon makes a request leave whose client has gone, unless its check runs.
func (q *Queue[V]) abandon(c *check[V], r *request) bool {
	q.mu.Lock()
	waits := slices.Contains(q.waiting, c)
	q.mu.Unlock()
	if waits {
		q.leave(c, r)
	}
	return waits
}
