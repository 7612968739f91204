package fleet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	contactIn = time.Second            // for connecting and a first answer
	listenFor = time.Second            // for what comes next; the log's beginning is looked at as often
	readIn    = 2 * listenFor          // with the round trip
	pause     = 200 * time.Millisecond // between two attempts
	saveEvery = time.Second
)

// A Hearer hears of events, one after the other, in the order of the log.
type Hearer interface {
	// Hear is called with what another edge published.
	Hear(kind Kind, data string)
	// Lost says that events may have been missed for good.
	Lost()
	// Reached says that all up to a position in the log has been told, at least once a second while it moves, and when the Fleet is closed.
	Reached(position string)
}

// A reader is on its way through the log.
type reader struct {
	*Fleet
	client *redis.Client // its own: a connection that is waited on is of no use to checks
	by     Hearer
	at     string // all up to here has been told; empty: it has not begun
	clean  bool   // nothing can be missed yet: there is nothing in the cache
	behind bool   // it was away: what comes is what was missed
	saved  string
	due    time.Time // when to save again
	failed bool      // and that was logged
}

// Follow tells by what is published from now on; what has been since a position, if one is given; or that this is lost. Where nothing can have
// been missed, because nothing is cached yet, clean says so. Whatever can be read at once has been told when Follow returns.
func (f *Fleet) Follow(position string, clean bool, by Hearer) {
	client := f.connect()
	r := &reader{Fleet: f, client: client, by: by, at: position, clean: clean, behind: true, saved: position}
	context.AfterFunc(f.life, func() { client.Close() }) // wakes it
	err := errAway
	if !f.away.Load() {
		err = r.step()
	}
	f.all.Go(func() { r.run(err) })
}

var errAway = errors.New("it can't be reached")

func (r *reader) run(err error) {
	for r.life.Err() == nil {
		if r.note(err); err != nil {
			r.rest()
		}
		if now := time.Now(); now.After(r.due) {
			r.save()
			r.due = now.Add(saveEvery)
		}
		err = r.step()
	}
	r.save()
}

// note logs the first failure of a row and the end of it.
func (r *reader) note(err error) {
	switch failed := err != nil; {
	case r.life.Err() != nil || failed == r.failed:
		return
	case failed:
		r.Log.Warn("the log in redis can't be read: what others purge is heard of when it can", "err", r.plain(err))
	default:
		r.Log.Info("the log in redis can be read again")
	}
	r.failed = err != nil
	r.deaf.Store(r.failed)
}

// rest is after a failure: from then on something may be missed.
func (r *reader) rest() {
	r.clean, r.behind = false, true
	select {
	case <-r.life.Done():
	case <-time.After(pause):
	}
}

func (r *reader) save() {
	if r.at != r.saved {
		r.by.Reached(r.at)
		r.saved = r.at
	}
}

// step reads once, and tells what it read. Whether the log still holds the event at which this edge stands is asked behind the reading, on the same
// connection: where it does, none of those that follow it were cut off. That is all there is to know: it is not there in a log that was
// cut too far, was deleted, has been put back from an older copy or is another one. (What XINFO says of deleted entries does not count those
// that were cut off.)
func (r *reader) step() error {
	args, patience := redis.XReadArgs{Streams: []string{logKey, r.at}, Count: eventsAt, Block: listenFor}, readIn
	if r.behind {
		args.Block, patience = -1, contactIn // what is there
	}
	ctx, cancel := context.WithTimeout(r.life, max(patience, r.Patience))
	defer cancel()
	if r.at == "" {
		return r.begin(ctx, !r.clean)
	}
	p := r.client.Pipeline()
	read, held := p.XRead(ctx, &args), p.XRange(ctx, logKey, r.at, r.at)
	p.Exec(ctx)
	if err := errors.Join(unlessNil(read.Err()), held.Err()); err != nil {
		return err
	}
	if len(held.Val()) == 0 {
		return r.unheld(ctx)
	}
	n := 0
	for _, s := range read.Val() {
		n += len(s.Messages)
		r.tell(s.Messages)
	}
	r.behind = r.behind && n == eventsAt
	return nil
}

func unlessNil(err error) error {
	if errors.Is(err, redis.Nil) { // nothing came
		return nil
	}
	return err
}

// unheld is where the log does not hold the event at which this edge stands: nothing is lost only if it was the last.
func (r *reader) unheld(ctx context.Context) error {
	last, err := r.last(ctx)
	if err != nil || last == r.at {
		r.behind = false
		return err
	}
	return r.begin(ctx, true)
}

// begin begins at the end of the log, which is made where there is none: an edge stands at an event, and can tell whether it is there. What was before
// is lost, if there was anything: as the place is found first, nothing is between the two.
func (r *reader) begin(ctx context.Context, lost bool) error {
	last, err := r.last(ctx)
	if err == nil && last == nothing {
		last, err = r.write(ctx, r.client, Begin, "")
	}
	if err != nil {
		return err
	}
	r.at, r.behind, r.clean = last, false, false
	if lost {
		r.counts.lost.Add(1)
		r.Log.Warn("the log in redis does not reach back to what this edge heard last: its cache is dropped", "position", last)
		r.by.Lost()
	}
	return nil
}

// last is where the log ends.
func (r *reader) last(ctx context.Context) (string, error) {
	info, err := r.client.XInfoStream(ctx, logKey).Result()
	switch {
	case err != nil && strings.Contains(err.Error(), "no such key"):
		return nothing, nil
	case err != nil:
		return "", err
	}
	return info.LastGeneratedID, nil
}

// tell passes on what others published.
func (r *reader) tell(messages []redis.XMessage) {
	for _, m := range messages {
		e := eventOf(m)
		if i := slices.Index(kinds[:], e.kind); i >= 0 && e.node != r.node {
			r.count(i)
			r.by.Hear(e.kind, e.data)
		}
		r.at = m.ID
	}
}

func (r *reader) count(kind int) {
	if r.behind {
		r.counts.events[kind].replayed.Add(1)
	} else {
		r.counts.events[kind].received.Add(1)
	}
}
