package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

const (
	workPattern   = "iconedge-publish-*"
	lockName      = "lock" // file in a working folder, locked by its publication
	archiveSuffix = ".zip" // of the files of a new pack
	docsSuffix    = ".docs"
)

// A workFolder is a folder for temporary files, locked by a publication.
type workFolder struct {
	path string
	lock *os.File // nil: the folder can't be locked
}

// openWork makes a folder for temporary files. In a parent that the operator has named, it is that
// of a publication which ended early, if there is one with finished packs. It removes the folders of
// publications that crashed more than a day ago.
func openWork(parent string, now time.Time) (workFolder, error) {
	resumes := parent != ""
	if !resumes {
		parent = os.TempDir()
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return workFolder{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	left, _ := filepath.Glob(filepath.Join(globQuote(parent), workPattern)) // the pattern is valid
	for _, path := range left {
		fi, err := os.Stat(path)
		switch {
		case err != nil:
		case now.Sub(fi.ModTime()) > 24*time.Hour:
			os.RemoveAll(path) // after an error, the next publication tries again
		case resumes && hasFinished(path):
			if lock, err := files.Lock(filepath.Join(path, lockName)); err == nil {
				return workFolder{path, lock}, nil
			}
		}
	}
	path, err := os.MkdirTemp(parent, workPattern)
	if err != nil {
		return workFolder{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	lock, _ := files.Lock(filepath.Join(path, lockName)) // without it, no publication resumes this one
	return workFolder{path, lock}, nil
}

// close removes the folder, unless keep is set.
func (w workFolder) close(keep bool) {
	if !keep {
		os.RemoveAll(w.path)
	}
	if w.lock != nil {
		w.lock.Close()
	}
}
