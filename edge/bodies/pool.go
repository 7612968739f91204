package bodies

import (
	"container/heap"
	"net/netip"
	"time"
)

// A kind says what the bytes of a Share are for.
type kind uint8

const (
	requests  kind = iota // without a response
	responses             // that their clients do not take
	kinds                 // the number of kinds
)

// sparePart sets the part of a pool that is left for clients that hold less than others. As much
// again is left for whole requests, such as hits that take the pipeline, so that requests whose
// clients delay them can't keep those out.
const sparePart = 8

// A pool is the bytes of one kind that all clients hold together.
type pool struct {
	held int64
	// Of held: of places that their Holders have been made to leave.
	leaving int64
	by      map[netip.Prefix]*member // the clients that have places
	most    members                  // those of particular clients
	refused int64                    // reservations
	ended   int64                    // places
}

// A member is a client with places in a pool.
type member struct {
	client netip.Prefix
	held   int64  // without those of leaving places
	places int    // leaving ones included
	newest *place // of those that can be left
	index  int    // in pool.most; -1: no particular client
}

// A place is that of a Share in a pool.
type place struct {
	share        *Share
	bytes        int64
	kind         kind
	of           *member // nil: it does not count now
	leaving      bool
	newer, older *place // in the list of the member
}

// Answered says that the response to a request has begun. What its Share holds does not count
// against Requests any more, and not against Responses while the client takes the response.
func (r *Budget) Answered(s *Share) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.place != nil && s.place.of != nil {
		r.pools[s.place.kind].leave(s.place)
	}
}

// Unread says that the client may not take its response, until the next call of Answered. What its
// Share holds counts against Responses. If these are too many it changes nothing and returns
// ErrOverloaded: the client should get little time.
func (r *Budget) Unread(s *Share) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.place == nil || s.place.of != nil && s.place.kind == responses {
		return nil
	}
	if !r.admits(s, s.place.bytes, responses) {
		return ErrOverloaded
	}
	if s.place.of != nil {
		r.pools[requests].leave(s.place)
	}
	s.place.kind = responses
	r.pools[responses].enter(s.place, s.place.bytes)
	return nil
}

const (
	awaitFor  = time.Second
	awaitStep = 10 * time.Millisecond
	// awaitMost is the number of requests that wait for room at a time. Each has a goroutine
	// already.
	awaitMost = 256
)

// Await is like ReserveShare, but if others hold everything, and the client nothing, it waits for
// room: their requests may be hits, which end within milliseconds, or end to make room. It returns
// ErrOverloaded when a second has passed, or if many requests wait already.
func (r *Budget) Await(s *Share, n int64) error {
	err := r.ReserveShare(s, n)
	if err == nil {
		return nil
	}
	defer r.awaiting.Add(-1)
	if r.awaiting.Add(1) > awaitMost {
		return err
	}
	for waited := time.Duration(0); err != nil && waited < awaitFor && !r.holds(s.Client); waited += awaitStep {
		time.Sleep(awaitStep)
		err = r.ReserveShare(s, n)
	}
	return err
}

// holds reports whether a particular client has requests.
func (r *Budget) holds(client netip.Prefix) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return client.IsValid() && r.pools[requests].by[client] != nil
}

// Leaves reports whether End was called, or will be, because of what s holds now.
func (r *Budget) Leaves(s *Share) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.place != nil && s.place.leaving
}

// A PoolStats is the state of the bytes of one kind.
type PoolStats struct {
	Held, Max int64
	Refused   int64 // reservations
	Ended     int64 // requests or responses that made room for other clients
}

// Stats returns the state of the bytes of requests and of responses.
func (r *Budget) Stats() (ofRequests, ofResponses PoolStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := func(k kind) PoolStats {
		p := &r.pools[k]
		return PoolStats{p.held, r.bound(k), p.refused, p.ended}
	}
	return of(requests), of(responses)
}

// bound returns the bound of a kind; 0: none.
func (r *Budget) bound(k kind) int64 {
	if k == requests {
		return r.Requests
	}
	return r.Responses
}

// count adds n bytes of a Share to its pool, which is that of a kind if it has none yet. It reports
// whether there was room.
func (r *Budget) count(s *Share, n int64, k kind) bool {
	if t := s.place; t != nil {
		k = t.kind
		if t.of == nil { // its client takes the response
			t.bytes += n
			return true
		}
	}
	if !r.admits(s, n, k) {
		return false
	}
	if s.place == nil {
		s.place = &place{share: s, kind: k}
	}
	r.pools[k].enter(s.place, n)
	s.place.bytes += n
	return true
}

