package harness

import (
	"bytes"
	"regexp"
	"sync"
)

// logBuffer keeps what a process logs, and wakes those who wait for a line.
type logBuffer struct {
	mu     sync.Mutex
	cond   *sync.Cond
	text   bytes.Buffer
	closed bool
}

func NewLog() *logBuffer {
	b := &logBuffer{}
	b.cond = sync.NewCond(&b.mu)
	return b
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.cond.Broadcast()
	return b.text.Write(p)
}

func (b *logBuffer) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.cond.Broadcast()
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// wait returns the first match of line, or nil when the process has ended without one.
func (b *logBuffer) Wait(line *regexp.Regexp) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if m := line.FindStringSubmatch(b.text.String()); m != nil || b.closed {
			return m
		}
		b.cond.Wait()
	}
}
