//go:build unix

package publish

import (
	"syscall"
	"testing"
	"time"
)

// logUsage logs the CPU time and memory that the process has used so far.
func logUsage(t *testing.T) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	// Maxrss is in KiB on Linux.
	t.Logf("%v of CPU, at most %d MB resident", cpu.Round(time.Millisecond), u.Maxrss/1024)
}
