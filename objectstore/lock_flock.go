//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package objectstore

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

// retryLock is the time between two attempts to take the lock, which is held for a few system calls
// only.
const retryLock = 2 * time.Millisecond

// lock takes the lock of a folder store. It excludes other processes as well as other calls in this
// process, because each call opens the file anew.
func lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := files.LockFile(f)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, files.ErrLocked):
			f.Close()
			return nil, &os.PathError{Op: "flock", Path: lockFile, Err: err}
		}
		select {
		case <-time.After(retryLock):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
}
