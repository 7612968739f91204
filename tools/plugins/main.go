// Command plugins builds the packages of the plugins into clients/plugins/dist. The same files and
// version give the same bytes: entries are sorted, and have one time and mode.
//
//	go run -C tools ./plugins -version v1.2.3 ..
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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A plugin is one package: files by their names in it, and its largest size in bytes.
type plugin struct {
	name string
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
	{"iconedge.alfredworkflow", map[string]string{
		"info.plist": "clients/alfred/info.plist", "icon.png": "clients/alfred/icon.png", "README.md": "clients/alfred/README.md", "LICENSE": "LICENSE",
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

// browser returns the files of the extension for a browser, which clients/build.mjs has built.
func browser(name string) map[string]string {
	files := map[string]string{"README.md": "clients/browser/README.md", "popup.png": "clients/browser/popup.png", "LICENSE": "LICENSE"}
	for _, file := range []string{"manifest.json", "popup.html", "popup.js", "options.html", "options.js", "background.js", "style.css", "icon.png"} {
		files[file] = "clients/browser/build/" + name + "/" + file
	}
	return files
}

// made is the time of every entry, the first that ZIP can store.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "0.0.0", "the `version` that the packages get")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("plugins takes the folder of the repository")
	}
	dist := filepath.Join(flag.Arg(0), "clients", "plugins", "dist")
	if err := os.MkdirAll(dist, 0o755); err != nil {
		log.Fatal(err)
	}
	for _, p := range plugins {
		data, err := p.build(flag.Arg(0), strings.TrimPrefix(*version, "v"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dist, p.name), data, 0o644)
		}
		if err != nil {
			log.Fatalf("%s: %v", p.name, err)
		}
		fmt.Printf("clients/plugins/dist/%s  %.1f kB\n", p.name, float64(len(data))/1000)
	}
}

// build returns the bytes of a package.
func (p plugin) build(root, version string) ([]byte, error) {
	var names []string
	contents := map[string][]byte{}
	for name, file := range p.files {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		if slices.Contains([]string{".py", ".md", ".plist"}, path.Ext(name)) {
			data = bytes.ReplaceAll(data, []byte("0.0.0"), []byte(version))
		}
		names, contents[name] = append(names, name), data
	}
	slices.Sort(names)
	write := writeZip
	if contents[""] != nil {
		write = func([]string, map[string][]byte) ([]byte, error) { return contents[""], nil }
	}
	if strings.HasSuffix(p.name, ".tar.gz") {
		write = writeTar
	}
	data, err := write(names, contents)
	if err == nil && len(data) > p.most {
		err = fmt.Errorf("the package has %d bytes; at most %d are allowed", len(data), p.most)
	}
	return data, err
}

func writeZip(names []string, contents map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
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

func writeTar(names []string, contents map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tar.NewWriter(g)
	for _, name := range names {
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
