package publish

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon/spelling"
	"github.com/iconedge/iconedge/origin/svg"
)

const packFileName = "pack.json"

// A folder is one pack of SVG files, not yet read.
type folder struct {
	info
	tree   *tree
	name   string // in the tree
	files  []*svgFile
	bytes  int64
	naming string // the rules for names, for the digest
}

// openFolders opens the packs of a folder: the folder itself if it has a pack.json, and each folder
// in it that has one. If none has, the folder is a pack if it has a package.json. Of the other
// folders in it, those that have SVG files are packs without a licence, which is an error; those
// with SVG files only in further folders are a warning, or an error if there is no pack. So are SVG
// files beside the packs.
func (p *publication) openFolders(t *tree, key string) ([]source, error) {
	entries, err := t.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	own, below, err := describedFolders(t, entries)
	if err != nil {
		return nil, err
	}
	var packs []source
	if own || len(below) == 0 && exists(t, packageFileName) {
		if packs, err = p.openPack(t, ".", key); err != nil {
			return nil, err
		}
	}
	found := len(packs) > 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || neverRead[e.Name()] || found && !below[e.Name()] {
			continue
		}
		inside, err := p.openBelow(t, e.Name(), below[e.Name()])
		if err != nil {
			if err := p.fail(e.Name(), err); err != nil {
				return nil, err
			}
			continue
		}
		packs = append(packs, inside...)
	}
	if n := countSVG(entries); n > 0 && !found {
		beside := fmt.Sprintf("the SVG files of %s itself (%d) are not in a folder with a %s; %s", t.path, n, packFileName,
			adviseInit(t.path))
		if len(packs) == 0 {
			return nil, fmt.Errorf("%w: %s", ErrSource, beside)
		}
		p.sum.Warnings = append(p.sum.Warnings, beside)
	}
	return packs, nil
}

func adviseInit(path string) string {
	return fmt.Sprintf("iconedge publish --init %s makes one", filepath.Clean(path))
}

// describedFolders reports whether a folder has a pack.json, and which of the folders in it have.
func describedFolders(t *tree, entries []fs.DirEntry) (own bool, below map[string]bool, err error) {
	below = map[string]bool{}
	for _, e := range entries {
		switch {
		case e.Name() == packFileName:
			own = true
		case strings.HasPrefix(e.Name(), "."), neverRead[e.Name()], !e.IsDir() && e.Type()&fs.ModeSymlink == 0:
		case exists(t, path.Join(e.Name(), packFileName)):
			below[e.Name()] = true
		}
		if err := t.ctx.Err(); err != nil {
			return false, nil, err
		}
	}
	return own, below, nil
}

func exists(t *tree, name string) bool {
	_, err := t.root.Lstat(filepath.FromSlash(name))
	return err == nil
}

