package exchange

import "sync"

// maxInterims is how many interim responses one request gets. An origin may send more, but a client
// can use no more.
const maxInterims = 32

// An Interim is a response with a status of 1xx, which precedes the response to a request (RFC
// 9110, section 15.2).
type Interim struct {
	Status int
	Lines  []byte // fields, as in Response
}

// Interims sends interim responses to the client of one request while the request waits for its
// response. A client that is slow to take them delays nobody but itself. The zero Interims sends
// none.
type Interims struct {
	Send func(Interim) // by the adapter; nil: the client's protocol has none

	mu     sync.Mutex
	ended  sync.Cond
	queue  []Interim
	added  int
	sends  bool // a goroutine sends the queue
	closed bool
}

// Add sends one more, unless the response has begun.
func (i *Interims) Add(one Interim) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.Send == nil || i.closed || i.added == maxInterims {
		return
	}
	i.added++
	i.queue = append(i.queue, one)
	if !i.sends {
		i.sends = true
		go i.run()
	}
}

func (i *Interims) run() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.queue) > 0 {
		one := i.queue[0]
		i.queue = i.queue[1:]
		i.mu.Unlock()
		i.Send(one)
		i.mu.Lock()
	}
	i.sends = false
	if i.ended.L != nil {
		i.ended.Broadcast()
	}
}

// Close returns when all have been sent, because the response follows. Later ones are dropped.
func (i *Interims) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for i.ended.L = &i.mu; i.sends; {
		i.ended.Wait()
	}
}
