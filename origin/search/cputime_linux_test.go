package search

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of this thread, so that other work on the machine does not
// count.
func cpuTime() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processTime returns the processor time of all threads of this process.
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(id, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Nano())
}
