//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/library"
	"github.com/iconedge/iconedge/loadtest/report"
)

const libraryHelp = `
Writes a library of --icons icons in the form of @iconify/json: the packs of --from, and then copies of them until there are
enough. Each icon of a copy differs in its SVG; a third of them have another name, with a word of another icon before it, and
the key of each pack has the number of the copy. The same arguments give the same files. Two million icons take 2.4 GB.

With --iconedge it measures that program with the library: two publications, of which the second one has one changed pack, and
an origin. It removes the library then, unless --out names its folder. Two million icons take a quarter of an hour.

  loadtest library --icons 2000000 --out DIR
  make build .cache/loadtest && .cache/loadtest library --iconedge ./iconedge`

func runLibrary(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("library", "", libraryHelp)
	l := libraryCopies{infos: map[string]map[string]any{}}
	fs.IntVar(&l.most, "icons", 2_000_000, "least `number` of icons")
	fs.StringVar(&l.from, "from", "tools/library/node_modules/@iconify/json", "`folder` of @iconify/json")
	fs.StringVar(&l.out, "out", "", "`folder` to write, which must not exist (default, with --iconedge, one that is removed)")
	measured := fs.String("iconedge", "", "`program` to measure (default none: the library is only written)")
	work := fs.String("work", "", "`folder` in which the store and the mirror get a new one (default the temporary folder)")
	docs := fs.String("docs", "", "`folder` of scale.md, which gets the figures (default: they are not written)")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	switch {
	case l.most < 1:
		return cli.Usage("--icons must be at least 1")
	case l.out == "" && *measured == "":
		return cli.Usage("--out must name the folder to write, or --iconedge the program to measure")
	}
	if *measured == "" {
		return l.write(ctx, std.Out)
	}
	path, err := filepath.Abs(*measured)
	if err != nil {
		return err
	}
	dir, done, err := newFolder(*work)
	if err != nil {
		return err
	}
	defer done()
	if l.out == "" {
		l.out = filepath.Join(dir, "library")
		defer os.RemoveAll(l.out)
	}
	var size strings.Builder
	if err := l.write(ctx, &size); err != nil {
		return err
	}
	table, err := library.Run(ctx, library.Config{Program: path, Library: l.out, Dir: dir, Log: std.Err})
	report.Text(std.Out, table)
	if err == nil && *docs != "" {
		about := strings.TrimSpace(size.String()) + "; " + machine().String() + "\n\n"
		err = writeScale(*docs, "library", "library --iconedge ./iconedge", about+table.Markdown())
	}
	return err
}

// write writes the library, and its size to out.
func (l *libraryCopies) write(ctx context.Context, out io.Writer) error {
	var infos map[string]map[string]any
	if err := readJSON(filepath.Join(l.from, "collections.json"), &infos); err != nil {
		return cli.Usage("--from: " + cli.OneLine(err))
	}
	if err := os.Mkdir(l.out, 0o755); err != nil {
		return cli.Usage("--out: " + cli.OneLine(err))
	}
	if err := os.Mkdir(filepath.Join(l.out, "json"), 0o755); err != nil {
		return err
	}
	for n := 1; l.icons < l.most; n++ {
		for _, key := range sortedKeys(infos) {
			if l.icons >= l.most {
				break
			}
			if err := cmp.Or(ctx.Err(), l.copy(key, infos[key], n)); err != nil {
				return err
			}
		}
	}
	if err := writeJSON(filepath.Join(l.out, "collections.json"), l.infos); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d icons in %d packs\n", l.icons, len(l.infos))
	return err
}

// libraryCopies writes copies of packs.
type libraryCopies struct {
	from, out string
	most      int                       // icons, besides the last pack
	infos     map[string]map[string]any // of the written packs
	icons     int
	words     []string // of names, each as often as names have it
}

// An iconFile is a pack in Iconify's form. The members that are not changed stay as they are.
type iconFile struct {
	Prefix     string                    `json:"prefix"`
	Icons      map[string]map[string]any `json:"icons"`
	Aliases    map[string]map[string]any `json:"aliases,omitempty"`
	Categories map[string][]string       `json:"categories,omitempty"`
	Suffixes   json.RawMessage           `json:"suffixes,omitempty"`
	Prefixes   json.RawMessage           `json:"prefixes,omitempty"`
	Width      float64                   `json:"width,omitempty"`
	Height     float64                   `json:"height,omitempty"`
	Left       float64                   `json:"left,omitempty"`
	Top        float64                   `json:"top,omitempty"`
}

// copy writes the nth copy of a pack; the first one is the pack itself.
func (l *libraryCopies) copy(key string, about map[string]any, n int) error {
	var f iconFile
	if err := readJSON(filepath.Join(l.from, "json", key+".json"), &f); err != nil {
		return err
	}
	if n == 1 {
		for _, name := range sortedKeys(f.Icons) {
			l.words = append(l.words, strings.Split(name, "-")...)
		}
	} else {
		f.vary(n, l.words)
		copied := maps.Clone(about)
		copied["name"] = fmt.Sprintf("%s %d", about["name"], n)
		delete(copied, "samples") // they may have other names now
		key, about = fmt.Sprintf("%s-%d", key, n), copied
	}
	f.Prefix = key
	l.infos[key] = about
	l.icons += len(f.Icons)
	return writeJSON(filepath.Join(l.out, "json", key+".json"), f)
}

// vary changes the icons of a pack.
func (f *iconFile) vary(n int, words []string) {
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(f.Icons))))
	icons, renamed := map[string]map[string]any{}, map[string]string{}
	for _, name := range sortedKeys(f.Icons) {
		body, _ := f.Icons[name]["body"].(string)
		f.Icons[name]["body"] = differently(body, n)
		to := name
		if random.IntN(3) == 0 {
			to = words[random.IntN(len(words))] + "-" + name
		}
		if _, taken := f.Icons[to]; taken || f.Aliases[to] != nil || icons[to] != nil {
			to = name
		}
		icons[to], renamed[name] = f.Icons[name], to
	}
	f.Icons = icons
	for _, alias := range f.Aliases {
		if parent, _ := alias["parent"].(string); renamed[parent] != "" {
			alias["parent"] = renamed[parent]
		}
	}
	for _, names := range f.Categories {
		for i := range names {
			names[i] = cmp.Or(renamed[names[i]], names[i])
		}
	}
}

// differently returns the body of an icon with another SVG, which looks almost the same.
func differently(body string, n int) string {
	const path = ` d="`
	if before, after, ok := strings.Cut(body, path); ok {
		return fmt.Sprintf("%s%sM0 0h.%03dz%s", before, path, n, after)
	}
	return fmt.Sprintf(`%s<path fill="currentColor" d="M0 0h.%03dv.01z"/>`, body, n)
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
