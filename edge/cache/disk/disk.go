// Package disk decides the form of the log on disk, and where in it an entry is found, also after a
// restart.
package disk

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/clock"
)

const (
	maxSegment = 64 << 20
	// A full tier has at least minSegments segments, because it loses the oldest one at once.
	minSegments  = 8
	maxQueued    = 1 << 10 // entries that wait to be written
	tagsInRecord = 1 << 12
)

// A Tier is the tier below memory: a log of segments, to which a goroutine appends entries that
// were evicted from memory, and purges. The log is append-only; when it is full, its oldest segment
// is removed. Records are verified when they are read, and a torn or damaged record is ignored.
//
// After a failed write the tier writes nothing more. Because it can then not record purges either,
// the next purge removes it.
type Tier struct {
	Options
	seeds         *hashes.Seeds
	invalidations *invalidation.Table
	lock          *os.File
	queue         chan writeJob
	queued        atomic.Int64  // bytes
	written       chan struct{} // closed when the writer has ended

	writing  sync.Mutex // held while the log is written; taken before mu
	failed   bool
	number   uint64 // of the newest segment
	label    string
	mu       sync.RWMutex
	segments []*segment // the oldest first; the last one is written to if fresh
	fresh    bool       // the last segment was created in this run
	bytes    int64
	index    index
	// Every location was checked against the invalidations up to swept.
	swept invalidation.Generation
	rest  unindexed

	hits, errors, dropped atomic.Uint64
}

// An unindexed is the rest of the log, which is still to be indexed.
type unindexed struct {
	tier     *Tier
	segments []*segment          // the oldest first
	past     *invalidation.Table // the purges in newer segments
	left     atomic.Bool         // there are such segments
	stop     atomic.Bool
	ended    chan struct{} // closed when all are indexed, or no more will be
}

// Options are the limits of the tier, and what it calls.
type Options struct {
	Dir       string // folder, which one process may use
	MaxBytes  int64
	MaxQueued int64 // bytes of entries that wait to be written
	AtOnce    int64 // bytes of the newest segments that Open indexes itself; 0: a default

	// Restored is called with each entry that is read, before any other caller gets it. It may be
	// nil.
	Restored func(*entry.Entry)
	// Newer reports whether memory has another entry in place of e.
	Newer func(e *entry.Entry) bool
	// Clock measures lifetimes.
	Clock clock.Clock
	// Log receives failures, with arguments as for slog. It may be nil.
	Log func(msg string, args ...any)
}

// Stats are counts for metrics.
type Stats struct {
	Bytes, Entries int64
	Slices         int64  // of large objects
	Hits           uint64 // entries that were read
	Errors         uint64 // failed reads and writes, and damaged records
	// Dropped counts entries that were not written, because the queue was full or they were too
	// large.
	Dropped uint64
}

// Stats returns the current counts.
func (d *Tier) Stats() Stats {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return Stats{d.bytes, d.index.live, int64(len(d.index.slices)), d.hits.Load(), d.errors.Load(), d.dropped.Load()}
}

// A writeJob asks the writer to store an entry, or to close flushed when it gets to this job.
type writeJob struct {
	entry   *entry.Entry
	flushed chan struct{}
	written func(entry.Origin) bool // see EnqueueStored; nil: the entry was evicted
}

// Enqueue passes an evicted entry to the writer, unless the entry is on disk already. If the queue
// is full, the entry is lost.
func (d *Tier) Enqueue(e *entry.Entry) {
	if !d.holds(e) {
		d.enqueue(writeJob{entry: e})
	}
}

// EnqueueStored passes an entry that stays in memory to the writer. The writer then calls written
// with the location of the entry. If that returns false, because the entry is no longer in memory,
// the location is not used.
func (d *Tier) EnqueueStored(e *entry.Entry, written func(entry.Origin) bool) {
	d.enqueue(writeJob{entry: e, written: written})
}

