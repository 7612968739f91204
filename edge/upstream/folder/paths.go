package folder

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/upstream"
)

// A finding is what a folder has under a path.
type finding struct {
	kind kind
	name string      // of a file or a folder, below the root
	info fs.FileInfo // of a file
}

type kind uint8

const (
	nothing   kind = iota
	forbidden      // the system does not let the edge read it
	file           // a regular file
	redirect       // a folder whose path lacks the slash at its end
	listing        // a folder
)

// maxPath bounds the length of a path in bytes, as PATH_MAX of Linux does.
const maxPath = 4096

// find finds what the path of a target stands for. The error is one of the system, which may pass.
func (f *Folder) find(root *os.Root, raw string) (finding, error) {
	clean := rules.Normalise(raw) // so that a rule that protects a file sees the same path
	name := strings.Trim(clean, "/")
	if len(clean) > maxPath || hidden(name) {
		return finding{}, nil
	}
	inside := name == "" || strings.HasSuffix(clean, "/")
	if name == "" {
		name = "."
	}
	got, err := f.look(root, name, inside)
	if err != nil || got.kind != nothing || f.Fallback == "" || cachepolicy.StaticTypes(clean) != nil {
		return got, err // a page in the place of a script or a picture would only hide the mistake
	}
	return f.look(root, strings.Trim(f.Fallback, "/"), false)
}

// look finds what a name stands for; inside says that its path ends in a slash.
func (f *Folder) look(root *os.Root, name string, inside bool) (finding, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return failed(err)
	case info.Mode().IsRegular() && !inside:
		return finding{file, name, info}, nil
	case !info.IsDir():
		return finding{}, nil
	case !inside:
		return finding{kind: redirect, name: name}, nil
	}
	for _, index := range f.Index {
		index = path.Join(name, index)
		info, err := root.Stat(index)
		if err == nil && info.Mode().IsRegular() {
			return finding{file, index, info}, nil
		}
		if err != nil {
			if got, err := failed(err); err != nil || got.kind != nothing {
				return got, err
			}
		}
	}
	if f.Listing {
		return finding{kind: listing, name: name}, nil
	}
	return finding{}, nil
}

// hidden reports whether a name is one that no client may read: it has a segment that begins with a
// dot, or a character that other systems read as the end of a segment or of the name.
func hidden(name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return true
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(name, ".well-known/"), "/") {
		if strings.HasPrefix(segment, ".") {
			return true
		}
	}
	return false
}

// failed returns the finding for an error of the package os. A link that leaves the folder, a loop
// of links and a name that is too long are nothing. The error is nil unless the system lacks
// something, such as descriptors.
func failed(err error) (finding, error) {
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return finding{kind: forbidden}, nil
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOMEM),
		errors.Is(err, syscall.ESTALE), !errors.As(err, &of):
		return finding{}, &unreadable{err}
	}
	return finding{}, nil
}

// An unreadable is an error of the system.
type unreadable struct{ err error }

func (u *unreadable) Error() string   { return "the folder can't be read: " + u.err.Error() }
func (u *unreadable) Unwrap() []error { return []error{upstream.ErrUnreachable, u.err} }

// openFile opens a regular file. It waits for nothing, if another process has put a FIFO or a
// device into its place since it was looked at: such a file is no regular one, and not ok.
func openFile(root *os.Root, name string) (in *os.File, info fs.FileInfo, ok bool, err error) {
	in, err = root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		_, err = failed(err)
		return nil, nil, false, err
	}
	if info, err = in.Stat(); err != nil || !info.Mode().IsRegular() {
		in.Close()
		return nil, nil, false, nil
	}
	return in, info, true, nil
}
