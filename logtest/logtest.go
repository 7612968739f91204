// Package logtest keeps what is logged while a test runs, for the test to read.
package logtest

import (
	"bytes"
	"log/slog"
	"sync"
)

// A Log keeps what is written to it. It may be written and read at the same time; its zero value is empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger writes a line to the log for each record that is no mere detail. That of a nil log writes nothing.
func (l *Log) Logger() *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(l, nil))
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was written since the log was empty.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset empties the log.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}
