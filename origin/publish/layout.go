package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/spelling"
)

// Values of "folders" in a pack.json, and of Options.Folders. They decide how the folders within a
// pack change the names of its icons.
const (
	FoldersSuffix = "suffix" // outline/home.svg is home-outline
	FoldersPrefix = "prefix" // outline/home.svg is outline-home
	FoldersIgnore = "ignore" // outline/home.svg is home
	FoldersPacks  = "packs"  // outline/home.svg is home of the pack KEY-outline
)

// Layouts lists the values of "folders".
var Layouts = []string{FoldersSuffix, FoldersPrefix, FoldersIgnore, FoldersPacks}

// wrappers has the folders that say nothing about their icons. Those that setAside has are in it
// too: they count if all the icons of a pack are in them.
var wrappers = map[string]bool{
	"svg": true, "svgs": true, "icon": true, "icons": true, "asset": true, "assets": true, "dist": true, "build": true,
	"lib": true, "out": true, "output": true, "export": true, "exports": true, "img": true, "image": true, "images": true,
	"public": true, "static": true, "package": true, "files": true, "optimized": true,
}

// A namer names the icons of a pack by their files and folders.
type namer struct {
	key    string // of the pack; a folder whose name is in it adds nothing
	layout string
	strict bool // refuse a name that is not valid instead of mending it
	dirs   map[string]*within
	same   func(a, b *svgFile) bool // whether two files have the same content

	copies []string // files with the name and the content of another one
}

// within counts the files of a folder, and names the folders in it, on the way to SVG files.
type within struct {
	files   int
	folders map[string]bool
}

// An address is the pack of an icon, whose key may contain folders, and the name of the icon.
type address struct{ pack, name string }

// assign gives each file the name of its icon, or the reason to leave it out. The result has the
// files of each pack, by the folders that the key of the pack contains.
func (n *namer) assign(files []*svgFile) (map[string][]*svgFile, error) {
	n.survey(files)
	for _, f := range files {
		n.place(f, n.parts(f.folder()))
	}
	for _, f := range n.clashing(files) { // the name has a part of the folders already
		if parts := n.parts(f.folder()); len(n.lacking(f, parts)) < len(parts) {
			n.placeWhole(f, parts)
		}
	}
	for _, f := range n.clashing(files) { // a part of the folders says nothing
		n.place(f, strings.Split(f.folder(), "/"))
	}
	if err := n.settle(files); err != nil {
		return nil, err
	}
	packs := map[string][]*svgFile{}
	for _, f := range files {
		if f.copy {
			n.copies = append(n.copies, f.path)
		} else {
			packs[f.pack] = append(packs[f.pack], f)
		}
	}
	return packs, nil
}

// clashing returns the files that would have the name of one in another folder, which has another
// content.
func (n *namer) clashing(files []*svgFile) (all []*svgFile) {
	groups := map[address][]*svgFile{}
	for _, f := range files {
		groups[address{f.pack, f.name}] = append(groups[address{f.pack, f.name}], f)
	}
	differ := map[address]bool{}
	for at, group := range groups {
		differ[at] = slices.ContainsFunc(group[1:], func(o *svgFile) bool { return !n.same(o, group[0]) })
	}
	for _, f := range files {
		if differ[address{f.pack, f.name}] {
			all = append(all, f)
		}
	}
	return all
}

// survey fills n.dirs: for each folder, its files and its folders.
func (n *namer) survey(files []*svgFile) {
	n.dirs = map[string]*within{}
	at := func(dir string) *within {
		if n.dirs[dir] == nil {
			n.dirs[dir] = &within{folders: map[string]bool{}}
		}
		return n.dirs[dir]
	}
	for _, f := range files {
		dir := f.folder()
		at(dir).files++
		for dir != "" {
			at(above(dir)).folders[path.Base(dir)] = true
			dir = above(dir)
		}
	}
}

// parts returns the folders of a path that say something about the icons in them. A folder says
// nothing if it is a wrapper, or if all icons are in its folders: it has none itself, and nothing
// beside it.
func (n *namer) parts(dir string) (parts []string) {
	if dir == "" {
		return nil
	}
	up := ""
	for name := range strings.SplitSeq(dir, "/") {
		here := path.Join(up, name)
		of, beside := n.dirs[here], n.dirs[up]
		up = here
		holdsAll := of.files+beside.files == 0 && len(beside.folders) == 1
		if !holdsAll && !n.isWrapper(name) {
			parts = append(parts, name)
		}
	}
	return parts
}

