// Package accesslog writes one line for each response to a file, without delaying the
// response: Write copies the line into a queue of bounded size, and one goroutine writes the queue
// to the file. A line that does not fit into the queue, because the disk is slow or full, is
// dropped and counted. Whatever bytes a client sends, its line is a single line of JSON, or of
// another Format, without control characters and without tokens (escape.go, format.go, redact.go).
//
// The package formats lines and samples them; the caller fills in the fields. It imports the
// standard library alone.
package accesslog

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Stdout as Config.File selects the standard output.
const Stdout = "-"

// Config configures a Log.
type Config struct {
	File   string           // appended to, and created if missing; Stdout selects standard output
	Format *Format          // of lines; nil: JSON
	Sample float64          // share of responses logged, 0 to 1; a 5xx is always logged
	Reopen <-chan os.Signal // reopens File after log rotation renamed it; nil: never
	Log    *slog.Logger     // gets a message when writing fails, and when it works again
}

const (
	gatherDelay  = 100 * time.Millisecond // lines are gathered for so long and written together
	retryDelay   = time.Second            // from a failure to the next try
	closeTimeout = 2 * time.Second        // Close waits no longer for a file that blocks
	maxQueue     = 4 << 20                // bytes of queued lines
	flushSize    = 64 << 10               // queued bytes that are written at once
	fileMode     = 0o640                  // lines hold the addresses of clients
)

// A Log writes lines to a file. A nil Log wants no lines.
type Log struct {
	config  Config
	queued  chan struct{} // the queue is no longer empty
	large   chan struct{} // the queue has reached flushSize
	closing chan struct{} // Close was called
	closed  chan struct{}

	mu    sync.Mutex // held only while a line is copied or the buffers are swapped
	queue []byte     // whole lines

	written, dropped atomic.Int64

	out       io.WriteCloser // this field and the following belong to the goroutine of run
	unwritten []byte         // taken from the queue and not written yet
	spare     []byte         // the buffer that becomes the queue next
	midLine   bool           // the last byte written is in the middle of a line
	failing   bool
}

// Open opens the file and starts the goroutine that writes to it until Close.
func Open(cfg Config) (*Log, error) {
	out, err := open(cfg.File)
	if err != nil {
		return nil, fmt.Errorf("opening the access log: %w", err)
	}
	return start(cfg, out), nil
}

func open(file string) (io.WriteCloser, error) {
	if file == Stdout {
		return stdout{os.Stdout}, nil
	}
	return os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, fileMode)
}

// stdout is the standard output. Its Close does nothing, because the process goes on using it.
type stdout struct{ io.Writer }

func (stdout) Close() error { return nil }

func start(cfg Config, out io.WriteCloser) *Log {
	l := &Log{config: cfg, out: out, queued: make(chan struct{}, 1), large: make(chan struct{}, 1),
		closing: make(chan struct{}), closed: make(chan struct{})}
	go l.run()
	return l
}

// Sampled reports whether a response with this status gets a line. share replaces Config.Sample,
// unless it is nil.
func (l *Log) Sampled(status int, share *float64) bool {
	if l == nil {
		return false
	}
	if share == nil {
		share = &l.config.Sample
	}
	return *share >= 1 || status >= 500 || rand.Float64() < *share
}

// Write queues a line, or drops it when the queue is full. It keeps no reference to line.
func (l *Log) Write(line *Line) {
	var buf [1 << 10]byte
	b := append(l.config.Format.append(buf[:0], line), '\n')
	l.mu.Lock()
	before := len(l.queue)
	fits := before+len(b) <= maxQueue
	if fits {
		l.queue = append(l.queue, b...)
	}
	l.mu.Unlock()
	switch {
	case !fits:
		l.dropped.Add(1)
	case before == 0:
		notify(l.queued)
	case before < flushSize && before+len(b) >= flushSize:
		notify(l.large)
	}
}

// notify signals c without blocking. A signal sent while the receiver is busy stays in the channel.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Stats holds counts for metrics.
type Stats struct{ Written, Dropped int64 }

// Stats returns the counts of lines written and dropped.
func (l *Log) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	return Stats{l.written.Load(), l.dropped.Load()}
}
