package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/spelling"
	"github.com/iconedge/iconedge/origin/svg"
)

const (
	maxDepth   = 32        // folders within each other
	maxEntries = 1_000_000 // files and folders of a pack
)

// neverRead has the folders in which no pack has its icons. Folders whose names begin with a dot
// are not read either.
var neverRead = map[string]bool{"node_modules": true, "bower_components": true, "__MACOSX": true}

// setAside has the folders at the root of a pack that are not read if the pack has as many SVG
// files elsewhere, because packages have their icons there a second time, or none.
var setAside = map[string]bool{
	"categories": true, "src": true, "source": true, "sources": true, "raw": true,
	"test": true, "tests": true, "__tests__": true, "spec": true, "fixtures": true,
	"doc": true, "docs": true, "demo": true, "demos": true, "example": true, "examples": true, "website": true,
	"font": true, "fonts": true, "webfont": true, "webfonts": true, "sprite": true, "sprites": true,
}

// An svgFile describes a file before it is read.
type svgFile struct {
	path    string // in the folder of the pack
	size    int64
	omitted string // the reason to leave the file out; empty: it becomes an icon

	pack    string // the words that its folders add to the key of its pack
	name    string // of the icon
	spelled string // the name with that of the file as it is, if the latter is not a valid name
	raw     string // the name with those of file and folders as they are
	copy    bool   // it has the name and the content of another file
}

// spelling returns the other spelling by which clients may fetch the icon; "" if there is none.
func (f *svgFile) spelling() string {
	if !icon.ValidSpelling(f.spelled) || spelling.Mend(f.spelled) != f.name {
		return ""
	}
	return f.spelled
}

// folder returns the folder of the file; "" is that of the pack.
func (f *svgFile) folder() string { return above(f.path) }

// above returns the folder of a path; "" is that of the pack.
func above(name string) string { return path.Dir("/" + name)[1:] }

// stem returns the name of the file without its extension.
func (f *svgFile) stem() string { return strings.TrimSuffix(path.Base(f.path), path.Ext(f.path)) }

// A walk finds the SVG files of a pack.
type walk struct {
	tree    *tree
	root    string // the folder of the pack in the tree
	entries int    // so far
	files   []*svgFile
	packs   []string // folders within that are packs of their own
	links   []string // folders behind symbolic links, which are not read
	aside   []string // folders that are set aside, with their numbers of files
}

// findSVGs finds the SVG files in a folder and in those below it, sorted by path.
func findSVGs(t *tree, root string) (*walk, error) {
	w := &walk{tree: t, root: root}
	if err := w.enter("", 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	w.setAside()
	slices.SortFunc(w.files, func(a, b *svgFile) int { return strings.Compare(a.path, b.path) })
	return w, nil
}

func (w *walk) enter(dir string, depth int) error {
	entries, err := w.tree.ReadDir(path.Join(w.root, dir))
	if err != nil {
		return err
	}
	if w.entries += len(entries); w.entries > maxEntries {
		return fmt.Errorf("%s has more than %d files and folders", printable(w.tree.fullPath(w.root)), maxEntries)
	}
	if dir != "" && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == packFileName }) {
		w.packs = append(w.packs, dir)
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), neverRead[e.Name()]:
		case e.IsDir() && depth == maxDepth:
			return fmt.Errorf("%s has folders more than %d deep", printable(w.tree.fullPath(w.root)), maxDepth)
		case e.IsDir():
			if err := w.enter(name, depth+1); err != nil {
				return err
			}
		case isSVG(e.Name()):
			if err := w.inspect(name); err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			// Links could lead in circles. Elsewhere in the folder the files are found anyway.
			if fi, err := w.tree.Stat(path.Join(w.root, name)); err == nil && fi.IsDir() {
				w.links = append(w.links, name)
			}
		}
	}
	return nil
}

func isSVG(name string) bool { return strings.EqualFold(path.Ext(name), ".svg") }

// inspect adds a file, with the reason to leave it out if it can't be read.
func (w *walk) inspect(name string) error {
	file := &svgFile{path: name}
	fi, err := w.tree.Stat(path.Join(w.root, name)) // follows links
	switch {
	case errors.Is(err, errOutside):
		file.omitted = errOutside.Error()
	case errors.Is(err, fs.ErrNotExist):
		file.omitted = "it is a symbolic link to nothing"
	case err != nil:
		return err
	case fi.IsDir(): // a folder with the name of a file
		return nil
	case !fi.Mode().IsRegular(): // reading a pipe might never end
		file.omitted = errNotFile.Error()
	case fi.Size() > svg.MaxBytes:
		file.omitted = fmt.Sprintf("it is larger than %d bytes", svg.MaxBytes)
	}
	if fi != nil {
		file.size = fi.Size()
	}
	w.files = append(w.files, file)
	return nil
}

// setAside removes the files of the folders in setAside that have no more than there are elsewhere.
func (w *walk) setAside() {
	counts, others := map[string]int{}, 0
	for _, f := range w.files {
		if top := f.aside(); top != "" {
			counts[top]++
		} else {
			others++
		}
	}
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n > others })
	w.files = slices.DeleteFunc(w.files, func(f *svgFile) bool { return counts[f.aside()] > 0 })
	for _, top := range slices.Sorted(maps.Keys(counts)) {
		w.aside = append(w.aside, fmt.Sprintf("%s (%s)", printable(top), counted(counts[top], "SVG file")))
	}
}

// aside returns the folder of setAside that the file is in; "" if it is in none.
func (f *svgFile) aside() string {
	if top, _, within := strings.Cut(f.path, "/"); within && setAside[strings.ToLower(top)] {
		return top
	}
	return ""
}
