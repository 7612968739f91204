//go:build unix

package publish

import (
	"os"
	"syscall"
)

// isOwn reports whether this user owns a file.
func isOwn(fi os.FileInfo) bool {
	stat, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