func (d *Tier) enqueue(job writeJob) {
	e := job.entry
	if d.queued.Add(e.Charged) > d.MaxQueued {
		d.queued.Add(-e.Charged)
		d.dropped.Add(1)
		return
	}
	select {
	case d.queue <- job:
	default:
		d.queued.Add(-e.Charged)
		d.dropped.Add(1)
	}
}

// holds reports whether an entry was read from disk and is still there.
func (d *Tier) holds(e *entry.Entry) bool {
	if e.Origin == nil {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return !e.Origin.(*location).gone
}

// write stores queued entries until the queue is closed.
func (d *Tier) write() {
	defer close(d.written)
	for job := range d.queue {
		if job.flushed != nil {
			close(job.flushed)
			continue
		}
		p := d.store(job.entry)
		d.queued.Add(-job.entry.Charged)
		switch {
		case job.written != nil:
			if p != nil && !job.written(p) {
				d.retire(p)
			}
		case d.Newer(job.entry):
			d.Hide(job.entry)
		}
	}
}

// Flush waits until all entries that were queued before are written.
func (d *Tier) Flush() {
	flushed := make(chan struct{})
	d.queue <- writeJob{flushed: flushed}
	<-flushed
}

func (d *Tier) retire(p *location) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.retire(p)
}

// store appends an entry if it is still reusable, and returns its location; nil: it did not.
func (d *Tier) store(e *entry.Entry) *location {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.failed || !e.Check(d.invalidations) || !reusable(e, d.Clock.Now()) {
		return nil
	}
	head, body := encodeEntry(e, e.Aliases)
	size := int64(segmentStart + recordStart + len(head))
	for _, b := range body {
		size += int64(len(b))
	}
	if size > d.segmentSize() {
		d.dropped.Add(1)
		return nil
	}
	s, off, n, err := d.append(size, kindEntry, head, body)
	if err != nil {
		d.fail(err)
		return nil
	}
	p := d.locationOf(s, off, n, &name{e.Generation, e.ExpiredAt.Load() != 0, e.Key, e.Secondary, e.Vary, e.Aliases, e.Tags})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.add(p)
	return p
}

// locationOf describes the location of an entry.
func (d *Tier) locationOf(s *segment, off, size int64, n *name) *location {
	p := &location{segment: s, off: uint32(off), size: uint32(size), generation: n.generation, labels: d.seeds.LabelsOf(nil, n.key, n.tags)}
	if n.secondary != "" {
		for _, k := range append([]string{n.secondary}, n.aliases...) {
			p.keys = append(p.keys, d.seeds.HashOf(p.labels[0], k))
		}
	}
	if n.expired {
		p.expiredAt = 1
	}
	return p
}

// HasKey reports whether a usable record is on disk under the label of a key.
func (d *Tier) HasKey(label uint64) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.index.atKey(label) != nil
}

// HasVariant reports the same for the hash of a variant.
func (d *Tier) HasVariant(hash uint64) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.index.find(hash) != nil
}

// Hide makes older records under an entry's keys unusable.
func (d *Tier) Hide(e *entry.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.hide(e)
}

// Close writes the queued entries, and those of all that are not on disk yet, and ends the tier.
func (d *Tier) Close(all func(yield func(*entry.Entry) bool)) {
	d.rest.stop.Store(true)
	<-d.rest.ended
	close(d.queue)
	<-d.written
	for e := range all {
		if !d.holds(e) {
			d.store(e)
		}
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.sync(); err != nil {
		d.fail(err)
	}
	d.closeFiles()
}

func (d *Tier) closeFiles() {
	for _, s := range d.segments {
		s.file.Close()
	}
	d.lock.Close()
}

// reusable reports whether an entry may still be useful: it is fresh, it may be served stale, or
// the origin can confirm it by a validator.
func reusable(e *entry.Entry, now time.Time) bool {
	p := e.Freshness()
	return p.TTL(now)+max(p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost) > 0 || e.Validator != "" || !e.LastModified.IsZero()
}
