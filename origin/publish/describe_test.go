package publish

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

const mitText = "The MIT License (MIT)\n\nCopyright (c) 2019-2024 Ada Lovelace <ada@example.org>\n\n" +
	"Permission is hereby granted, free of charge, to any person obtaining a copy\n" +
	"of this software …\nin all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED"

// notesOf returns the notes of a summary, a line each.
func notesOf(s Summary) string {
	var lines []string
	for _, n := range s.Notes {
		lines = append(lines, n.Kind+" "+n.Text)
	}
	return strings.Join(lines, "\n")
}

func sortedText(words []string) string { return strings.Join(slices.Sorted(slices.Values(words)), " ") }

func TestPackageKey(t *testing.T) {
	for name, want := range map[string]string{
		"lucide-static": "lucide-static", "@tabler/icons": "tabler", "@mdi/svg": "mdi", "@phosphor-icons/core": "phosphor-icons",
		"@fluentui/svg-icons": "fluentui", "@primer/octicons": "octicons", "@lobehub/icons-static-svg": "lobehub",
		"@carbon/pictograms": "pictograms", "css.gg": "css-gg", "typicons.font": "typicons-font", "": "",
	} {
		if got := packageKey(name); got != want {
			t.Errorf("packageKey(%q) = %q, want %q", name, got, want)
		}
	}
}

// The description of a pack comes from what a folder says about itself.
func TestDraft(t *testing.T) {
	for _, tt := range []struct {
		why, pkg, licence string
		want              string // key, name, author, address, licence, version
		review            string // the points to review
	}{
		{"all in package.json", `{"name":"@tabler/icons","version":"3.1.0","license":"MIT","author":"codecalm (https://codecalm.net)"}`, "",
			"tabler, Tabler Icons, codecalm, https://codecalm.net, MIT, 3.1.0", ""},
		{"a scope that says nothing more", `{"name":"@primer/octicons","license":"MIT","author":"GitHub"}`, "",
			"octicons, Octicons, GitHub, , MIT, ", ""},
		{"an author without an address", `{"name":"a","license":"ISC","author":{"name":"Ada"},"homepage":"https://example.org"}`, "",
			"a, A, Ada, https://example.org, ISC, ", ""},
		{"an expression", `{"name":"a","license":"(CC-BY-4.0 AND OFL-1.1 AND MIT)","author":"F"}`, "",
			"a, A, F, , (CC-BY-4.0 AND OFL-1.1 AND MIT), ", ""},
		{"licences of earlier versions of npm", `{"name":"a","licenses":[{"type":"MIT License"},{"type":"SIL OFL 1.1"}],"author":"F"}`, "",
			"a, A, F, , MIT AND OFL-1.1, ", ""},
		{"a list", `{"name":"a","license":["MIT","CC-BY-4.0"],"author":"F"}`, "", "a, A, F, , MIT AND CC-BY-4.0, ", ""},
		{"the LICENSE file", `{"name":"a"}`, mitText, "a, A, Ada Lovelace, , MIT, ", "author"},
		{"a reference to the LICENSE file", `{"name":"a","license":"SEE LICENSE IN LICENSE.md"}`, mitText,
			"a, A, Ada Lovelace, , MIT, ", "author"},
		{"an unknown licence beside a file", `{"name":"a","license":"IconScout Simple License","author":"I"}`, mitText,
			"a, A, I, , , ", "license"},
		{"nothing is allowed", `{"name":"a","license":"UNLICENSED","author":"I"}`, "", "a, A, I, , , ", "license"},
		{"contributors", `{"name":"a","license":"MIT","contributors":[{"name":"B"},{"name":"C"}]}`, "", "a, A, B, , MIT, ", ""},
		{"members of other types", `{"name":"a","license":"MIT","author":[1],"homepage":{"url":"x"}}`, "", "a, A, , , MIT, ", "author"},
		{"no package.json", "", mitText, ", Our Icons, Ada Lovelace, , MIT, ", "author name"},
		{"nothing at all", "", "", ", Our Icons, , , , ", "license author name"},
		{"control characters", `{"name":"a","license":"MIT","author":"A\u001b[2J","version":"1\n2"}`, "", "a, A, A [2J, , MIT, 1 2", ""},
	} {
		content := map[string]string{"our-icons/a.svg": square}
		if tt.pkg != "" {
			content["our-icons/package.json"] = tt.pkg
		}
		if tt.licence != "" {
			content["our-icons/LICENSE"] = tt.licence
		}
		p := &publication{}
		tree, err := p.openTree(t.Context(), writeFiles(t, t.TempDir(), content))
		if err != nil {
			t.Fatal(err)
		}
		d, err := draftOf(tree, "our-icons")
		p.closeTrees()
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		var in info
		if err := json.Unmarshal(d.Content, &in); err != nil {
			t.Fatal(err)
		}
		got := strings.Join([]string{d.key, in.Name, in.Author.Name, in.Author.URL, in.License.SPDX, in.Version}, ", ")
		var points []string
		for _, point := range d.Review {
			points = append(points, strings.SplitN(point, ":", 2)[0])
		}
		if got != tt.want || strings.Join(points, " ") != tt.review {
			t.Errorf("%s: %s; review %q; want %s; review %q", tt.why, got, points, tt.want, tt.review)
		}
	}
}

