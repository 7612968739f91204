package accesslog

import (
	"bytes"
	"time"
)

// run writes the queue to the file: gatherDelay after the first line, or at once when the queue is
// large. After a failure it waits for retryDelay.
func (l *Log) run() {
	defer close(l.closed)
	due := time.NewTimer(gatherDelay)
	due.Stop()
	for {
		select {
		case <-l.queued:
			if !l.failing {
				due.Reset(gatherDelay)
			}
			continue
		case <-l.large:
			if l.failing {
				continue
			}
		case <-due.C:
		case <-l.config.Reopen:
			l.flush()
			l.reopen()
		case <-l.closing:
			l.flush()
			l.out.Close()
			return
		}
		if l.flush(); l.failing {
			due.Reset(retryDelay)
		}
	}
}

// flush writes the rest of the lines that it took earlier, then the lines queued since.
func (l *Log) flush() {
	for range 2 {
		if len(l.unwritten) == 0 {
			l.unwritten = l.take()
		}
		if len(l.unwritten) == 0 {
			return
		}
		n, err := l.out.Write(l.unwritten)
		if n > 0 {
			l.written.Add(int64(bytes.Count(l.unwritten[:n], newline)))
			l.midLine = l.unwritten[n-1] != '\n'
		}
		if l.unwritten = l.unwritten[n:]; err != nil {
			l.failed(err)
			return
		}
		l.recovered()
	}
}

var newline = []byte{'\n'}

// take returns the queued lines and gives Write another buffer.
func (l *Log) take() []byte {
	l.mu.Lock()
	taken := l.queue
	l.queue = l.spare[:0]
	l.mu.Unlock()
	l.spare = taken
	return taken
}

// failed logs the first of several failures. The unwritten lines are tried again and later lines
// are queued up to maxQueue, so that the file has whole lines even if the disk filled up in the
// middle of one.
func (l *Log) failed(err error) {
	if !l.failing {
		l.config.Log.Warn("access log write failed; lines are queued, and dropped when the queue is full", "file",
			l.config.File, "err", err)
	}
	l.failing = true
}

func (l *Log) recovered() {
	if l.failing {
		l.config.Log.Info("access log written again", "file", l.config.File, "dropped", l.dropped.Load())
	}
	l.failing = false
}

// reopen opens the file of the configured name, because log rotation has renamed the current one.
// If that fails it goes on with the current file.
func (l *Log) reopen() {
	if l.config.File == Stdout {
		return
	}
	out, err := open(l.config.File)
	if err != nil {
		l.config.Log.Warn("access log reopen failed; writing on to the current file", "file", l.config.File, "err", err)
		return
	}
	l.out.Close()
	l.out = out
	if l.midLine { // the line's beginning is in the previous file
		_, l.unwritten, _ = bytes.Cut(l.unwritten, newline)
		l.dropped.Add(1)
		l.midLine = false
	}
}

// Close writes the queue and closes the file. It gives up after closeTimeout if the file blocks.
func (l *Log) Close() {
	if l == nil {
		return
	}
	close(l.closing)
	select {
	case <-l.closed:
	case <-time.After(closeTimeout):
	}
}