// admits reports whether there is room for n more bytes of a Share, after it has made room.
func (r *Budget) admits(s *Share, n int64, k kind) bool {
	most := r.bound(k)
	if most == 0 {
		return true
	}
	p, spare := &r.pools[k], most/sparePart
	if k == requests && !s.Whole {
		most -= spare
	}
	if !p.relieve(s.Client, n, most-spare) || p.held+n > most {
		p.refused++
		return false
	}
	return true
}

// uncount removes n bytes of a Share.
func (r *Budget) uncount(s *Share, n int64) {
	t := s.place
	if t == nil {
		return
	}
	p := &r.pools[t.kind]
	if n < t.bytes {
		if t.of != nil {
			p.take(t, n)
		}
		t.bytes -= n
		return
	}
	if t.of != nil {
		p.leave(t)
	}
	s.place = nil
}

// relieve makes clients that hold more than client would with n bytes more leave places, until all
// bytes are no more than room, as soon as the Holders have done so. A client that holds nothing yet
// also takes the place of a client that holds as much. Each time relieve takes the newest place of
// the client that then holds most. Clients that belong to no particular one, as those behind a
// trusted proxy, leave places only if no other client can. It returns false if client itself holds
// most.
func (p *pool) relieve(client netip.Prefix, n, room int64) bool {
	for p.held-p.leaving+n > room {
		m, first := p.victim(client, n)
		if m == nil {
			return !first
		}
		t := m.newest
		if t == nil {
			return true
		}
		p.drop(t)
	}
	return true
}

// victim returns the client that leaves a place for n bytes of another one; nil: there is none. If
// first is true the other one itself holds most.
func (p *pool) victim(client netip.Prefix, n int64) (m *member, first bool) {
	would := n
	own := p.by[client]
	if own != nil && client.IsValid() {
		would += own.held
	}
	if would == n {
		would-- // it holds nothing
	}
	if len(p.most) > 0 && p.most[0].held > would {
		return p.most[0], false
	}
	if !client.IsValid() {
		return nil, false
	}
	alone := len(p.most) == 0 || len(p.most) == 1 && p.most[0] == own
	if exempt := p.by[netip.Prefix{}]; alone && exempt != nil && exempt.held > would {
		return exempt, false
	}
	return nil, true
}

// enter adds n bytes to those of a place.
func (p *pool) enter(t *place, n int64) {
	p.held += n
	if t.of == nil {
		p.join(t)
	}
	if t.leaving {
		p.leaving += n
		return
	}
	t.of.held += n
	p.sort(t.of)
}

// join gives a place to its client.
func (p *pool) join(t *place) {
	client := t.share.Client
	m := p.by[client]
	if m == nil {
		if p.by == nil {
			p.by = map[netip.Prefix]*member{}
		}
		m = &member{client: client, index: -1}
		p.by[client] = m
		if client.IsValid() {
			heap.Push(&p.most, m)
		}
	}
	m.places++
	t.of = m
	if t.share.Holder == nil {
		return
	}
	if t.older = m.newest; t.older != nil {
		t.older.newer = t
	}
	m.newest = t
}

// take removes n bytes of a place.
func (p *pool) take(t *place, n int64) {
	p.held -= n
	if t.leaving {
		p.leaving -= n
		return
	}
	t.of.held -= n
	p.sort(t.of)
}

// leave removes a place and all its bytes.
func (p *pool) leave(t *place) {
	p.take(t, t.bytes)
	m := t.of
	m.unlist(t)
	t.of, t.leaving = nil, false
	if m.places--; m.places > 0 {
		return
	}
	delete(p.by, m.client)
	if m.index >= 0 {
		heap.Remove(&p.most, m.index)
	}
}

// drop tells the Holder of a place to leave it.
func (p *pool) drop(t *place) {
	t.leaving = true
	p.leaving += t.bytes
	t.of.held -= t.bytes
	t.of.unlist(t)
	p.sort(t.of)
	p.ended++
	go t.share.Holder.End()
}

func (p *pool) sort(m *member) {
	if m.index >= 0 {
		heap.Fix(&p.most, m.index)
	}
}

// unlist removes a place from the list of those that can be left.
func (m *member) unlist(t *place) {
	if t.newer != nil {
		t.newer.older = t.older
	} else if m.newest == t {
		m.newest = t.older
	}
	if t.older != nil {
		t.older.newer = t.newer
	}
	t.newer, t.older = nil, nil
}

// members are a heap with the client that holds most on top.
type members []*member

func (q members) Len() int           { return len(q) }
func (q members) Less(i, j int) bool { return q[i].held > q[j].held }

func (q members) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *members) Push(m any) {
	m.(*member).index = len(*q)
	*q = append(*q, m.(*member))
}

func (q *members) Pop() any {
	last := len(*q) - 1
	m := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return m
}
