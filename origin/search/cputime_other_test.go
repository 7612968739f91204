//go:build !linux

package search

import "time"

var started = time.Now()

// cpuTime returns the wall-clock time, because the processor time of a thread is not available.
func cpuTime() time.Duration { return time.Since(started) }

// processTime returns the wall-clock time too.
func processTime() time.Duration { return time.Since(started) }
