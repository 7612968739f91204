package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

// tarballOf makes an npm package of headers, whose names are paths and whose contents are in
// Linkname unless they are links.
func tarballOf(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		text := ""
		if h.Typeflag == 0 {
			h.Typeflag, text, h.Linkname = tar.TypeReg, h.Linkname, ""
		}
		h.Mode, h.Size = 0o644, int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A hostile archive writes nothing outside of its folder, and only files that are read.
func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	tarball := filepath.Join(dir, "p.tgz")
	deep := "package/" + strings.Repeat("d/", maxDepth) + "deep.svg"
	err := os.WriteFile(tarball, tarballOf(t,
		tar.Header{Name: "package/package.json", Linkname: `{}`}, tar.Header{Name: "package/icons/home.svg", Linkname: square},
		tar.Header{Name: "package/LICENSE", Linkname: "MIT"}, tar.Header{Name: "package/json/mdi.json", Linkname: "{}"},
		tar.Header{Name: "package/index.js", Linkname: "x"}, tar.Header{Name: "package/lib/data.json", Linkname: "{}"},
		tar.Header{Name: "package/../../out.svg", Linkname: square}, tar.Header{Name: "../../out.svg", Linkname: square},
		tar.Header{Name: "/etc/out.svg", Linkname: square}, tar.Header{Name: "package//abs/out.svg", Linkname: square},
		tar.Header{Name: "package/link", Typeflag: tar.TypeSymlink, Linkname: "../.."},
		tar.Header{Name: "package/link/out.svg", Linkname: square},
		tar.Header{Name: "package/a.svg", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		tar.Header{Name: deep, Linkname: square}, tar.Header{Name: "package/icons/home.svg", Linkname: square + "2"},
	), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(dir, "a", "b", "package")
	if err := os.MkdirAll(filepath.Dir(into), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), tarball, into); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(into, path)
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	want := []string{"LICENSE", "icons/home.svg", "json/mdi.json", "link/out.svg", "etc/out.svg", "package.json", "../../../p.tgz"}
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("unpacked %q, %v; want %q", got, err, want)
	}
	for _, damaged := range [][]byte{nil, []byte("x"), tarballOf(t, tar.Header{Name: "package/a.svg", Linkname: square})[:60]} {
		if err := os.WriteFile(tarball, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpack(t.Context(), tarball, filepath.Join(dir, "damaged", time.Now().String())); err == nil {
			t.Errorf("%d bytes of an archive were unpacked", len(damaged))
		}
	}
}

// fakeNPM puts a program npm on PATH. It has the packages in the folder packages, as NAME.tgz with
// the @ and / of a scope left out, and writes its arguments into the file calls.
func fakeNPM(t *testing.T, packages map[string][]byte) (calls string) {
	t.Helper()
	dir := t.TempDir()
	for name, tarball := range packages {
		if err := os.WriteFile(filepath.Join(dir, name+".tgz"), tarball, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls = filepath.Join(dir, "calls")
	const script = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
while [ "$1" != -- ]; do [ "$1" = --pack-destination ] && to=$2; shift; done
file=$(dirname "$0")/$(echo "$2" | tr -d '@/').tgz
if [ -f "$file" ]; then cp "$file" "$to"; else
  printf 'npm error code E404\nnpm error 404 Not Found - GET https://registry.example/%s\n' "$2" >&2
  echo 'npm error A complete log of this run' >&2; exit 1
fi
`
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return calls
}

// An npm package is a source: from a folder node_modules, or fetched by the program npm.
func TestNPM(t *testing.T) {
	pkg := func(name string) string {
		return `{"name":"` + name + `","version":"1.62.0","license":"ISC","author":"Ada"}`
	}
	calls := fakeNPM(t, map[string][]byte{
		"lucide-static1.62.0": tarballOf(t, tar.Header{Name: "package/package.json", Linkname: pkg("lucide-static")},
			tar.Header{Name: "package/icons/home.svg", Linkname: square}),
		"tablericons": tarballOf(t, tar.Header{Name: "package/package.json", Linkname: pkg("@tabler/icons")},
			tar.Header{Name: "package/icons/outline/home.svg", Linkname: square},
			tar.Header{Name: "package/icons/filled/home.svg", Linkname: square}),
	})
	project := writeFiles(t, t.TempDir(), map[string]string{
		"node_modules/@mdi/svg/package.json": pkg("@mdi/svg"), "node_modules/@mdi/svg/svg/home.svg": square, "sub/x": "",
	})
	t.Chdir(filepath.Join(project, "sub"))
	b, work := objectstore.Dir(t.TempDir()), t.TempDir()
	sum, err := Publish(t.Context(), Options{Sources: []string{"npm:lucide-static@1.62.0", "own=npm:@tabler/icons", "npm:@mdi/svg@1.62.0"},
		Tags: noTags, Store: b, Now: t0, Work: work})
	if err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, work)
	var got []string
	for ref := range whole(t, b).metas {
		got = append(got, ref.String())
	}
	if want := "lucide-static/home mdi/home own/home-filled own/home-outline"; sortedText(got) != want {
		t.Errorf("%s, want %s", sortedText(got), want)
	}
	if text := notesOf(sum); !strings.Contains(text, filepath.Join("node_modules", "@mdi", "svg")+", version 1.62.0") {
		t.Errorf("the notes are %q", text)
	}
	said, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(said), "--ignore-scripts") != 2 || strings.Contains(string(said), "mdi") {
		t.Errorf("npm was called with %s, %v", said, err)
	}
	// Another version than the one there, and what is no package.
	for spec, want := range map[string]string{
		"@mdi/svg@2.0.0": "E404; 404 Not Found", "none": "E404", "../x": "it has the form", "--flag": "it has the form",
		"a@file:/etc":               "it has the form",
		"git+https://example.org/x": "it has the form", "a/b": "it has the form", "": "it has the form", "A": "it has the form",
	} {
		_, err := Publish(t.Context(), Options{Sources: []string{"npm:" + spec}, Tags: noTags, Store: b, Now: t0, Work: work})
		if !errors.Is(err, ErrNPM) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("npm:%s: %v, want %q", spec, err, want)
		}
		checkEmpty(t, work)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := (&publication{Options: Options{Progress: silent{}}, work: work}).download(t.Context(), "none"); !errors.Is(err, ErrNPM) ||
		!strings.Contains(err.Error(), "not on PATH") {
		t.Errorf("without npm: %v", err)
	}
}

// The operator interrupts npm.
func TestNPMStops(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	p := &publication{Options: Options{Progress: &stopper{left: 1, stop: cancel}}, work: t.TempDir()}
	if _, err := p.download(ctx, "slow"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