// openBelow opens a folder beside others.
func (p *publication) openBelow(t *tree, name string, described bool) ([]source, error) {
	fi, err := t.Stat(name)
	if err == nil && !fi.IsDir() {
		return nil, nil // a file beside the packs
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	if !described && !exists(t, path.Join(name, packageFileName)) {
		entries, err := t.ReadDir(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		if countSVG(entries) == 0 {
			return nil, p.warnDeeper(t, name)
		}
	}
	return p.openPack(t, name, "")
}

// warnDeeper warns of a folder without a description that has SVG files only in folders.
func (p *publication) warnDeeper(t *tree, name string) error {
	w, err := findSVGs(t, name)
	if err != nil || len(w.files) == 0 {
		return err
	}
	p.sum.Warnings = append(p.sum.Warnings, fmt.Sprintf("%s has SVG files in its folders (%d), but no %s: it is no pack; %s",
		printable(t.fullPath(name)), len(w.files), packFileName, adviseInit(t.fullPath(name))))
	return nil
}

// openPack opens one pack: a folder with SVG files, as its pack.json or package.json describes it.
// With "folders": "packs" it is several. key, unless "", is the key of the pack.
func (p *publication) openPack(t *tree, dir, key string) ([]source, error) {
	about, err := descriptionOf(t, dir)
	if err != nil {
		return nil, err
	}
	w, err := findSVGs(t, dir)
	if err != nil {
		return nil, err
	}
	switch packed := path.Base(filepath.ToSlash(about.from)) == packageFileName; {
	case len(w.files) > 0:
	case packed && dir == ".":
		return nil, fmt.Errorf("%w: %s has no SVG files", ErrSource, printable(t.path))
	case packed, about.missing:
		return nil, nil
	}
	if about.key = cmp.Or(key, about.key); about.key == "" {
		if about.key = folderName(t, dir); !p.StrictNames {
			about.key = cmp.Or(spelling.Mend(about.key), about.key)
		}
	}
	if about.Folders == "" {
		about.Folders = cmp.Or(p.Folders, FoldersSuffix)
	}
	if !slices.Contains(Layouts, about.Folders) {
		return nil, fmt.Errorf("%w: %s: \"folders\" is one of %s, not %s", ErrSource, about.from, strings.Join(Layouts, ", "),
			printable(about.Folders))
	}
	if err := about.check(); err != nil {
		return nil, err
	}
	n := &namer{key: about.key, layout: about.Folders, strict: p.StrictNames,
		same: func(a, b *svgFile) bool { return sameContent(t, dir, a, b) }}
	packs, err := n.assign(w.files)
	if err != nil {
		return nil, fmt.Errorf("%w (in the pack %s)", err, about.key)
	}
	if len(packs) == 0 {
		packs[""] = nil
	}
	var all []source
	for _, add := range slices.Sorted(maps.Keys(packs)) {
		f := &folder{info: about, tree: t, name: dir, files: packs[add], naming: fmt.Sprint("names/1 ", about.Folders, p.StrictNames)}
		if add != "" {
			f.key += "-" + add
			f.Name = cmp.Or(f.Name, about.key) + " " + title(add)
			f.raw = withName(f.raw, f.Name)
		}
		for _, file := range f.files {
			f.bytes += file.size
		}
		all = append(all, f)
	}
	p.note(w, n, all)
	return all, nil
}

// folderName returns the name of a folder in a tree, or of the folder of the tree.
func folderName(t *tree, dir string) string {
	if dir != "." {
		return path.Base(dir)
	}
	if t.name != "" {
		return t.name
	}
	if whole, err := filepath.Abs(t.path); err == nil {
		return filepath.Base(whole)
	}
	return filepath.Base(t.path)
}

// sameContent reports whether two files have the same bytes.
func sameContent(t *tree, dir string, a, b *svgFile) bool {
	if a.size != b.size || a.omitted != "" || b.omitted != "" {
		return false
	}
	x, err := fs.ReadFile(t, path.Join(dir, a.path))
	if err != nil {
		return false
	}
	y, err := fs.ReadFile(t, path.Join(dir, b.path))
	return err == nil && bytes.Equal(x, y)
}

// note adds lines about the folders, the mended names and the files left unread to the summary,
// because the operator can't see these from the icons.
func (p *publication) note(w *walk, n *namer, packs []source) {
	key := n.key
	if of, to, dirs := exampleOfFolders(n, packs); dirs > 0 {
		p.notef("folders", "%s: %s, %s, such as %s: %s", key, counted(dirs, "folder"), n.layout, printable(of), to)
	}
	mended, example := 0, ""
	for _, s := range packs {
		for _, f := range s.(*folder).files {
			if f.spelled == "" || f.omitted != "" {
				continue
			}
			if mended++; example == "" {
				example = printable(f.spelled) + ": " + f.name
			}
		}
	}
	if mended > 0 {
		p.notef("mended", "%s: %s, such as %s", key, counted(mended, "name"), example)
	}
	if len(w.aside) > 0 {
		p.notef("not read", "%s: %s, because the pack has other SVG files", key, list(w.aside[:min(len(w.aside), maxNamed)], len(w.aside)))
	}
	if len(n.copies) > 0 {
		p.notef("not read", "%s: %s with the name and the content of others, such as %s", key, counted(len(n.copies), "file"),
			printable(n.copies[0]))
	}
	for _, dir := range w.packs {
		if w.root == "." && !strings.Contains(dir, "/") {
			continue // openFolders opens it
		}
		p.notef("not read", "%s: %s, a pack of its own: name it as a SOURCE", key, printable(dir))
	}
	for _, dir := range w.links {
		p.notef("not read", "%s: %s, a link to a folder", key, printable(dir))
	}
}

// exampleOfFolders returns a file whose folders are in its name or in that of its pack, with that
// name, and the number of such folders.
func exampleOfFolders(n *namer, packs []source) (of, to string, dirs int) {
	seen := map[string]bool{}
	clear := false // the folder changes the name in the example
	for _, s := range packs {
		for _, f := range s.(*folder).files {
			dir := f.folder()
			if f.omitted != "" || seen[dir] || len(n.parts(dir)) == 0 {
				continue
			}
			seen[dir] = true
			if plain := n.layout != FoldersIgnore && f.pack == "" && f.name == spelling.Mend(f.stem()); of == "" || !plain && !clear {
				clear, of, to = !plain, f.path, f.name
				if f.pack != "" {
					to = s.about().key + "/" + f.name
				}
			}
		}
	}
	return of, to, len(seen)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(n) + " " + what + "s"
}

func (f *folder) about() *info { return &f.info }
func (f *folder) size() int64  { return f.bytes }

func (f *folder) digest(ctx context.Context, w io.Writer) error {
	fmt.Fprintln(w, f.naming)
	for _, file := range f.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%q %q %d\n", file.path, file.name, file.size); err != nil {
			return err
		}
		if reason := file.omitted; reason != "" {
			fmt.Fprintln(w, reason)
			continue
		}
		if err := f.tree.copyTo(w, path.Join(f.name, file.path)); err != nil {
			return fmt.Errorf("%w: %w", ErrSource, err)
		}
	}
	return nil
}

func (f *folder) read(ctx context.Context) (*set, error) {
	s := &set{}
	for _, file := range f.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if reason := file.omitted; reason != "" {
			s.omit(file.path, reason)
			continue
		}
		var tags []string
		if other := file.spelling(); other != "" {
			tags = []string{other}
		}
		s.icons = append(s.icons, rawIcon{name: file.name, tags: tags, clean: func() (svg.Icon, error) {
			doc, err := fs.ReadFile(f.tree, path.Join(f.name, file.path))
			if err != nil {
				return svg.Icon{}, fmt.Errorf("%w: %w", ErrSource, err)
			}
			return svg.CleanDocument(doc, f.Palette.keeps(file.name))
		}})
	}
	slices.SortFunc(s.icons, func(a, b rawIcon) int { return cmp.Compare(a.name, b.name) })
	return s, nil
}

func countSVG(entries []fs.DirEntry) (n int) {
	for _, e := range entries {
		if isSVG(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n
}

// title returns a name for people: "simple-icons" is "Simple Icons".
func title(name string) string {
	words := strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_./@", r) {
			return ' '
		}
		return r
	}, name))
	for i, word := range words {
		first, size := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToUpper(first)) + word[size:]
	}
	return strings.Join(words, " ")
}
