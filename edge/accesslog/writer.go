package accesslog

import (
	"bytes"
	"time"
)

// run writes what waits: some time after the first line, or at once where there is plenty. After a failure the next try has its time.
func (l *Log) run() {
	defer close(l.ended)
	due := time.NewTimer(gather)
	due.Stop()
	for {
		select {
		case <-l.some:
			if !l.failing {
				due.Reset(gather)
			}
			continue
		case <-l.plenty:
			if l.failing {
				continue
			}
		case <-due.C:
		case <-l.config.Reopen:
			l.flush()
			l.reopen()
		case <-l.ending:
			l.flush()
			l.out.Close()
			return
		}
		if l.flush(); l.failing {
			due.Reset(again)
		}
	}
}

// flush writes the rest of what was taken before, then what has come since.
func (l *Log) flush() {
	for range 2 {
		if len(l.rest) == 0 {
			l.rest = l.take()
		}
		if len(l.rest) == 0 {
			return
		}
		n, err := l.out.Write(l.rest)
		if n > 0 {
			l.written.Add(int64(bytes.Count(l.rest[:n], newline)))
			l.torn = l.rest[n-1] != '\n'
		}
		if l.rest = l.rest[n:]; err != nil {
			l.failed(err)
			return
		}
		l.well()
	}
}

var newline = []byte{'\n'}

// take is what waits. Whoever writes lines goes on in another buffer.
func (l *Log) take() []byte {
	l.mu.Lock()
	taken := l.waiting
	l.waiting = l.spare[:0]
	l.mu.Unlock()
	l.spare = taken
	return taken
}

// failed tells the operator, the first time. What could not be written stays and is tried again; what comes meanwhile waits, as much as
// may, so that the file has whole lines however the disk was filled.
func (l *Log) failed(err error) {
	if !l.failing {
		l.config.Log.Warn("the access log can't be written: lines wait, and those that do not fit are dropped", "file", l.config.File, "err", err)
	}
	l.failing = true
}

func (l *Log) well() {
	if l.failing {
		l.config.Log.Info("the access log is written again", "file", l.config.File, "dropped", l.dropped.Load())
	}
	l.failing = false
}

// reopen goes on in the file of that name: the one before has been renamed. Where there is none to be had the one before is good enough.
func (l *Log) reopen() {
	if l.config.File == Stdout {
		return
	}
	out, err := open(l.config.File)
	if err != nil {
		l.config.Log.Warn("the access log can't be opened anew: it goes on where it was", "file", l.config.File, "err", err)
		return
	}
	l.out.Close()
	l.out = out
	if l.torn { // its beginning is in the file before
		_, l.rest, _ = bytes.Cut(l.rest, newline)
		l.dropped.Add(1)
		l.torn = false
	}
}

// Close writes what waits and closes the file. It waits no longer than a moment for one that can't be written.
func (l *Log) Close() {
	if l == nil {
		return
	}
	close(l.ending)
	select {
	case <-l.ended:
	case <-time.After(lastWrite):
	}
}
