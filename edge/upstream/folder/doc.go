// Package folder serves the files of a folder as an origin: it implements upstream.Local, so that
// caching, limits and collapsing are those of every other origin. paths.go finds the file of a
// path, respond.go makes responses of it, listing.go the page of a folder, and types.go has the
// media types.
//
// No response has bytes from outside of the folder: the package os follows links only within a
// root. Names that begin with a dot are hidden, except .well-known, and only regular files are
// read, so that a FIFO or a device stalls no request.
package folder

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/upstream"
)

// Options says which folder is served, and how.
type Options struct {
	Dir      string
	Index    []string // names of files that stand for the folder that has them, in order
	Fallback string   // a path below Dir, served where there is nothing; empty: 404
	Listing  bool     // a folder without an index has a page with its names
	// Precompressed are the ends of names, of codings, under which a file has content codings, in
	// order: br, zst or gz.
	Precompressed []string
}

// lookEvery is the time after which Dir is looked at again: it may have become another folder, as a
// link to a new release does.
const lookEvery = time.Second

// A Folder is a folder as an origin. It is safe for concurrent use.
type Folder struct {
	Options
	mu     sync.Mutex
	root   *os.Root    // nil: Dir could not be opened
	info   os.FileInfo // of root
	looked time.Time
	err    error // of the last look; nil: none
}

var _ upstream.Local = (*Folder)(nil)

// New returns a folder. It opens Dir with the first request.
func New(o Options) *Folder { return &Folder{Options: o} }

func (f *Folder) String() string { return "dir:" + f.Dir }

// Check returns an error if Dir can't be opened.
func (f *Folder) Check() error {
	_, err := f.open(time.Now())
	return err
}

// open returns the root. One that another has replaced is closed by the garbage collector, after
// the last request that uses it.
func (f *Folder) open(now time.Time) (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.looked.IsZero() && now.Sub(f.looked) < lookEvery {
		return f.root, f.err
	}
	f.looked = now
	info, err := os.Stat(f.Dir)
	if err == nil && f.root != nil && os.SameFile(info, f.info) {
		f.err = nil
		return f.root, nil
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(f.Dir)
	}
	if err == nil {
		info, err = root.Stat(".")
	}
	f.root, f.info, f.err = nil, nil, nil
	if err != nil {
		f.err = fmt.Errorf("%w: the folder can't be opened: %w", upstream.ErrUnreachable, err)
		return nil, f.err
	}
	f.root, f.info = root, info
	return root, nil
}
