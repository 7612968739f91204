// Package accesslog writes one line of JSON for each answer to a file, and keeps out of the way of whoever answers: lines are put into a
// queue of bounded size, and one goroutine writes them. What does not fit, because the disk is slow or full, is dropped and counted.
// Whatever bytes a client sends, a line is one line, of JSON, without control characters and without tokens (escape.go, redact.go).
//
// It decides how a line looks, and which are kept where only a part of them is; what happened, and to whom, it is told. It imports the
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

// Stdout is the name of a File that stands for the standard output.
const Stdout = "-"

// Config says where lines go, and how many of them.
type Config struct {
	File   string           // it is appended to, and made where it is not there; Stdout: the standard output
	Sample float64          // the part of answers that are written, 0 to 1; answers of 500 and above always are
	Reopen <-chan os.Signal // has File opened anew, when it has been renamed; nil: nothing does
	Log    *slog.Logger     // that the file can't be written, and that it can again
}

const (
	gather     = 100 * time.Millisecond // from a line to its writing: many are written together
	again      = time.Second            // from a failure to the next try
	lastWrite  = 2 * time.Second        // that Close waits for a file that blocks
	maxWaiting = 4 << 20                // bytes of lines that wait
	much       = 64 << 10               // bytes that are written without waiting for more
	fileMode   = 0o640                  // addresses of clients are nobody else's business
)

// A Log takes lines. A nil one wants none.
type Log struct {
	config Config
	some   chan struct{}
	plenty chan struct{}
	ending chan struct{}
	ended  chan struct{}

	mu      sync.Mutex // held for as long as it takes to copy a line
	waiting []byte     // whole lines

	written, dropped atomic.Int64

	out     io.WriteCloser // the goroutine's alone, as all that follows
	rest    []byte         // taken, and not written yet
	spare   []byte         // the buffer that comes next
	torn    bool           // the last byte that was written is in the middle of a line
	failing bool
}

// Open opens the file, and writes to it until Close.
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

// stdout is not ours to close.
type stdout struct{ io.Writer }

func (stdout) Close() error { return nil }

func start(cfg Config, out io.WriteCloser) *Log {
	l := &Log{config: cfg, out: out, some: make(chan struct{}, 1), plenty: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{})}
	go l.run()
	return l
}

// Wants reports whether an answer with that status is to have a line.
func (l *Log) Wants(status int) bool {
	return l != nil && (l.config.Sample >= 1 || status >= 500 || rand.Float64() < l.config.Sample)
}

// Write has a line written soon, or drops it where too many wait. It keeps nothing of line.
func (l *Log) Write(line *Line) {
	var room [1 << 10]byte
	b := append(line.append(room[:0]), '\n')
	l.mu.Lock()
	before := len(l.waiting)
	fits := before+len(b) <= maxWaiting
	if fits {
		l.waiting = append(l.waiting, b...)
	}
	l.mu.Unlock()
	switch {
	case !fits:
		l.dropped.Add(1)
	case before == 0:
		tell(l.some)
	case before < much && before+len(b) >= much:
		tell(l.plenty)
	}
}

// tell wakes whoever waits for c; one who is not waiting finds it later.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Stats are plain counts, for metrics.
type Stats struct{ Written, Dropped int64 }

// Stats counts lines. Those of a nil Log are none.
func (l *Log) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	return Stats{l.written.Load(), l.dropped.Load()}
}
