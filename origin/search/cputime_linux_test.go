package search

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this thread has used of a processor: other work on the machine does not count.
func cpuTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Nano())
}
