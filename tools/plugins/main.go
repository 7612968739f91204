// Command plugins builds the packages of the plugins into clients/plugins/dist. The same files and
// version give the same bytes: entries are sorted, and have one time and mode.
//
//	go run -C tools ./plugins ..
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A plugin is one package: files by their names in it, and its largest size in bytes.
type plugin struct {
	name string // that of a folder ends with a slash
	// files leads from the name in the package to the path in the repository. An empty name is that
	// of a whole package, which clients/build.mjs has made.
	files map[string]string
	most  int
}

var plugins = []plugin{
	{"iconedge-inkscape.zip", map[string]string{
		"iconedge.inx": "clients/inkscape/iconedge.inx", "iconedge.py": "clients/inkscape/iconedge.py",
		"README.md": "clients/inkscape/README.md", "window.png": "clients/inkscape/window.png", "LICENSE": "LICENSE",
	}, 20 << 10},
	{"iconedge-chromium.zip", browser("chromium"), 80 << 10},
	{"iconedge-firefox.xpi", browser("firefox"), 80 << 10},
	{"iconedge-vscode.vsix", map[string]string{"": "clients/vscode/build/iconedge-vscode.vsix"}, 120 << 10},
	{"iconedge-figma.zip", design("figma", "code.js", "manifest.json", "ui.html"), 60 << 10},
	{"iconedge-penpot/", design("penpot", "plugin.js", "manifest.json", "ui.html", "icon.png"), 120 << 10},
	{"raycast/", map[string]string{
		"package.json": "clients/raycast/build/package.json", "search.js": "clients/raycast/build/search.js",
		"assets/icon.png": "clients/raycast/build/assets/icon.png", "README.md": "clients/raycast/README.md", "LICENSE": "LICENSE",
	}, 80 << 10},
	{"iconedge.alfredworkflow", map[string]string{
		"info.plist": "clients/alfred/info.plist", "icon.png": "clients/alfred/icon.png",
		"README.md": "clients/alfred/README.md", "LICENSE": "LICENSE",
	}, 80 << 10},
	{"iconedge-desktop.tar.gz", map[string]string{
		"share/dbus-1/services/org.iconedge.Icons.service":                          "clients/desktop/org.iconedge.Icons.service",
		"share/applications/org.iconedge.Icons.desktop":                             "clients/desktop/org.iconedge.Icons.desktop",
		"share/gnome-shell/search-providers/org.iconedge.Icons.search-provider.ini": "clients/desktop/org.iconedge.Icons.search-provider.ini",
		"share/krunner/dbusplugins/org.iconedge.Icons.krunner.desktop":              "clients/desktop/org.iconedge.Icons.krunner.desktop",
		"share/doc/iconedge-desktop/README.md":                                      "clients/desktop/README.md",
		"share/doc/iconedge-desktop/rofi.png":                                       "clients/desktop/rofi.png",
		"share/doc/iconedge-desktop/LICENSE":                                        "LICENSE",
	}, 80 << 10},
}

// design returns the files of the plugin for Figma or Penpot, some of which clients/build.mjs has
// built.
func design(name string, built ...string) map[string]string {
	files := map[string]string{"README.md": "clients/" + name + "/README.md",
		"window.png": "clients/" + name + "/window.png", "LICENSE": "LICENSE"}
	for _, file := range built {
		files[file] = "clients/" + name + "/build/" + file
	}
	return files
}

// browser returns the files of the extension for a browser, which clients/build.mjs has built.
func browser(name string) map[string]string {
	files := map[string]string{"README.md": "clients/browser/README.md", "popup.png": "clients/browser/popup.png", "LICENSE": "LICENSE"}
	for _, file := range []string{"manifest.json", "popup.html", "popup.js", "options.html", "options.js",
		"background.js", "style.css", "icon.png"} {
		files[file] = "clients/browser/build/" + name + "/" + file
	}
	return files
}

// made is the time of every entry, the first that ZIP can store.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "the `version` that the packages get (default that of the program)")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("plugins takes the folder of the repository")
	}
	number, err := numbers(flag.Arg(0), *version)
	if err != nil {
		log.Fatal(err)
	}
	dist := filepath.Join(flag.Arg(0), "clients", "plugins", "dist")
	if err := os.RemoveAll(dist); err != nil {
		log.Fatal(err)
	}
	for _, p := range plugins {
		files, err := p.build(flag.Arg(0), number)
		if err == nil {
			err = write(dist, files)
		}
		if err != nil {
			log.Fatalf("%s: %v", p.name, err)
		}
		fmt.Printf("clients/plugins/dist/%s  %.1f kB\n", p.name, float64(size(files))/1000)
	}
}

// numbers returns the numbers of a version, which is all that some hosts take, as clients/build.mjs
// does; those of the program if the version is empty.
func numbers(root, version string) (string, error) {
	if version == "" {
		text, err := os.ReadFile(filepath.Join(root, "internal", "cli", "version.txt"))
		if err != nil {
			return "", err
		}
		version = string(text)
	}
	number := regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(version)
	if number == "" {
		return "", fmt.Errorf("the version must be like 1.2.3, not %q", version)
	}
	return number, nil
}

// write writes files by their names, which may have folders.
func write(dist string, files map[string][]byte) error {
	for name, data := range files {
		target := filepath.Join(dist, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func size(files map[string][]byte) int {
	n := 0
	for _, data := range files {
		n += len(data)
	}
	return n
}

// build returns the files of a package by their paths below dist: one, or those of its folder.
func (p plugin) build(root, version string) (map[string][]byte, error) {
	contents, err := p.read(root, version)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	switch {
	case strings.HasSuffix(p.name, "/"):
		for name, data := range contents {
			files[p.name+name] = data
		}
	case contents[""] != nil:
		files[p.name] = contents[""]
	case strings.HasSuffix(p.name, ".tar.gz"):
		files[p.name], err = writeTar(contents)
	default:
		files[p.name], err = writeZip(contents)
	}
	if n := size(files); err == nil && n > p.most {
		err = fmt.Errorf("the package has %d bytes; at most %d are allowed", n, p.most)
	}
	return files, err
}

// read returns the contents of a package by their names in it.
func (p plugin) read(root, version string) (map[string][]byte, error) {
	contents := map[string][]byte{}
	for name, file := range p.files {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		if slices.Contains([]string{".py", ".md", ".plist"}, path.Ext(name)) {
			data = bytes.ReplaceAll(data, []byte("0.0.0"), []byte(version))
		}
		contents[name] = data
	}
	return contents, nil
}

func writeZip(contents map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: made})
		if err == nil {
			_, err = w.Write(contents[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

func writeTar(contents map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tar.NewWriter(g)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(contents[name])), ModTime: made, Format: tar.FormatPAX})
		if err == nil {
			_, err = t.Write(contents[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := errors.Join(t.Close(), g.Close())
	return b.Bytes(), err
}
