package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	logKey   = "iconedge:log"
	logKept  = 10_000      // events, about: an edge that was away for more of them drops its cache
	logBytes = 64 << 20    // of large ones, about: after one of a megabyte so many fewer are kept
	writeIn  = time.Second // an event
	nothing  = "0-0"       // where a log stands that has no events
	eventsAt = 100         // a time are read
)

// A Kind is what an event is about.
type Kind string

const (
	Begin   Kind = "begin"   // the log's first event: it is never empty
	Purge   Kind = "purge"   // the call, in JSON
	Release Kind = "release" // the id of one that an edge has learnt of
)

// kinds are those that are counted.
var kinds = [...]Kind{Purge, Release}

// Publish writes an event for all other edges. Where it returns an error nobody knows whether they will hear of it.
func (f *Fleet) Publish(kind Kind, data string) error {
	ctx, cancel := context.WithTimeout(f.life, max(writeIn, f.Patience))
	defer cancel()
	if _, err := f.write(ctx, f.calls.Load(), kind, data); err != nil {
		return fmt.Errorf("writing to the log in redis: %w", f.plain(err))
	}
	f.counts.events[slices.Index(kinds[:], kind)].sent.Add(1)
	return nil
}

// kept is how many events are kept behind one of a size.
func kept(size int) int64 { return int64(min(logKept, logBytes/max(1, size))) }

// write appends an event, and says where the log stands then. The log is cut in whole nodes, which costs Redis nothing.
func (f *Fleet) write(ctx context.Context, client *redis.Client, kind Kind, data string) (id string, err error) {
	return client.XAdd(ctx, &redis.XAddArgs{
		Stream: logKey, MaxLen: kept(len(data)), Approx: true, Values: []any{"node", f.node, "kind", string(kind), "data", data},
	}).Result()
}

// An event is what Publish wrote, as it is read.
type event struct {
	node string
	kind Kind
	data string
}

func eventOf(m redis.XMessage) (e event) {
	e.node, _ = m.Values["node"].(string)
	kind, _ := m.Values["kind"].(string)
	e.kind = Kind(kind)
	e.data, _ = m.Values["data"].(string)
	return e
}

// ValidPosition reports whether s may be a place in the log: two numbers, such as 1795299289648-0.
func ValidPosition(s string) bool {
	var ms, seq uint64
	if _, err := fmt.Sscanf(s, "%d-%d", &ms, &seq); err != nil {
		return false
	}
	return s == fmt.Sprintf("%d-%d", ms, seq)
}
