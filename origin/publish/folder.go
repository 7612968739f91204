package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
)

const packFileName = "pack.json"

// A folder is one pack of SVG files, not yet read.
type folder struct {
	info
	path  string
	files []fs.FileInfo // those that end like a drawing, sorted by name
	bytes int64
}

// openFolders opens a folder of packs. Folders without a pack.json and without drawings, and those that start with a dot, are
// none of ours; one with drawings and no pack.json has no licence, which sources complains of.
func openFolders(path string) ([]source, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	var packs []source
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := openFolder(filepath.Join(path, e.Name()), e.Name())
		if err != nil {
			return nil, err
		}
		if f != nil {
			packs = append(packs, f)
		}
	}
	return packs, nil
}

func openFolder(path, key string) (*folder, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		if fi, err := os.Stat(path); err == nil && !fi.IsDir() {
			return nil, nil // a file beside the packs
		}
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	f := &folder{path: path}
	for _, e := range entries {
		if !strings.EqualFold(filepath.Ext(e.Name()), ".svg") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		fi, err := os.Stat(filepath.Join(path, e.Name())) // follows links
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		f.files = append(f.files, named{fi, e.Name()})
		f.bytes += fi.Size()
	}
	slices.SortFunc(f.files, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	from := filepath.Join(path, packFileName)
	err = readJSON(from, &f.info)
	f.key, f.from = key, from
	if errors.Is(err, os.ErrNotExist) {
		if len(f.files) == 0 {
			return nil, nil
		}
		err = nil
	}
	return f, err
}

// named is what Stat says of the target of a link, under the link's name.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

func (f *folder) about() *info { return &f.info }
func (f *folder) size() int64  { return f.bytes }

func (f *folder) digest(w io.Writer) error {
	for _, fi := range f.files {
		if _, err := fmt.Fprintf(w, "%q %d\n", fi.Name(), fi.Size()); err != nil {
			return err
		}
		if unreadable(fi) != "" {
			continue
		}
		if err := copyFile(w, filepath.Join(f.path, fi.Name())); err != nil {
			return err
		}
	}
	return nil
}

// unreadable says why a file is left out unread, if it is.
func unreadable(fi fs.FileInfo) string {
	switch {
	case !fi.Mode().IsRegular(): // reading a pipe might never end
		return "it is not a file"
	case fi.Size() > svg.MaxBytes:
		return fmt.Sprintf("it is larger than %d bytes", svg.MaxBytes)
	}
	return ""
}

func (f *folder) read(context.Context) (*set, error) {
	s := &set{}
	for _, fi := range f.files {
		name, plain := strings.CutSuffix(fi.Name(), ".svg")
		if !plain || !icon.ValidKey(name) {
			s.omit(fi.Name(), badName(name))
			continue
		}
		if why := unreadable(fi); why != "" {
			s.omit(name, why)
			continue
		}
		path := filepath.Join(f.path, fi.Name())
		s.drawings = append(s.drawings, drawing{name: name, draw: func() (svg.Drawing, error) {
			doc, err := os.ReadFile(path)
			if err != nil {
				return svg.Drawing{}, err
			}
			return svg.CleanDocument(doc, f.Palette)
		}})
	}
	// By name, where the files are by name and extension: "a-b.svg" sorts before "a.svg".
	slices.SortFunc(s.drawings, func(a, b drawing) int { return cmp.Compare(a.name, b.name) })
	return s, nil
}