func (n *namer) isWrapper(name string) bool {
	small := strings.ToLower(name)
	return wrappers[small] || setAside[small] || strings.Contains("-"+n.key+"-", "-"+spelling.Mend(name)+"-")
}

// place names a file and its pack by the file's own name and by parts of its folders. It leaves out
// a part that the name has already.
func (n *namer) place(f *svgFile, parts []string) { n.placeWhole(f, n.lacking(f, parts)) }

// placeWhole is place for all parts.
func (n *namer) placeWhole(f *svgFile, parts []string) {
	f.pack, f.name, f.spelled, f.raw = "", "", "", ""
	parts = slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return spelling.Mend(part) == "" })
	stem := f.stem()
	name := spelling.Mend(stem)
	if name == "" {
		return
	}
	mended := make([]string, len(parts))
	for i, part := range parts {
		mended[i] = spelling.Mend(part)
	}
	join := func(name string, parts []string) string {
		switch {
		case len(parts) == 0 || n.layout == FoldersIgnore || n.layout == FoldersPacks:
			return name
		case n.layout == FoldersPrefix:
			return strings.Join(parts, "-") + "-" + name
		}
		return name + "-" + strings.Join(parts, "-")
	}
	if n.layout == FoldersPacks {
		f.pack = strings.Join(mended, "-")
	}
	f.name = spelling.Mend(join(name, mended)) // which shortens it
	f.raw = join(stem, parts)
	if !icon.ValidKey(stem) {
		f.spelled = join(stem, mended)
	}
}

// lacking returns the parts that the name of a file does not have already, at its end or at its
// beginning.
func (n *namer) lacking(f *svgFile, parts []string) (rest []string) {
	if n.layout != FoldersSuffix && n.layout != FoldersPrefix {
		return parts
	}
	name, rest := spelling.Mend(f.stem()), slices.Clone(parts)
	for cut := true; cut; {
		cut = false
		for i, part := range rest {
			part = spelling.Mend(part)
			before, ends := strings.CutSuffix("-"+name, "-"+part)
			after, begins := strings.CutPrefix(name+"-", part+"-")
			if !ends && !begins {
				continue
			}
			if !ends || begins && n.layout == FoldersPrefix {
				before = after
			}
			name, rest, cut = strings.Trim(before, "-"), slices.Delete(rest, i, i+1), true
			break
		}
	}
	return rest
}

// settle finds the files that would still have one name. Of files of one folder, that with the
// exact name has it, or the first; the others are left out. A file with the same content is a
// copy. Files of different folders clash, which is an error that names both.
func (n *namer) settle(files []*svgFile) error {
	taken := map[address]*svgFile{}
	mended := func(f *svgFile) int {
		if f.spelled == "" {
			return 0
		}
		return 1
	}
	var clash error
	more := 0
	for _, f := range slices.SortedStableFunc(slices.Values(files), func(a, b *svgFile) int { return mended(a) - mended(b) }) {
		at := address{f.pack, f.name}
		switch other := taken[at]; {
		case f.omitted != "":
		case f.name == "":
			f.omitted = "its name has nothing to make a name of"
		case n.strict && f.raw != f.name:
			f.omitted = badName(f.raw) + rename(f)
		case other == nil:
			taken[at] = f
		case n.same(f, other):
			f.copy = true
		case f.folder() == other.folder():
			f.omitted = fmt.Sprintf("its mended name %s is that of %s: rename one of them", f.name, printable(other.path))
		case clash == nil:
			clash = fmt.Errorf("both %s and %s would be the icon %s", printable(other.path), printable(f.path), f.name)
		default:
			more++
		}
	}
	if clash == nil {
		return nil
	}
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (and %s more such pairs)", grouped(more))
	}
	return fmt.Errorf("%w: %w%s: rename one, or set \"folders\" in %s or --folders to one of %s", ErrClash, clash, others, packFileName,
		strings.Join(Layouts, ", "))
}

// rename says which valid name a file could have, such as icon-home-size-24.svg for a file that
// Figma names "Icon=Home, Size=24.svg".
func rename(f *svgFile) string {
	if icon.ValidKey(f.stem()) {
		return ": rename its folder, or leave out --strict-names"
	}
	return ": rename the file to " + spelling.Mend(f.stem()) + ".svg, or leave out --strict-names"
}
