package cache

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxSegment   = 64 << 20
	minSegments  = 8       // so many make up the tier: the oldest is what is lost at once when it is full
	maxQueued    = 1 << 10 // entries that wait to be written
	tagsInRecord = 1 << 12
)

// A disk is the tier below memory: a log of segments to which a goroutine of its own appends what falls out of memory, and
// the purges. Nothing in the log is changed; when it is full its oldest segment goes. What was read is checked: a record that
// is torn or wrong is as if it were not there.
//
// When something can't be written the tier writes no more. Because purges can't be kept then either, the next one removes it.
type disk struct {
	dir      string
	most     int64 // bytes
	log      func(msg string, args ...any)
	restored func(*Entry)
	seeds    *seeds
	marks    *invalidations
	lock     *os.File
	newer    func(e *Entry) bool // reports whether memory has another entry in the place of this one
	queue    chan errand
	queued   atomic.Int64 // bytes
	maxQueue int64
	written  chan struct{} // closed when the writer has ended

	writing  sync.Mutex // held while the log is written; taken before mu
	failed   bool
	number   uint64 // of the newest segment
	label    string
	mu       sync.RWMutex
	segments []*segment // the oldest first; the last is written to, if it is from this run
	fresh    bool       // it is
	bytes    int64
	index    index
	swept    Mark // every place was checked against what was invalidated up to here

	hits, errors, dropped atomic.Uint64
}

// An errand is for the writer: an entry to be written, or somebody to be told when it comes to that.
type errand struct {
	entry *Entry
	here  chan struct{}
}

// offer queues an entry that falls out of memory, unless it lies on disk already. Where the queue is full it is lost.
func (d *disk) offer(e *Entry) {
	if d.holds(e) {
		return
	}
	if d.queued.Add(e.cost) > d.maxQueue {
		d.queued.Add(-e.cost)
		d.dropped.Add(1)
		return
	}
	select {
	case d.queue <- errand{entry: e}:
	default:
		d.queued.Add(-e.cost)
		d.dropped.Add(1)
	}
}

// holds reports whether an entry came from the disk and is still there.
func (d *disk) holds(e *Entry) bool {
	if e.origin == nil {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return !e.origin.gone
}

// write is what the writer does, until it is told to end.
func (d *disk) write() {
	defer close(d.written)
	for job := range d.queue {
		if job.here != nil {
			close(job.here)
			continue
		}
		d.store(job.entry)
		d.queued.Add(-job.entry.cost)
		if d.newer(job.entry) {
			d.hide(job.entry)
		}
	}
}

// flush waits until everything that was offered is written.
func (d *disk) flush() {
	here := make(chan struct{})
	d.queue <- errand{here: here}
	<-here
}

// store appends an entry, if it still lives.
func (d *disk) store(e *Entry) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.failed || !d.marks.keep(e) || !reusable(e, time.Now()) {
		return
	}
	head, body := encodeEntry(e, e.aliases)
	size := int64(segmentStart + recordStart + len(head))
	for _, b := range body {
		size += int64(len(b))
	}
	if size > d.segmentSize() {
		d.dropped.Add(1)
		return
	}
	s, off, n, err := d.append(size, kindEntry, head, body)
	if err != nil {
		d.fail(err)
		return
	}
	p := d.placeOf(s, off, n, &name{e.mark, e.softened.Load() != 0, e.Key, e.Secondary, e.Vary, e.aliases, e.Tags})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.add(p)
}

// placeOf describes where an entry lies.
func (d *disk) placeOf(s *segment, off, size int64, n *name) *place {
	p := &place{segment: s, off: uint32(off), size: uint32(size), asked: n.asked, labels: d.seeds.labelsOf(nil, n.key, n.tags)}
	if n.secondary != "" {
		for _, k := range append([]string{n.secondary}, n.aliases...) {
			p.keys = append(p.keys, d.seeds.hashOf(p.labels[0], k))
		}
	}
	if n.expired {
		p.softened = 1
	}
	return p
}

// knows reports whether something that may be found lies on disk under the label of an address.
func (d *disk) knows(label uint64) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.index.record(label) != nil
}

// knowsVariant reports the same for the hash of a variant.
func (d *disk) knowsVariant(hash uint64) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.index.find(hash) != nil
}

// hide makes what is on disk under an entry's keys of no use.
func (d *disk) hide(e *Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.hide(e)
}

// close writes what is still queued, and what all gives besides, and ends the tier.
func (d *disk) close(all func(yield func(*Entry) bool)) {
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

func (d *disk) closeFiles() {
	for _, s := range d.segments {
		s.file.Close()
	}
	d.lock.Close()
}

// reusable reports whether an entry may still be of use: fresh, with a time in which it may be served stale, or with something
// by which its origin can confirm it.
func reusable(e *Entry, now time.Time) bool {
	p := e.Freshness()
	return p.TTL(now)+max(p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost) > 0 || e.Validator != "" || !e.LastModified.IsZero()
}
