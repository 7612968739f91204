package files

import (
	"context"
	"os"
	"sync"
	"time"
)

// Every is the time between two looks at files that are kept.
const Every = 2 * time.Second

// A Kept is what is read of some files together, and again when one of them changes. Where they can't be used, what was read before stays.
type Kept struct {
	mu    sync.Mutex
	files []file
	read  func(now time.Time) error // puts what the files say in place of what they said before, or changes nothing
}

// NewKept is for the files at paths, which have not been read yet.
func NewKept(read func(now time.Time) error, paths ...string) *Kept {
	k := &Kept{read: read}
	for _, path := range paths {
		k.files = append(k.files, file{path: path})
	}
	return k
}

// Reload reads the files.
func (k *Kept) Reload(now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reload(now)
}

func (k *Kept) reload(now time.Time) error {
	for i := range k.files {
		k.files[i].reading()
	}
	return k.read(now)
}

// Look reads the files again if one has changed; did reports whether it tried to.
func (k *Kept) Look(now time.Time) (did bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.files {
		did = k.files[i].changed() || did // all are to be looked at
	}
	if !did {
		return false, nil
	}
	return true, k.reload(now)
}

// Run looks at the files every now and then, and reads them at once when somebody says so, until ctx ends. What came of each reading is told.
func (k *Kept) Run(ctx context.Context, said <-chan os.Signal, told func(error)) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-said:
			told(k.Reload(time.Now()))
		case <-tick.C:
			if did, err := k.Look(time.Now()); did {
				told(err)
			}
		}
	}
}
