package search

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of this thread, so that other work on the machine does not
// count.
func cpuTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Nano())
}