func TestCopyrightHolder(t *testing.T) {
	for text, want := range map[string]string{
		"Copyright (c) 2020 Ada Lovelace": "Ada Lovelace", "Copyright 2013-present Cole Bemis": "Cole Bemis",
		"copyright © 2019–2024, Ada and others. All rights reserved.": "Ada and others",
		"   Copyright [yyyy] [name of copyright owner]":               "", "copyright notice and this permission notice": "", "": "",
		"Copyright (c) for portions of Lucide are held by Cole Bemis 2013-2022 as part of Feather (MIT). All other copyright is": "",
	} {
		if got := copyrightHolder(text); got != want {
			t.Errorf("copyrightHolder(%q) = %q, want %q", text, got, want)
		}
	}
}

// Init writes a pack.json once, by which the folder is then published.
func TestInit(t *testing.T) {
	dir := writeFiles(t, filepath.Join(t.TempDir(), "My Icons"),
		map[string]string{"a.svg": square, "outline/b.svg": square, "LICENSE": mitText})
	d, err := Init(t.Context(), dir)
	if err != nil || d.Icons != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	written, err := os.ReadFile(filepath.Join(dir, "pack.json"))
	if err != nil || string(written) != d.Content || d.Path != filepath.Join(dir, "pack.json") {
		t.Errorf("%s, %v; want %s", written, err, d.Content)
	}
	if again, err := Init(t.Context(), dir); !errors.Is(err, ErrDescribed) || !strings.Contains(err.Error(), d.Path) {
		t.Errorf("Init again: %+v, %v", again, err)
	}
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, dir)
	m := whole(t, b)
	if p := m.Packs[0]; p.Pack.Key != "my-icons" || p.Attribution != "My Icons by Ada Lovelace, MIT" || p.Icons != 2 {
		t.Errorf("%+v", p)
	}
	if _, err := Init(t.Context(), t.TempDir()); !errors.Is(err, ErrSource) {
		t.Errorf("a folder without icons: %v", err)
	}
	if _, err := Init(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, ErrNoSource) {
		t.Errorf("no folder: %v", err)
	}
	// A link is not followed out of the folder.
	out := filepath.Join(t.TempDir(), "out.json")
	linked := writeFiles(t, t.TempDir(), map[string]string{"a.svg": square, "pack.json": "-> " + out})
	if _, err := Init(t.Context(), linked); err == nil {
		t.Error("a link in the place of pack.json was written")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("Init wrote outside of the folder")
	}
}

// A folder with a package.json is a source, in its package's words, and so are the folders beside
// each other that have one.
func TestPackages(t *testing.T) {
	pkg := func(name, licence string) string {
		return `{"name":"` + name + `","version":"1.2.3","license":"` + licence + `","author":"Ada"}`
	}
	one := writeFiles(t, t.TempDir(), map[string]string{
		"package.json": pkg("@tabler/icons", "MIT"), "icons.json": `{"home":{}}`,
		"icons/outline/home.svg": square, "icons/filled/home.svg": square,
		"node_modules/x/y.svg": square, ".cache/z.svg": square, "src/home.svg": square, "docs/images/a.svg": square,
	})
	several := writeFiles(t, t.TempDir(), map[string]string{
		"a/package.json": pkg("lucide-static", "ISC"), "a/icons/home.svg": square, "b/pack.json": mit, "b/home.svg": square,
		"notes/images/a.svg": square,
	})
	b := objectstore.Dir(t.TempDir())
	sum, err := Publish(t.Context(), Options{Sources: []string{one, "named=" + filepath.Join(several, "b"), filepath.Join(several, "a")},
		Tags: noTags, Store: b, Now: t0, Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	m := whole(t, b)
	var got []string
	for ref := range m.metas {
		got = append(got, ref.String())
	}
	if want := "lucide-static/home named/home tabler/home-filled tabler/home-outline"; sortedText(got) != want {
		t.Errorf("%s, want %s", sortedText(got), want)
	}
	if p, ok := m.Pack("tabler"); !ok || p.Name != "Tabler Icons" || p.Version != "1.2.3" || p.License != "MIT" || p.Author != "Ada" {
		t.Errorf("%+v", p)
	}
	if text := notesOf(sum); !strings.Contains(text, "not read tabler: docs (1 SVG file), src (1 SVG file)") {
		t.Errorf("the notes are %q", text)
	}
	if sum := mustPublish(t, objectstore.Dir(t.TempDir()), t0, several); sum.Packs != 2 || len(sum.Warnings) != 1 {
		t.Errorf("a folder with a pack.json beside others: %+v", sum)
	}
}

// "folders": "packs" makes a pack of each folder.
func TestFoldersAsPacks(t *testing.T) {
	dir := writeFiles(t, t.TempDir(), map[string]string{
		"ours/pack.json":        `{"name":"Ours","license":"MIT","folders":"packs"}`,
		"ours/outline/home.svg": square, "ours/solid/home.svg": square,
	})
	b := objectstore.Dir(t.TempDir())
	sum := mustPublish(t, b, t0, dir)
	m := whole(t, b)
	if p, ok := m.Pack("ours-outline"); len(m.Packs) != 2 || !ok || p.Name != "Ours Outline" || p.Icons != 1 {
		t.Errorf("%d packs, %+v", len(m.Packs), p)
	}
	if text := notesOf(sum); !strings.Contains(text, "ours: 2 folders, packs, such as outline/home.svg: ours-outline/home") {
		t.Errorf("the notes are %q", text)
	}
	writeFiles(t, dir, map[string]string{"ours/pack.json": `{"name":"Ours","license":"MIT","folders":"sideways"}`})
	_, err := Publish(t.Context(), Options{Sources: []string{dir}, Tags: noTags, Store: b, Now: t0, Work: t.TempDir()})
	if !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "suffix, prefix, ignore, packs, not sideways") {
		t.Errorf("an unknown layout: %v", err)
	}
}

// The old spelling of a name is a tag of its icon.
func TestSpellings(t *testing.T) {
	dir := writeFiles(t, t.TempDir(), map[string]string{
		"p/pack.json": mit, "p/Arrow Left.svg": square, "p/Größe.svg": square, "p/home.svg": square, "p/a\x1bb.svg": square,
		`p/c\d.svg`:          square,
		"p/Outlined/EC2.svg": square,
	})
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, dir)
	tags := map[string]string{}
	for ref, m := range whole(t, b).metas {
		tags[ref.Name] = strings.Join(m.Tags, ",")
	}
	for name, want := range map[string]string{"arrow-left": "Arrow Left", "grosse": "Größe", "home": "", "a-b": "", "c-d": "",
		"ec2-outlined": "EC2-outlined"} {
		if got, there := tags[name]; got != want || !there {
			t.Errorf("%s: tags %q, %v; want %q; all: %q", name, got, there, want, tags)
		}
	}
}

