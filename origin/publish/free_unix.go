//go:build linux || darwin

package publish

import "golang.org/x/sys/unix"

// freeBytes returns the bytes that the disk of a folder has free for this process.
func freeBytes(folder string) (n int64, ok bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
