package ratelimit

import (
	"slices"
	"testing"
	"time"
	"unsafe"
)

// size returns the numbers of tables and of chunks of blocks of l.
func size(l *Limiter) (tables, chunks int) {
	for i := range l.shards {
		s := &l.shards[i]
		tables += len(slices.Compact(slices.Clone(s.tables)))
		for _, c := range s.blocks.chunks {
			if c.blocks != nil {
				chunks++
			}
		}
	}
	return tables, chunks
}

func TestIdleClientsExpire(t *testing.T) {
	const n = 100_000
	l := New(Limit{10, time.Minute}, Options{})
	for i := range uint32(n) {
		l.Allow(address(i), t0)
	}
	l.Allow(alice, t0.Add(30*time.Second))
	if got := l.Stats().Clients; got != n+1 {
		t.Fatalf("%d clients, want %d", got, n+1)
	}
	l.Sweep(t0.Add(time.Minute - l.tick))
	if got := l.Stats().Clients; got != n+1 {
		t.Fatalf("%d clients just before a window is over, want %d", got, n+1)
	}
	l.Sweep(t0.Add(time.Minute))
	if got := l.Stats().Clients; got != 1 {
		t.Fatalf("%d clients after a window, want 1", got)
	}
	if tables, _ := size(l); tables != numShards {
		t.Errorf("%d tables, want the first %d", tables, numShards)
	}
	if d := l.Allow(alice, t0.Add(time.Minute)); d.Remaining != 8 {
		t.Errorf("the remaining client has %d calls left, want 8", d.Remaining)
	}
}

// A limiter allocates tables for its first calls, not before.
func TestNoTablesWithoutCalls(t *testing.T) {
	l := New(Limit{10, time.Minute}, Options{})
	l.Sweep(t0)
	if tables, _ := size(l); tables != 0 {
		t.Errorf("%d tables before the first call", tables)
	}
	l.Allow(alice, t0)
	if tables, _ := size(l); tables != 1 {
		t.Errorf("%d tables after the first call, want 1", tables)
	}
}

// Without a Sweep, the calls of other clients remove idle ones bit by bit.
func TestCallsExpireIdleClients(t *testing.T) {
	l := New(Limit{10, time.Minute}, Options{})
	for i := range uint32(50_000) {
		l.Allow(address(i), t0)
	}
	for i := range uint32(100_000) {
		l.Allow(address(100_000+i%100), t0.Add(time.Minute))
	}
	if got := l.Stats().Clients; got > 50_000/2 {
		t.Errorf("%d of 50,000 idle clients are left", got)
	}
}

// Busy clients do not delay the removal of idle ones, wherever in a table they are.
func TestBusyClientsDoNotDelayExpiry(t *testing.T) {
	l := New(Limit{1000, time.Minute}, Options{})
	for i := range uint32(10_000) {
		l.Allow(address(i), t0)
	}
	now := t0
	for ; now.Before(t0.Add(64 * time.Second)); now = now.Add(100 * time.Millisecond) {
		for i := range uint32(50) {
			l.Allow(address(i*7), now)
		}
	}
	l.Sweep(now)
	if got := l.Stats().Clients; got != 50 {
		t.Errorf("%d clients, want the 50 busy ones", got)
	}
}

// A table of busy clients is not scanned at each opportunity.
func TestScansAreFew(t *testing.T) {
	l := New(Limit{10, time.Minute}, Options{})
	for i := range uint32(10_000) {
		l.Allow(address(i), t0.Add(time.Duration(i)*time.Millisecond))
	}
	at := l.moment(t0.Add(61 * time.Second))
	for i := range l.shards {
		s := &l.shards[i]
		l.sweep(s, 0, at)
		if due := time.Duration(s.tables[0].due-at) * l.tick; due != 30*time.Second {
			t.Fatalf("the next scan is due in %v, want half of the window", due)
		}
	}
}

// Merging tables loses no call of the remaining clients.
func TestMerge(t *testing.T) {
	l := New(Limit{40, time.Minute}, Options{})
	for i := range uint32(100_000) {
		l.Allow(address(i), t0)
	}
	const survivors = 300
	for i := range uint32(survivors) {
		for range i % 40 {
			l.Allow(address(i), t0.Add(30*time.Second))
		}
	}
	now := t0.Add(time.Minute)
	for i := range uint32(survivors) {
		l.Allow(address(i), now) // the client's first call has left the window
	}
	l.Sweep(now)
	for i := range uint32(survivors) {
		d := l.Allow(address(i), now)
		if want := max(0, 38-int(i%40)); d.Remaining != want || d.OK != (i%40 < 39) {
			t.Fatalf("client %d: %+v, want %d left", i, d, want)
		}
		if i%40 > 0 && d.Reset != 30*time.Second {
			t.Fatalf("client %d: reset in %v, want 30s", i, d.Reset)
		}
	}
}

// The blocks of a flood are released when it is over, even while a client still uses some.
func TestBlocksAreReleased(t *testing.T) {
	l := New(Limit{100, time.Minute}, Options{})
	for range 50 {
		for i := range uint32(5000) {
			l.Allow(address(i), t0)
		}
	}
	_, most := size(l)
	for i := range 3 * 60 {
		l.Allow(alice, t0.Add(time.Duration(i)*time.Second))
	}
	l.Sweep(t0.Add(3 * time.Minute))
	if _, left := size(l); most < 500 || left > 2*numShards {
		t.Errorf("%d chunks of blocks are left of %d", left, most)
	}
}

// A call moves one table at most, and a client of twelve calls needs no block besides its window of
// one cache line.
func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(table{}); got != 32<<10 {
		t.Errorf("a table is %d bytes, want 32 KiB", got)
	}
	if got := unsafe.Sizeof(window{}); got != 64 {
		t.Errorf("a window is %d bytes, want 64", got)
	}
	if got := unsafe.Sizeof(block{}); got != 32 {
		t.Errorf("a block is %d bytes, want 32", got)
	}
	l := New(Limit{60, time.Minute}, Options{})
	for range 12 {
		l.Allow(alice, t0)
	}
	if _, chunks := size(l); chunks > 0 {
		t.Error("a client of twelve calls has a block")
	}
}