// A pack that can't be published does not stop the others, unless the operator wants that, or the
// release would lose a pack.
func TestFailures(t *testing.T) {
	good := drawn("good", "1", "home")
	bad := map[string]string{
		"clash/pack.json": `{"name":"C","license":"MIT","folders":"ignore"}`, "clash/a/home.svg": square, "clash/b/home.svg": square + " ",
		"bare/home.svg": square, "broken/pack.json": "{", "empty/pack.json": mit, "empty/a.svg": "not an icon",
		"worded/pack.json": `{"license":"<b>"}`, "worded/a.svg": square,
	}
	dir := writeFiles(t, writeFiles(t, t.TempDir(), good), bad)
	b := objectstore.Dir(t.TempDir())
	try := func(opt Options) (Summary, error) {
		opt.Sources, opt.Tags, opt.Store, opt.Now, opt.Work = []string{dir}, noTags, b, t0, t.TempDir()
		return Publish(t.Context(), opt)
	}
	if _, err := try(Options{FailFast: true}); err == nil {
		t.Error("--fail-fast: published")
	}
	if c, _, err := readCurrent(t.Context(), b); err != nil || c.Release != "" {
		t.Errorf("--fail-fast: current is %+v, %v", c, err)
	}
	sum, err := try(Options{})
	for _, want := range []error{ErrClash, ErrSource, ErrEmptyPack, ErrNoLicense, ErrNoPackFile} {
		if !errors.Is(err, want) {
			t.Errorf("the error %v is not %v", err, want)
		}
	}
	if m := whole(t, b); len(m.Packs) != 1 || m.ID != sum.Release || len(sum.Failed) != 5 {
		t.Errorf("%d packs, %d failed; want 1 and 5: %v", len(m.Packs), len(sum.Failed), err)
	}
	for _, one := range strings.Split(err.Error(), "\n") {
		if strings.Count(one, ErrSource.Error()) > 1 {
			t.Errorf("the error repeats itself: %s", one)
		}
	}
	var out strings.Builder
	if err := sum.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"failed    clash: ", "both a/home.svg and b/home.svg", "failed    empty: ", "now current"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}
	// The pack was published before, so that the release would remove it.
	before := sum.Release
	writeFiles(t, dir, map[string]string{"good/pack.json": "{", "other/pack.json": mit, "other/a.svg": square})
	if sum, err = try(Options{}); !errors.Is(err, ErrRemoval) || !sum.Refused || whole(t, b).ID != before {
		t.Errorf("a failed pack of the current release: %v, %+v", err, sum)
	}
	if sum, err = try(Options{AllowRemoval: true, Now: t0.Add(time.Hour)}); err == nil || errors.Is(err, ErrRemoval) || sum.Refused {
		t.Errorf("with --allow-removal: %v", err)
	}
}
