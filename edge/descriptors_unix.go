//go:build unix

package edge

import "syscall"

// descriptors is how many the process may have open; 0: that is not known.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
