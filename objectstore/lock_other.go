//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package objectstore

import (
	"context"
	"os"
	"sync"
)

var locked sync.Mutex

// lock excludes other calls in this process. Without flock(2), only one process at a time may write
// to a folder store.
func lock(_ context.Context, _ *os.Root) (unlock func(), err error) {
	locked.Lock()
	return locked.Unlock, nil
}
