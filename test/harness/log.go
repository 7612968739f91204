package harness

import (
	"bytes"
	"regexp"
	"sync"
)

// A Log stores the output of a process. Goroutines can wait for a line.
type Log struct {
	mu     sync.Mutex
	cond   *sync.Cond
	text   bytes.Buffer
	closed bool
}

func NewLog() *Log {
	b := &Log{}
	b.cond = sync.NewCond(&b.mu)
	return b
}

func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.cond.Broadcast()
	return b.text.Write(p)
}

func (b *Log) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.cond.Broadcast()
}

func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Wait returns the first match of line, or nil if the process has ended without one.
func (b *Log) Wait(line *regexp.Regexp) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if m := line.FindStringSubmatch(b.text.String()); m != nil || b.closed {
			return m
		}
		b.cond.Wait()
	}
}
