package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

const square = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M0 0h24v24H0z"/></svg>`

// writeFiles writes files below a folder and returns the folder. The content "-> PATH" makes a
// symbolic link; "large" and "huge" make sparse files of more than maxMetadata and maxIcons bytes.
func writeFiles(t *testing.T, dir string, content map[string]string) string {
	t.Helper()
	for name, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = errors.Join(err, os.Symlink(to, path))
		} else if text == "huge" {
			err = errors.Join(err, os.WriteFile(path, []byte("{}"), 0o644), os.Truncate(path, maxIcons+1))
		} else if text == "large" {
			err = errors.Join(err, os.WriteFile(path, []byte("{}"), 0o644), os.Truncate(path, maxMetadata+1))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const mit = `{"name":"P","license":{"spdx":"MIT"}}`

// An error of one line names metadata that is too large, a link that leaves the source, or a folder
// in place of a file.
func TestHostileSources(t *testing.T) {
	outside := writeFiles(t, t.TempDir(),
		map[string]string{"pack.json": mit, "a.svg": square, "collections.json": "{}", "json/p.json": "{}"})
	const pack = `{"prefix":"p","icons":{"a":{"body":"<path d='M0 0h1v1z'/>"}}}`
	for _, tt := range []struct {
		name    string
		content map[string]string
		named   string // the file in the error
		want    error
	}{
		{"large collections.json", map[string]string{"collections.json": "large"}, "collections.json", errSize},
		{"huge icons", map[string]string{"collections.json": "{}", "json/p.json": "huge"}, "json/p.json", errSize},
		{"huge icons.json", map[string]string{"icons.json": "huge"}, "icons.json", errSize},
		{"large info.json", map[string]string{"icons.json": pack, "info.json": "large"}, "info.json", errSize},
		{"large metadata.json", map[string]string{"icons.json": pack, "info.json": mit, "metadata.json": "large"},
			"metadata.json", errSize},
		{"large pack.json", map[string]string{"p/pack.json": "large", "p/a.svg": square}, "pack.json", errSize},
		{"collections.json elsewhere", map[string]string{"collections.json": "-> " + outside + "/collections.json"},
			"collections.json", errOutside},
		{"json elsewhere", map[string]string{"collections.json": "{}", "json": "-> " + outside + "/json"}, "json", errOutside},
		{"icons elsewhere", map[string]string{"collections.json": "{}",
			"json/p.json": "-> " + outside + "/json/p.json"}, "json/p.json", errOutside},
		{"icons.json elsewhere", map[string]string{"icons.json": "-> " + outside + "/json/p.json"}, "icons.json", errOutside},
		{"info.json elsewhere", map[string]string{"icons.json": pack, "info.json": "-> " + outside + "/pack.json"},
			"info.json", errOutside},
		{"metadata.json elsewhere", map[string]string{"icons.json": pack, "info.json": mit,
			"metadata.json": "-> ../../x"}, "metadata.json", errOutside},
		{"a pack elsewhere", map[string]string{"p": "-> " + outside}, "p", errOutside},
		{"a pack.json elsewhere", map[string]string{"p/pack.json": "-> " + outside + "/pack.json", "p/a.svg": square},
			"p/pack.json", errOutside},
		{"a link out of a link", map[string]string{"q": "-> " + outside, "p/pack.json": "-> ../q/pack.json",
			"p/a.svg": square}, "pack.json", errOutside},
		{"a pack.json that is a folder", map[string]string{"p/pack.json/x": "", "p/a.svg": square}, "p/pack.json", nil},
	} {
		dir := writeFiles(t, t.TempDir(), tt.content)
		_, err := Publish(t.Context(), Options{Sources: []string{dir}, Tags: noTags,
			Store: objectstore.Dir(t.TempDir()), Now: t0, Work: t.TempDir()})
		if !errors.Is(err, ErrSource) || tt.want != nil && !errors.Is(err, tt.want) ||
			!strings.Contains(err.Error(), filepath.FromSlash(tt.named)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %s, and %v", tt.name, err, tt.named, tt.want)
		}
	}
}

// An icon behind a link that leaves the source is left out and reported; links inside are followed.
func TestLinks(t *testing.T) {
	outside := writeFiles(t, t.TempDir(), map[string]string{"a.svg": square})
	dir := writeFiles(t, t.TempDir(), map[string]string{
		"p/pack.json": mit, "p/a.svg": square, "p/b.svg": "-> a.svg", "p/c.svg": "-> ../.shared/c.svg", ".shared/c.svg": square,
		"p/out.svg": "-> " + outside + "/a.svg", "p/up.svg": "-> ../../a.svg", "q": "-> .q", ".q/pack.json": mit, ".q/a.svg": square,
	})
	// The source itself may be a link, because package managers make such links.
	behind := filepath.Join(t.TempDir(), "source")
	if err := os.Symlink(dir, behind); err != nil {
		t.Fatal(err)
	}
	sum := mustPublish(t, objectstore.Dir(t.TempDir()), t0, behind)
	var out []string
	for _, l := range sum.LeftOut {
		out = append(out, l.Pack+"/"+l.Name)
		if l.Reason != errOutside.Error() {
			t.Errorf("%s is left out because %s", l.Name, l.Reason)
		}
	}
	if got := strings.Join(out, " "); got != "p/out.svg p/up.svg" || sum.Icons != 4 || sum.Packs != 2 {
		t.Errorf("left out %q, want p/out.svg p/up.svg; %d icons of %d packs, want 4 of 2", got, sum.Icons, sum.Packs)
	}
}

// A pack whose folders are deep, or lead in circles, ends nothing but itself.
func TestHostileFolders(t *testing.T) {
	deep := strings.Repeat("d/", maxDepth+1)
	dir := writeFiles(t, t.TempDir(), map[string]string{
		"deep/pack.json": mit, "deep/" + deep + "a.svg": square,
		"ring/pack.json": mit, "ring/a.svg": square, "ring/ring": "-> .", "ring/up": "-> ..",
		"ring/b/c.svg": square, "ring/out.svg": "-> /etc/passwd",
		"ring/gone.svg": "-> none.svg", "ring/folder.svg/d.svg": square, "ring/inner/pack.json": mit, "ring/inner/e.svg": square,
		"ring/node_modules/f.svg": square, "ring/.git/g.svg": square,
	})
	b := objectstore.Dir(t.TempDir())
	sum, err := Publish(t.Context(), Options{Sources: []string{dir}, Tags: noTags, Store: b, Now: t0, Work: t.TempDir()})
	if !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "more than 32 deep") || len(sum.Failed) != 1 {
		t.Errorf("%v, %d packs failed", err, len(sum.Failed))
	}
	var names []string
	for ref := range whole(t, b).metas {
		names = append(names, ref.Name)
	}
	if want := "a c-b d-folder-svg"; sortedText(names) != want {
		t.Errorf("icons %s, want %s", sortedText(names), want)
	}
	for _, want := range []string{"ring: inner, a pack of its own", "ring: ring, a link to a folder"} {
		if text := notesOf(sum); !strings.Contains(text, want) {
			t.Errorf("the notes are %q, without %q", text, want)
		}
	}
}

