package publish

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// named assigns names to files, given as paths, or as PATH=CONTENT. It returns "PATH NAME" for each
// file, with the pack before a colon if the folders add to its key, and with a reason in brackets.
func named(t *testing.T, n namer, list ...string) (lines []string, err error) {
	t.Helper()
	content := map[string]string{}
	var all []*svgFile
	for _, each := range list {
		name, text, _ := strings.Cut(each, "=")
		all = append(all, &svgFile{path: name})
		if content[name] = text; text == "" {
			content[name] = name
		}
	}
	if n.layout == "" {
		n.layout = FoldersSuffix
	}
	n.same = func(a, b *svgFile) bool { return content[a.path] == content[b.path] }
	packs, err := n.assign(all)
	for _, add := range slices.Sorted(maps.Keys(packs)) {
		for _, f := range packs[add] {
			name := strings.TrimPrefix(add+":"+f.name, ":")
			if f.omitted != "" {
				name = "(" + f.omitted + ")"
			}
			lines = append(lines, f.path+" "+name)
		}
	}
	slices.Sort(lines)
	return lines, err
}

func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		why   string
		namer namer
		want  string // paths and names, separated by commas
	}{
		{"a flat folder", namer{}, "home.svg home, zoo.svg zoo"},
		{"suffixes", namer{}, "home.svg home, outline/home.svg home-outline"},
		{"prefixes", namer{layout: FoldersPrefix}, "home.svg home, outline/home.svg outline-home"},
		{"folders ignored", namer{layout: FoldersIgnore}, "a/b/zoo.svg zoo, outline/home.svg home"},
		{"packs", namer{layout: FoldersPacks}, "home.svg home, outline/home.svg outline:home, solid/Small/home.svg solid-small:home"},
		{"one folder with icons has its name", namer{}, "outline/home.svg home-outline"},
		{"heroicons", namer{key: "heroicons"}, "16/solid/home.svg home-16-solid, 20/solid/home.svg home-20-solid, " +
			"24/outline/home.svg home-24-outline, 24/solid/home.svg home-24-solid"},
		{"@material-design-icons/svg", namer{}, "filled/arrow_back.svg arrow-back-filled, two-tone/arrow_back.svg arrow-back-two-tone"},
		{"@phosphor-icons/core has the suffix already", namer{},
			"assets/bold/acorn-bold.svg acorn-bold, assets/regular/acorn.svg acorn-regular"},
		{"@tabler/icons", namer{key: "tabler"}, "icons/filled/home.svg home-filled, icons/outline/home.svg home-outline"},
		{"flag-icons: a folder that all icons are in", namer{key: "flag-icons"}, "flags/1x1/de.svg de-1x1, flags/4x3/de.svg de-4x3"},
		{"circle-flags: a folder in the name of the pack", namer{key: "circle-flags"},
			"flags/de.svg de, flags/language/de.svg de-language, logo.svg logo"},
		{"@coreui/icons", namer{}, "svg/brand/cib-github.svg cib-github-brand, svg/free/cil-home.svg cil-home-free"},
		{"devicon has the folder at its beginning", namer{},
			"icons/go/go-original.svg go-original, icons/go/go.svg go, icons/gulp/gulp.svg gulp"},
		{"eva-icons: wrappers within", namer{}, "fill/svg/home.svg home-fill, outline/svg/home-outline.svg home-outline"},
		{"a folder with nothing beside it", namer{}, "all/new/round/home.svg home-round, all/new/sharp/home.svg home-sharp"},
		{"wrappers count where names would clash", namer{}, "assets/home.svg home-assets, home.svg home"},
		{"the part that a name has, counts where names would clash", namer{}, "bold/text-bold.svg text-bold-bold, bold/text.svg text-bold"},
		{"the same with a file beside the folder", namer{}, "outline-home.svg outline-home, outline/home.svg home-outline"},
		{"folders are mended too", namer{}, "Größe 2/Arrow Left.svg arrow-left-grosse-2, home.svg home"},
		{"the extension in capitals", namer{}, "HOME.SVG home"},
		{"a name without letters", namer{}, "!.svg u21, ---.svg (its name has nothing to make a name of), home.svg home"},
		{"ionicons: wrappers count only for what would clash", namer{key: "ionicons"},
			"dist/collection/components/icon/assets/a.svg a-dist-collection-components-icon-assets, " +
				"dist/collection/components/icon/svg/a.svg a-dist-collection-components-icon-svg, dist/svg/a.svg a, dist/svg/b.svg b"},
		{"the exact name wins", namer{},
			"Arrow Back.svg (its mended name arrow-back is that of arrow-back.svg: rename one of them), " +
				"arrow-back.svg arrow-back, arrow_back.svg (its mended name arrow-back is that of arrow-back.svg: rename one of them)"},
		{"of mended names the first wins", namer{},
			"Arrow Back.svg arrow-back, arrow_back.svg (its mended name arrow-back is that of Arrow Back.svg: rename one of them)"},
		{"strict names", namer{strict: true}, "Home_2.svg (its name is not lower-case letters, digits and single hyphens: rename the " +
			"file to home-2.svg, or leave out --strict-names), home.svg home"},
	} {
		var list []string
		for each := range strings.SplitSeq(tt.want, ", ") {
			// Without a file it is a part of a reason.
			if end := strings.Index(strings.ToLower(each), ".svg "); end > 0 {
				list = append(list, each[:end+len(".svg")])
			}
		}
		got, err := named(t, tt.namer, list...)
		if err != nil || strings.Join(got, ", ") != tt.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", tt.why, strings.Join(got, ", "), err, tt.want)
		}
	}
}

