package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// checkConns is the number of connections for checks, which are opened in advance. A check that
	// finds all of them in use waits for the first that is free, and is sent together with all
	// others that wait. So a check takes one round trip, or two at most if there are many, and the
	// connections of a thousand edges are fewer than the 10,000 clients that Redis allows.
	checkConns = 4

	mostAtOnce = 256 // checks sent together
)

// checks is a client for checks alone, and the checks that wait for one of its connections.
type checks struct {
	*redis.Client
	mu      sync.Mutex
	waiting []*check
	sending int // connections in use
}

// A check is a call of a script that counts one call of a client.
type check struct {
	script   *redis.Script
	key      string
	args     []any
	deadline time.Time
	done     chan struct{} // closed when reply and err are set
	reply    []int64
	err      error
}

// run runs a check and waits for its result, or until ctx ends.
func (c *checks) run(ctx context.Context, k *check) ([]int64, error) {
	k.done = make(chan struct{})
	k.deadline, _ = ctx.Deadline()
	c.mu.Lock()
	c.waiting = append(c.waiting, k)
	free := c.sending < checkConns
	if free {
		c.sending++
	}
	c.mu.Unlock()
	if free {
		go c.send()
	}
	select {
	case <-k.done:
		return k.reply, k.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends checks over one connection until none waits.
func (c *checks) send() {
	for {
		batch := c.next(time.Now())
		if len(batch) == 0 {
			return
		}
		c.sendBatch(batch)
	}
}

// next returns the checks that wait. If there are none, the connection is free again. It leaves out
// those whose time is over at now, because the edge has counted their calls itself.
func (c *checks) next(now time.Time) (batch []*check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 && len(batch) < mostAtOnce {
		if k := c.waiting[0]; now.Before(k.deadline) {
			batch = append(batch, k)
		}
		c.waiting = c.waiting[1:]
	}
	if len(batch) == 0 {
		c.waiting = nil
		c.sending--
	}
	return batch
}

// sendBatch sends checks in one write. Redis gets the text of a script only if it does not know the
// script yet, in which case it has counted nothing.
func (c *checks) sendBatch(batch []*check) {
	defer func() {
		for _, k := range batch {
			close(k.done)
		}
	}()
	unknown := c.exec(batch, func(ctx context.Context, p redis.Pipeliner, k *check) *redis.Cmd {
		return p.EvalSha(ctx, k.script.Hash(), []string{k.key}, k.args...)
	})
	if len(unknown) > 0 {
		c.exec(unknown, func(ctx context.Context, p redis.Pipeliner, k *check) *redis.Cmd {
			return k.script.Eval(ctx, p, []string{k.key}, k.args...)
		})
	}
}

// exec runs checks in one pipeline, and returns those whose script Redis does not know.
func (c *checks) exec(batch []*check, add func(context.Context, redis.Pipeliner, *check) *redis.Cmd) (unknown []*check) {
	latest := batch[0].deadline
	for _, k := range batch {
		if k.deadline.After(latest) {
			latest = k.deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), latest)
	defer cancel()
	p, calls := c.Pipeline(), make([]*redis.Cmd, len(batch))
	for i, k := range batch {
		calls[i] = add(ctx, p, k)
	}
	p.Exec(ctx) // each call has its own error
	for i, k := range batch {
		k.reply, k.err = calls[i].Int64Slice()
		if redis.HasErrorPrefix(k.err, "NOSCRIPT") {
			unknown = append(unknown, k)
		}
	}
	return unknown
}
