package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
)

const packFileName = "pack.json"

// A folder is one pack of SVG files, not yet read.
type folder struct {
	info
	tree    *tree
	name    string
	files   []svgFile // files that end in .svg, sorted by name
	bytes   int64
	folders []string // within the folder, which are not read
}

// An svgFile describes a file before it is read.
type svgFile struct {
	name    string
	size    int64
	omitted string // the reason to leave the file out unread; empty: read it
}

// openFolders opens a folder of packs. It skips folders whose name starts with a dot, and folders
// that have neither a pack.json nor SVG files. A folder of SVG files without a pack.json is a pack
// without a licence, which sources reports as an error. SVG files beside the packs are a warning,
// or an error if there is no pack.
func (p *publication) openFolders(t *tree) ([]source, error) {
	entries, err := t.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	var packs []source
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := openFolder(t, e.Name())
		if err != nil {
			return nil, err
		}
		if f != nil {
			packs = append(packs, f)
		}
	}
	if n := countSVG(entries); n > 0 {
		beside := fmt.Sprintf("the SVG files of %s itself (%d) are not in a folder; the name of their folder becomes the key of their pack", t.path, n)
		if len(packs) == 0 {
			return nil, fmt.Errorf("%w: %s", ErrSource, beside)
		}
		p.sum.Warnings = append(p.sum.Warnings, beside)
	}
	return packs, nil
}

func openFolder(t *tree, key string) (*folder, error) {
	fi, err := t.Stat(key)
	if err == nil && !fi.IsDir() {
		return nil, nil // a file beside the packs
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	entries, err := t.ReadDir(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	f := &folder{tree: t, name: key}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			f.folders = append(f.folders, e.Name())
			continue
		}
		if !strings.EqualFold(path.Ext(e.Name()), ".svg") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		file, err := f.inspect(e.Name())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		f.files = append(f.files, file)
		f.bytes += file.size
	}
	slices.SortFunc(f.files, func(a, b svgFile) int { return cmp.Compare(a.name, b.name) })
	from := path.Join(key, packFileName)
	err = readJSON(t, from, &f.info)
	if raw, err := fs.ReadFile(t, from); err == nil {
		f.raw = compactObject(bytes.TrimPrefix(raw, []byte("\uFEFF")))
	}
	f.key, f.from = key, t.fullPath(from)
	if errors.Is(err, os.ErrNotExist) {
		if len(f.files) == 0 {
			return nil, nil
		}
		f.missing, err = true, nil
	}
	return f, err
}

// inspect returns the size of a file, and the reason to leave it out if it can't be read.
func (f *folder) inspect(name string) (svgFile, error) {
	fi, err := f.tree.Stat(path.Join(f.name, name)) // follows links
	if errors.Is(err, errOutside) {
		return svgFile{name: name, omitted: errOutside.Error()}, nil
	}
	if err != nil {
		return svgFile{}, err
	}
	file := svgFile{name: name, size: fi.Size()}
	switch {
	case !fi.Mode().IsRegular(): // reading a pipe might never end
		file.omitted = errNotFile.Error()
	case fi.Size() > svg.MaxBytes:
		file.omitted = fmt.Sprintf("it is larger than %d bytes", svg.MaxBytes)
	}
	return file, nil
}

func (f *folder) about() *info { return &f.info }
func (f *folder) size() int64  { return f.bytes }

func (f *folder) digest(ctx context.Context, w io.Writer) error {
	for _, file := range f.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%q %d\n", file.name, file.size); err != nil {
			return err
		}
		if file.omitted != "" {
			if file.omitted == errOutside.Error() {
				fmt.Fprintln(w, file.omitted) // such a file has no size of its own
			}
			continue
		}
		if err := f.tree.copyTo(w, path.Join(f.name, file.name)); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) read(ctx context.Context) (*set, error) {
	s := &set{}
	if err := f.omitFolders(s); err != nil {
		return nil, err
	}
	for _, file := range f.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(file.name, ".svg")
		if !ok || !icon.ValidKey(name) {
			s.omit(file.name, badName(name)+rename(file.name))
			continue
		}
		if file.omitted != "" {
			s.omit(name, file.omitted)
			continue
		}
		s.icons = append(s.icons, rawIcon{name: name, clean: func() (svg.Icon, error) {
			doc, err := fs.ReadFile(f.tree, path.Join(f.name, file.name))
			if err != nil {
				return svg.Icon{}, err
			}
			return svg.CleanDocument(doc, f.Palette)
		}})
	}
	// Sort again: the files are sorted with their extension, so "a-b.svg" comes before "a.svg".
	slices.SortFunc(s.icons, func(a, b rawIcon) int { return cmp.Compare(a.name, b.name) })
	return s, nil
}

// omitFolders reports the folders within the pack that have SVG files.
func (f *folder) omitFolders(s *set) error {
	for _, name := range f.folders {
		entries, err := f.tree.ReadDir(path.Join(f.name, name))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSource, err)
		}
		if n := countSVG(entries); n > 0 {
			s.omit(name+"/", fmt.Sprintf("it is a folder within a pack, whose %d SVG files are not read: move them up, for instance as %s-NAME.svg, or make the folder a pack of its own", n, cmp.Or(slug(name), "icon")))
		}
	}
	return nil
}

func countSVG(entries []fs.DirEntry) (n int) {
	for _, e := range entries {
		if strings.EqualFold(path.Ext(e.Name()), ".svg") {
			n++
		}
	}
	return n
}

// rename says which valid name a file could have, such as icon-home-size-24.svg for a file that
// Figma names "Icon=Home, Size=24.svg".
func rename(file string) string {
	if name := slug(strings.TrimSuffix(file, path.Ext(file))); icon.ValidKey(name) {
		return ": rename the file to " + name + ".svg"
	}
	return ""
}

// slug returns a name with lower-case letters, digits and single hyphens alone. A capital after a
// small letter begins a word: ArrowLeft is arrow-left.
func slug(name string) string {
	var b strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte('-')
		}
		last = r
		if r = unicode.ToLower(r); r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	return strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return r == '-' }), "-")
}