// The same limits hold for tags.
func TestHostileTags(t *testing.T) {
	outside := writeFiles(t, t.TempDir(), map[string]string{"tags.json": `{"a":["b"]}`})
	for _, tt := range []struct {
		name    string
		content map[string]string
		want    error
	}{
		{"large", map[string]string{"tags.json": "large"}, errSize},
		{"elsewhere", map[string]string{"tags.json": "-> " + outside + "/tags.json"}, errOutside},
		{"a part elsewhere", map[string]string{"dict/data.noun": "", "dict/data.verb": "-> " + outside + "/tags.json"}, errOutside},
	} {
		p := &publication{Options: Options{Tags: []string{writeFiles(t, t.TempDir(), tt.content)}}}
		defer p.closeTrees()
		if _, _, err := p.lexicon(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// A countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func countFrom(t *testing.T, n int64) *countdown {
	c := &countdown{Context: t.Context()}
	c.left.Store(n)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A publication that is stopped at any point returns the error of its context, and leaves the
// current release unchanged. With the lexicon of the program it is stopped at fewer points, because
// each attempt then takes long.
func TestStoppedAnywhere(t *testing.T) {
	modules := filepath.Join(t.TempDir(), "node_modules")
	writeFiles(t, modules, map[string]string{"lucide-static/tags.json": `{"square": ["box", "window"]}`})
	tags := filepath.Join(modules, "lucide-static")
	opt := Options{Sources: all, Tags: []string{NoTags, tags}, Now: t0, Work: t.TempDir()}
	points, withLexicon := int64(60), int64(6)
	if testing.Short() {
		points, withLexicon = 15, 2
	}
	stoppedAnywhere(t, opt, points)
	opt.Tags = []string{tags}
	stoppedAnywhere(t, opt, withLexicon)
}

// stoppedAnywhere stops a publication at that many points.
func stoppedAnywhere(t *testing.T, opt Options, points int64) {
	t.Helper()
	const most = 1 << 40
	whole := countFrom(t, most)
	opt.Store = objectstore.Dir(t.TempDir())
	if _, err := Publish(whole, opt); err != nil {
		t.Fatal(err)
	}
	checks := most - whole.left.Load()
	opt.Store = objectstore.Dir(t.TempDir())
	stopped := int64(0)
	for n := int64(0); n < checks; n += max(1, checks/points) {
		opt.Work = t.TempDir()
		_, err := Publish(countFrom(t, n), opt)
		c, _, readErr := readCurrent(t.Context(), opt.Store)
		switch {
		case readErr != nil:
			t.Fatal(readErr)
		case err == nil && c.Release == "", err != nil && !errors.Is(err, context.Canceled), err != nil && c.Release != "":
			t.Fatalf("stopped after %d of %d checks of the context: %v, current release %q", n, checks, err, c.Release)
		case err == nil: // stopped after the release became current
			n = checks
		default:
			stopped++
		}
	}
	t.Logf("stopped at %d points of %d", stopped, checks)
	if stopped < points/2 {
		t.Errorf("stopped at %d points, want at least %d", stopped, points/2)
	}
}
