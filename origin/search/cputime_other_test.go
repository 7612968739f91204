//go:build !linux

package search

import "time"

var started = time.Now()

// cpuTime is the time on the wall where a thread's own can't be had.
func cpuTime() time.Duration { return time.Since(started) }
