//go:build linux

package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Tree is a process with all its descendants, such as a master with its workers.
type Tree []int

// TreeOf lists the tree of a process (proc_pid_task(5)).
func TreeOf(pid int) (Tree, error) {
	tree := Tree{pid}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("looking for process %d: %w", pid, errors.Join(err, fs.ErrNotExist))
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has exited meanwhile
		}
		for _, field := range strings.Fields(string(b)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", list, err)
			}
			below, err := TreeOf(child)
			if err != nil {
				continue
			}
			tree = append(tree, below...)
		}
	}
	return tree, nil
}

// CPU returns the CPU time of all processes of the tree so far, in user and kernel mode, including
// threads that have exited.
func (t Tree) CPU() (time.Duration, error) { return t.Meter()() }

// Meter returns a function that reads that time repeatedly. A process that exits meanwhile counts
// with its time at the last reading, so the sum never decreases. The first process, the ancestor of
// the others, must not exit.
func (t Tree) Meter() func() (time.Duration, error) {
	spent := make([]time.Duration, len(t))
	return func() (total time.Duration, err error) {
		for i, pid := range t {
			now, err := cpuOf(pid)
			switch {
			case err == nil:
				spent[i] = now
			case i == 0:
				return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
			}
			total += spent[i]
		}
		return total, nil
	}
}

// cpuOf reads the CPU clock of a process. It has a resolution of nanoseconds; utime and stime in
// /proc/PID/stat have hundredths of a second.
func cpuOf(pid int) (time.Duration, error) {
	var spent unix.Timespec
	err := unix.ClockGettime(clockOf(pid), &spent)
	return time.Duration(spent.Nano()), err
}

// Calm waits until the tree is nearly idle, so work after its responses, such as compression, is
// done.
func (t Tree) Calm(ctx context.Context) error {
	meter := t.Meter()
	last, err := meter()
	for err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(calmTime):
		}
		var now time.Duration
		if now, err = meter(); now-last < calmTime/50 {
			return err
		}
		last = now
	}
	return err
}

// calmTime is how long a tree must have been idle.
const calmTime = 400 * time.Millisecond

// clockOf returns the id of a process's CPU clock, as clock_getcpuclockid(3) does: the complement
// of the process number, and a flag for the scheduler's account of the whole process
// (linux/posix-timers.h).
func clockOf(pid int) int32 { return int32(^pid)<<3 | 2 }

// RSS returns the resident memory of the tree in bytes. Shared memory counts once (smaps_rollup's
// Pss) if the kernel allows reading that.
func (t Tree) RSS() (total int64, err error) {
	for _, pid := range t {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
		}
		n, err := kilobytes(b, "Pss:")
		if err != nil {
			return 0, err
		}
		total += n << 10
	}
	return total, nil
}

// Peak returns the most resident memory that a process has had, in bytes. The kernel's account of a
// process that has ended (ru_maxrss) counts its parent too.
func Peak(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	n, err := kilobytes(b, "VmHWM:")
	return n << 10, err
}

// kilobytes parses a line such as "Pss: 1234 kB".
func kilobytes(b []byte, name string) (int64, error) {
	for line := range bytes.Lines(b) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == name && fields[2] == "kB" {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("the kernel's account of the process's memory has no line %s", name)
}

// sizeOf returns the space that the files of a folder occupy, by blocks.
func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			total += stat.Blocks * 512
		}
		return nil
	})
	return total, err
}

// PinSelf pins this process to one core, so the servers under measurement have the others. New
// threads inherit that.
func PinSelf(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	for range 2 { // twice, for threads that start meanwhile
		threads, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(filepath.Base(thread))
			if err != nil {
				return err
			}
			if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("pinning to core %d: %w", cpu, err)
			}
		}
	}
	return nil
}
