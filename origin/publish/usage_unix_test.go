//go:build unix

package publish

import (
	"syscall"
	"testing"
	"time"
)

// logUsage logs what the process has taken so far.
func logUsage(t *testing.T) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	t.Logf("%v of CPU, at most %d MB resident", cpu.Round(time.Millisecond), u.Maxrss/1024) // KiB on Linux
}
