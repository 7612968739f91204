//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package objectstore

import (
	"context"
	"os"
	"sync"
)

var locked sync.Mutex

// lock excludes other calls of this process. Where there is no flock(2), a folder store takes one writing process at a time.
func lock(_ context.Context, _ *os.Root) (unlock func(), err error) {
	locked.Lock()
	return locked.Unlock, nil
}
