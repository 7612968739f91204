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

// A Tree is a process with its children and theirs: a master with its workers.
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
			continue // a thread that has ended meanwhile
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

// CPU is the time that all processes of the tree have spent so far, in user and kernel mode, with threads that have ended.
func (t Tree) CPU() (time.Duration, error) { return t.Meter()() }

// Meter reads that time again and again. A process that has ended meanwhile counts with what it had spent when it was last read: so it
// takes nothing from what the others spend. The first one, which all others come from, must not end.
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

// cpuOf reads one process's clock. It counts nanoseconds, where utime and stime of /proc/PID/stat count hundredths of a second.
func cpuOf(pid int) (time.Duration, error) {
	var spent unix.Timespec
	err := unix.ClockGettime(clockOf(pid), &spent)
	return time.Duration(spent.Nano()), err
}

// Calm waits until the tree does next to nothing any more: until what it does after its answers, such as coding them, is done.
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

// calmTime is how long a tree must have been calm.
const calmTime = 400 * time.Millisecond

// clockOf is the id of a process's CPU clock, which clock_getcpuclockid(3) gives: the complement of the process's number, and that it is
// the scheduler's account of the whole process (linux/posix-timers.h).
func clockOf(pid int) int32 { return int32(^pid)<<3 | 2 }

// RSS is the resident memory of the tree in bytes. What processes share counts once, by the shares of each (smaps_rollup's Pss), where
// the kernel lets us see it.
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

// kilobytes finds a line such as "Pss:    1234 kB".
func kilobytes(b []byte, name string) (int64, error) {
	for line := range bytes.Lines(b) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == name && fields[2] == "kB" {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("no line %s in what the kernel says of a process's memory", name)
}

// sizeOf is the space that the files of a folder take, by their blocks.
func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
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

// PinSelf lets this process run on one core alone, so that it leaves the others to what it measures. Threads that are made later
// inherit it.
func PinSelf(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	for range 2 { // again for threads that were made meanwhile
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
