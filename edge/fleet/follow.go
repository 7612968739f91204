package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	contactTimeout = time.Second   // for connecting and a first reply
	blockTime      = time.Second   // XREAD blocks for so long
	readTimeout    = 2 * blockTime // with the round trip
	// gatherTime is the pause after a read that found events. The next read gets all events that
	// come meanwhile, so that a thousand edges that get many purges don't occupy Redis with as many
	// reads for each of them.
	gatherTime   = 100 * time.Millisecond
	saveInterval = time.Second
)

// A Listener receives events one after the other, in the order of the log.
type Listener interface {
	// OnEvent is called with an event that another edge published.
	OnEvent(kind Kind, data string)
	// OnGap is called when events may have been missed for good.
	OnGap()
	// OnPosition is called when all events up to a position in the log have been delivered, at
	// least once a second while the position changes, and when the Fleet is closed.
	OnPosition(position string)
}

// A reader reads the log for one Listener.
type reader struct {
	*Fleet
	listener   Listener
	position   string // the last event delivered; empty: none yet
	cacheEmpty bool   // nothing is cached yet, so no event can have been missed
	replaying  bool   // the next events were published while the edge was not connected
	reported   string
	reportDue  time.Time // when to report again
	failed     bool      // the last read failed, and that was logged
	failures   int       // since the last read that succeeded
	gather     bool      // the last read found events
}

// Follow delivers to hearer the events published from now on. If a position is given, it first
// delivers the events since, or calls Lost if the log does not hold them all. The caller sets
// cacheEmpty if nothing is cached yet, so that nothing can have been missed. Events that can be
// read at once have been delivered when Follow returns.
func (f *Fleet) Follow(position string, cacheEmpty bool, hearer Listener) {
	r := &reader{Fleet: f, listener: hearer, position: position, cacheEmpty: cacheEmpty,
		replaying: true, reported: position}
	err := errDown
	if !f.down.Load() {
		err = r.step()
	}
	f.all.Go(func() { r.run(err) })
}

var errDown = errors.New("redis can't be reached")

func (r *reader) run(err error) {
	for r.ctx.Err() == nil {
		if r.logOutcome(err); err != nil {
			r.backOff()
		} else if r.failures = 0; r.gather {
			r.pause(gatherTime)
		}
		if now := time.Now(); now.After(r.reportDue) {
			r.report()
			r.reportDue = now.Add(saveInterval)
		}
		err = r.step()
	}
	r.report()
}

// logOutcome logs the first of several failures, and the success after them.
func (r *reader) logOutcome(err error) {
	switch failed := err != nil; {
	case r.ctx.Err() != nil || failed == r.failed:
		return
	case failed:
		r.Log.Warn("the log in redis can't be read; purges of other edges are applied when it can", "err", r.redacted(err))
	default:
		r.Log.Info("event log in Redis readable again")
	}
	r.failed = err != nil
	r.logFailing.Store(r.failed)
}

// backOff waits after a failure. Events may be missed from then on.
func (r *reader) backOff() {
	r.cacheEmpty, r.replaying = false, true
	r.pause(retryAfter(r.failures, rand.Float64()))
	r.failures++
}

func (r *reader) pause(d time.Duration) {
	select {
	case <-r.ctx.Done():
	case <-time.After(d):
	}
}

func (r *reader) report() {
	if r.position != r.reported {
		r.listener.OnPosition(r.position)
		r.reported = r.position
	}
}

// step reads once and delivers the events. On the same connection, after the read, it checks that
// the log still holds the event at the reader's position: if it does, none of the following events
// were cut off. If it does not, the log was cut too far, was deleted, was restored from an older
// copy or is another log. (The deleted entries that XINFO reports do not include those that were
// cut off.)
func (r *reader) step() error {
	r.gather = false
	args, patience := redis.XReadArgs{Streams: []string{logKey, r.position}, Count: readBatch, Block: blockTime}, readTimeout
	if r.replaying {
		args.Block, patience = -1, contactTimeout // read without blocking
	}
	ctx, cancel := context.WithTimeout(r.ctx, max(patience, r.Timeout))
	defer cancel()
	if r.position == "" {
		return r.startAtEnd(ctx, !r.cacheEmpty)
	}
	p := r.events.Pipeline()
	read, entry := p.XRead(ctx, &args), p.XRange(ctx, logKey, r.position, r.position)
	p.Exec(ctx)
	if err := errors.Join(unlessNil(read.Err()), entry.Err()); err != nil {
		return err
	}
	if len(entry.Val()) == 0 {
		return r.checkLost(ctx)
	}
	n := 0
	for _, s := range read.Val() {
		n += len(s.Messages)
		r.deliver(s.Messages)
	}
	r.gather = n > 0 && !r.replaying
	r.replaying = r.replaying && n == readBatch
	return nil
}

func unlessNil(err error) error {
	if errors.Is(err, redis.Nil) { // no events
		return nil
	}
	return err
}

// checkLost handles a log that does not hold the event at the reader's position: nothing is lost
// only if that event was the last one.
func (r *reader) checkLost(ctx context.Context) error {
	last, err := r.last(ctx)
	if err != nil || last == r.position {
		r.replaying = false
		return err
	}
	return r.startAtEnd(ctx, true)
}

// startAtEnd starts at the end of the log, and writes a first event if there is none, so that the
// position is always that of an event. Earlier events are lost, if there were any. It finds the
// position before it calls Lost, so no event falls between the two.
func (r *reader) startAtEnd(ctx context.Context, lost bool) error {
	last, err := r.last(ctx)
	if err == nil && last == emptyLog {
		last, err = r.write(ctx, Begin, "")
	}
	if err != nil {
		return err
	}
	r.position, r.replaying, r.cacheEmpty = last, false, false
	if lost {
		r.counts.lost.Add(1)
		r.Log.Warn("the log in redis does not reach back to this edge's position; its cache is dropped", "position", last)
		r.listener.OnGap()
	}
	return nil
}

// last returns the position of the last event.
func (r *reader) last(ctx context.Context) (string, error) {
	info, err := r.events.XInfoStream(ctx, logKey).Result()
	switch {
	case err != nil && strings.Contains(err.Error(), "no such key"):
		return emptyLog, nil
	case err != nil:
		return "", err
	}
	return info.LastGeneratedID, nil
}

// deliver passes on the events of other edges.
func (r *reader) deliver(messages []redis.XMessage) {
	for _, m := range messages {
		e := eventOf(m)
		if i := slices.Index(kinds[:], e.kind); i >= 0 && e.node != r.node {
			r.count(i)
			r.listener.OnEvent(e.kind, e.data)
		}
		r.position = m.ID
	}
}

func (r *reader) count(kind int) {
	if r.replaying {
		r.counts.events[kind].replayed.Add(1)
	} else {
		r.counts.events[kind].received.Add(1)
	}
}