// A clash names both files. Files with the same content are no clash, but one icon.
func TestClash(t *testing.T) {
	for _, tt := range []struct {
		layout string
		files  []string
		want   string // in the error; "": none
	}{
		{FoldersIgnore, []string{"outline/home.svg", "solid/home.svg"}, "both outline/home.svg and solid/home.svg would be the icon home"},
		{FoldersIgnore, []string{"outline/home.svg", "solid/Home.svg"}, "both outline/home.svg and solid/Home.svg"},
		{FoldersIgnore, []string{"outline/home.svg=same", "solid/home.svg=same"}, ""},
		{FoldersSuffix, []string{"home-outline.svg", "outline/home.svg"},
			"both home-outline.svg and outline/home.svg would be the icon home-outline"},
		{FoldersSuffix, []string{"home-outline.svg", "outline/home.svg", "zoo-outline.svg", "outline/zoo.svg"}, "(and 1 more such pairs)"},
		{FoldersPacks, []string{"a/b/home.svg", "a-b/home.svg"}, "would be the icon home"},
		{FoldersSuffix, []string{"dist/svg/home.svg=same", "icons/home.svg=same", "build/home.svg=same"}, ""},
	} {
		got, err := named(t, namer{layout: tt.layout}, tt.files...)
		good := err == nil && len(got) == 1
		if tt.want != "" {
			good = errors.Is(err, ErrClash) && strings.Contains(err.Error(), tt.want)
		}
		if !good {
			t.Errorf("%s %q: %q, %v; want %q", tt.layout, tt.files, got, err, tt.want)
		}
	}
}

// Every file has a name of its own or a reason, whatever its path is.
func FuzzLayout(f *testing.F) {
	f.Add("a/home.svg\nb/home.svg\nhome.svg", uint8(0))
	f.Add("svg/a.svg\nicons/a.svg\nA.svg\na_.svg", uint8(1))
	f.Add("bold/text.svg\nbold/text-bold.svg\nbold/text-bold-bold.svg", uint8(0))
	f.Fuzz(func(t *testing.T, paths string, layout uint8) {
		list := slices.Compact(slices.Sorted(strings.SplitSeq(paths, "\n")))
		list = slices.DeleteFunc(list, func(p string) bool {
			return !isSVG(p) || path.Clean("/"+p) != "/"+p || strings.Contains(p, "=")
		})
		n := namer{key: "pack", layout: Layouts[int(layout)%len(Layouts)]}
		got, err := named(t, n, list...)
		if err != nil {
			if !errors.Is(err, ErrClash) {
				t.Fatal(err)
			}
			return
		}
		if len(got) != len(list) {
			t.Fatalf("%d of %d files have a name or a reason", len(got), len(list))
		}
		seen := map[string]string{}
		for i, each := range got {
			name := each[strings.LastIndexByte(each, ' ')+1:]
			if strings.HasSuffix(each, ")") {
				continue
			}
			if other, taken := seen[name]; taken {
				t.Fatalf("%s and %s", other, got[i])
			}
			seen[name] = fmt.Sprint(each)
		}
	})
}
