package files

import (
	"context"
	"os"
	"sync"
	"time"
)

// Every is the time between two checks of the files.
const Every = 2 * time.Second

// A Watched reads a group of files together, and again when one of them changes. If they can't be
// used, the previous content stays.
type Watched struct {
	mu    sync.Mutex
	files []file
	read  func(now time.Time) error // replaces the previous content, or returns an error
}

// Watch makes a Watched for the files at paths. It does not read them yet.
func Watch(read func(now time.Time) error, paths ...string) *Watched {
	k := &Watched{read: read}
	for _, path := range paths {
		k.files = append(k.files, file{path: path})
	}
	return k
}

// Reload reads the files.
func (k *Watched) Reload(now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reload(now)
}

func (k *Watched) reload(now time.Time) error {
	for i := range k.files {
		k.files[i].reading()
	}
	return k.read(now)
}

// Check reads the files again if one of them has changed; did reports whether it tried to.
func (k *Watched) Check(now time.Time) (did bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.files {
		did = k.files[i].changed() || did // check every file, because each check has a state
	}
	if !did {
		return false, nil
	}
	return true, k.reload(now)
}

// Run checks the files regularly, and reads them at once when a signal arrives, until ctx ends. It
// calls report with the result of each reading.
func (k *Watched) Run(ctx context.Context, signals <-chan os.Signal, report func(error)) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			report(k.Reload(time.Now()))
		case <-tick.C:
			if did, err := k.Check(time.Now()); did {
				report(err)
			}
		}
	}
}
