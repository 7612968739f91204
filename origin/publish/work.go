package publish

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

const (
	workPattern   = "iconedge-publish-*"
	lockName      = "lock" // file in a working folder, locked by its publication
	archiveSuffix = ".zip" // of the files of a new pack
	docsSuffix    = ".docs"
	workMode      = 0o700 // of a working folder, as os.MkdirTemp makes it
)

// A workFolder is a folder for temporary files, locked by a publication.
type workFolder struct {
	path string
	lock *os.File // nil: the system has no locks
}

// openWork makes a folder for temporary files. In a parent that the operator has named, it takes
// over that of a publication which ended early, if there is one with finished packs. It removes the
// folders of publications that crashed more than a day ago.
func openWork(parent string, now time.Time) (workFolder, error) {
	resumes := parent != ""
	if !resumes {
		parent = os.TempDir()
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return workFolder{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	left, _ := filepath.Glob(filepath.Join(globQuote(parent), workPattern)) // the pattern is valid
	for _, path := range left {
		w, err := takeWork(path)
		switch fi, statErr := os.Stat(path); {
		case err != nil || statErr != nil: // it belongs to another publication or user
		case now.Sub(fi.ModTime()) > 24*time.Hour:
			w.close(false)
		case resumes && hasFinished(path):
			return w, os.Chtimes(path, now, now)
		default:
			w.lock.Close()
		}
	}
	path, err := os.MkdirTemp(parent, workPattern)
	if err != nil {
		return workFolder{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	lock, _ := files.Lock(filepath.Join(path, lockName)) // without it, no publication takes it over
	return workFolder{path, lock}, nil
}

var errForeign = errors.New("the folder belongs to another user")

// takeWork locks a folder that an earlier publication of this user has left. It takes none of
// another user, whose files may be anything.
func takeWork(path string) (workFolder, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return workFolder{}, err
	}
	if !fi.IsDir() || fi.Mode().Perm() != workMode || !isOwn(fi) {
		return workFolder{}, errForeign
	}
	lock, err := files.Lock(filepath.Join(path, lockName))
	return workFolder{path, lock}, err
}

// keeps reports whether the folder has finished packs that another publication can take over.
func (w workFolder) keeps() bool { return w.lock != nil && hasFinished(w.path) }

// close removes the folder or, if keep is set, everything in it but finished packs.
func (w workFolder) close(keep bool) {
	entries, _ := os.ReadDir(w.path)
	for _, e := range entries {
		own := []string{finishedSuffix, archiveSuffix, docsSuffix}
		isPack := slices.Contains(own, filepath.Ext(e.Name())) && !strings.HasPrefix(e.Name(), oldPrefix)
		// The records go before the lock, so that nobody takes over the rest of the folder.
		if remove := !keep && strings.HasSuffix(e.Name(), finishedSuffix) || keep && !isPack && e.Name() != lockName; remove {
			os.RemoveAll(filepath.Join(w.path, e.Name()))
		}
	}
	if !keep {
		os.RemoveAll(w.path)
	}
	if w.lock != nil {
		w.lock.Close()
	}
}

// size returns the bytes of the files in the folder.
func (w workFolder) size() (bytes int64) {
	entries, _ := os.ReadDir(w.path)
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			bytes += fi.Size()
		}
	}
	return bytes
}
