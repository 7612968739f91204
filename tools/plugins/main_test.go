package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"strings"
	"testing"
)

// TestPackages: each package has a licence, a README with a picture, and the version; it stays
// within its size; two builds give the same bytes.
func TestPackages(t *testing.T) {
	built, err := numbers("../..", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plugins {
		first, err := p.build("../..", "1.2.3")
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "/build/") {
			t.Logf("SKIPPED: %s: node clients/build.mjs has not built it", p.name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if second, err := p.build("../..", "1.2.3"); err != nil || !maps.EqualFunc(first, second, bytes.Equal) {
			t.Errorf("%s: two builds differ, %v", p.name, err)
		}
		files := unpack(t, p.name, first)
		for name, text := range files {
			if strings.HasSuffix(name, ".map") || strings.Contains(name, "node_modules") || strings.Contains(text, "sourceMappingURL") {
				t.Errorf("%s has %s, or a source map", p.name, name)
			}
		}
		readme, licence := "", false
		for name, text := range files {
			readme += map[bool]string{true: text}[strings.HasSuffix(strings.ToLower(name), "readme.md")]
			licence = licence || strings.Contains(name, "LICENSE") && strings.Contains(text, "Apache License")
		}
		// A package that clients/build.mjs made has the version of that build.
		version, count := "1.2.3", len(p.files)
		if p.files[""] != "" {
			version, count = built, len(files)
		}
		if len(files) != count || !licence || !strings.Contains(readme, version) || !strings.Contains(readme, ".png)") {
			t.Errorf("%s: %d files, licence %v, README:\n%s", p.name, len(files), licence, readme)
		}
	}
}

// unpack returns the files of a package by their names in it.
func unpack(t *testing.T, name string, built map[string][]byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	if strings.HasSuffix(name, "/") {
		for path, data := range built {
			files[strings.TrimPrefix(path, name)] = string(data)
		}
		return files
	}
	data := built[name]
	read := func(name string, r io.Reader, err error) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if !strings.HasSuffix(name, ".tar.gz") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			read(f.Name, r, err)
		}
		return files
	}
	g, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(g); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		read(h.Name, r, nil)
	}
}

func TestNumbers(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "1.2.3+5afd84de6a12.dirty": "1.2.3", "next": ""} {
		if got, err := numbers("../..", version); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", version, got, err)
		}
	}
}
