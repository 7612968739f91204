package search

import (
	"syscall"
	"time"
)

// cpuTime is what this thread has used of a processor: other work on the machine does not count.
func cpuTime() time.Duration {
	var use syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
