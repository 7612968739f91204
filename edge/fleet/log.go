package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	logKey       = "iconedge:log"
	maxLogEvents = 10_000      // about; an edge that has missed more events drops its cache
	maxLogBytes  = 64 << 20    // about; a large event leaves room for fewer events
	writeTimeout = time.Second // for an event
	emptyLog     = "0-0"       // the position of a log without events
	readBatch    = 100         // events read at a time
)

// A Kind is the kind of an event.
type Kind string

const (
	Begin   Kind = "begin"   // the log's first event, so that the log is never empty
	Purge   Kind = "purge"   // the call, in JSON
	Release Kind = "release" // the ID of a release that an edge has learnt of
)

// kinds are the kinds that Stats counts.
var kinds = [...]Kind{Purge, Release}

// Publish writes an event for all other edges. After an error they may or may not receive it.
func (f *Fleet) Publish(kind Kind, data string) error {
	ctx, cancel := context.WithTimeout(f.ctx, max(writeTimeout, f.Timeout))
	defer cancel()
	if _, err := f.write(ctx, kind, data); err != nil {
		return fmt.Errorf("writing to the log in redis: %w", f.redacted(err))
	}
	f.counts.events[slices.Index(kinds[:], kind)].sent.Add(1)
	return nil
}

// maxEvents returns the number of events to keep when an event of this size is written.
func maxEvents(size int) int64 { return int64(min(maxLogEvents, maxLogBytes/max(1, size))) }

// write appends an event and returns its position. Redis trims the log by whole nodes, which is
// cheap.
func (f *Fleet) write(ctx context.Context, kind Kind, data string) (id string, err error) {
	return f.events.XAdd(ctx, &redis.XAddArgs{
		Stream: logKey, MaxLen: maxEvents(len(data)), Approx: true, Values: []any{"node", f.node, "kind", string(kind), "data", data},
	}).Result()
}

// An event is the content of one entry of the log.
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

// ValidPosition reports whether s has the form of a position in the log: two numbers, such as
// 1795299289648-0.
func ValidPosition(s string) bool {
	var ms, seq uint64
	if _, err := fmt.Sscanf(s, "%d-%d", &ms, &seq); err != nil {
		return false
	}
	return s == fmt.Sprintf("%d-%d", ms, seq)
}
