package publish

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

const described = `{"name": "Ours", "author": "Ada Lovelace <ada@example.org> (https://example.org)", "license": "MIT"}`

// drawn returns the files of a pack with one icon for each name, whose path depends on version.
func drawn(key, version string, names ...string) map[string]string {
	pack := map[string]string{key + "/pack.json": described}
	for _, name := range names {
		pack[key+"/"+name+".svg"] = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M` + version + ` 0h9v9z"/></svg>`
	}
	return pack
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("i%03d", i))
	}
	return names
}

func TestChanges(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	const allow, dry = true, true
	try := func(allow, dry bool, packs ...map[string]string) (Summary, error) {
		t.Helper()
		dir := t.TempDir()
		for _, pack := range packs {
			writeFiles(t, dir, pack)
		}
		return Publish(t.Context(), Options{Sources: []string{dir}, Tags: noTags, Store: b, Now: time.Now(),
			Work: t.TempDir(), AllowRemoval: allow, DryRun: dry})
	}
	text := func(s Summary) string {
		var out strings.Builder
		if err := s.Write(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	names := numbered(100)
	first, err := try(!allow, !dry, drawn("ours", "1", names...), drawn("other", "1", "home"))
	if err != nil || !first.Changes.First || strings.Contains(text(first), "added") {
		t.Fatalf("the first release: %v, %s", err, text(first))
	}
	p := whole(t, b).Packs[1]
	if p.License != "MIT" || p.Author != "Ada Lovelace" || p.AuthorURL != "https://example.org" {
		t.Errorf("pack.json with strings: %+v", p.Pack)
	}

	// Five icons in a hundred may go, thirty come, and some change.
	many := maps.Clone(drawn("ours", "1", names[5:]...))
	maps.Copy(many, drawn("ours", "2", names[5:8]...))
	var new []string
	for i := range 30 {
		new = append(new, fmt.Sprintf("new-%02d", i))
	}
	maps.Copy(many, drawn("ours", "1", new...))
	sum, err := try(!allow, !dry, many, drawn("other", "1", "home"), drawn("third", "1", "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"pack added    third, 2 icons\n",
		"added    30 in ours: new-00, new-01, ", "new-19, and 10 more\n",
		"changed  3 in ours: i005, i006, i007\n",
		"removed  5 in ours: i000, i001, i002, i003, i004\n",
	} {
		if !strings.Contains(text(sum), line) {
			t.Errorf("the summary lacks %q:\n%s", line, text(sum))
		}
	}

	// Another licence changes each response, but no icon.
	relicensed := maps.Clone(many)
	relicensed["ours/pack.json"] = strings.Replace(described, "MIT", "ISC", 1)
	before := whole(t, b)
	if sum, err = try(!allow, !dry, relicensed, drawn("other", "1", "home"),
		drawn("third", "1", "a", "b")); err != nil || len(sum.Changes.Packs) > 0 {
		t.Errorf("another licence: %+v, %v", sum.Changes, err)
	}
	if now := whole(t, b); now.ID == before.ID || slices.Equal(now.Packs[1].Seqs, before.Packs[1].Seqs) {
		t.Error("another licence: the icons have not changed")
	}

	// Six in 128 are less than 5 %, seven more.
	lacking := func(n int) map[string]string {
		c := maps.Clone(relicensed)
		for _, name := range new[:n] {
			delete(c, "ours/"+name+".svg")
		}
		return c
	}
	current := whole(t, b).ID
	for _, row := range []struct {
		why   string
		packs []map[string]string
		want  string
	}{
		{"seven icons", []map[string]string{lacking(7), drawn("other", "1", "home"), drawn("third", "1", "a", "b")}, "7 of 128 icons"},
		{"a pack", []map[string]string{relicensed, drawn("third", "1", "a", "b")}, "1 of 128 icons with the pack other"},
		{"two packs", []map[string]string{relicensed}, "3 of 128 icons with the packs other, third"},
	} {
		sum, err := try(!allow, !dry, row.packs...)
		if !errors.Is(err, ErrRemoval) || !strings.Contains(err.Error(), row.want+";") ||
			!strings.Contains(text(sum), "removed ") || !strings.Contains(text(sum), ", not published\n") {
			t.Errorf("%s: %v\n%s", row.why, err, text(sum))
		}
		if now := whole(t, b).ID; now != current {
			t.Errorf("%s: published", row.why)
		}
		if sum, err := try(!allow, dry, row.packs...); err != nil || !strings.Contains(text(sum), "warning: "+ErrRemoval.Error()) {
			t.Errorf("%s, without writing: %v\n%s", row.why, err, text(sum))
		}
	}
	if _, err := try(!allow, !dry, lacking(6), drawn("other", "1", "home"), drawn("third", "1", "a", "b")); err != nil {
		t.Errorf("six icons: %v", err)
	}
	if _, err := try(allow, !dry, relicensed); err != nil || len(whole(t, b).Packs) != 1 {
		t.Errorf("two packs, allowed: %v", err)
	}
}

// Icons that are left out are named with what to do.
func TestAdvice(t *testing.T) {
	dir := t.TempDir()
	pack := drawn("ours", "1", "home", "Icon=Home, Size=24", "ArrowLeft", "outline/home", "outline/zoo", "文")
	pack["ours/words.svg"] = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">A</p></foreignObject></svg>`
	pack["ours/elsewhere.svg"] = "-> /etc/passwd"
	pack["ours/notes/readme.txt"] = "no icons"
	writeFiles(t, dir, pack)
	sum := mustPublish(t, objectstore.Dir(t.TempDir()), t0, dir)
	var out strings.Builder
	if err := sum.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"folders   ours: 1 folder, suffix, such as outline/home.svg: home-outline\n",
		"mended    ours: 3 names, such as ArrowLeft: arrow-left\n",
		"left out ours/words: cleaning removed everything that it draws",
		"left out ours/elsewhere.svg: it is a symbolic link that leaves the source",
		"left out  2\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}
	if sum.Icons != 6 {
		t.Errorf("%d icons, want 6", sum.Icons)
	}
	writeFiles(t, dir, map[string]string{"loose.svg": pack["ours/home.svg"]})
	if sum := mustPublish(t, objectstore.Dir(t.TempDir()), t0, dir); len(sum.Warnings) != 1 ||
		!strings.Contains(sum.Warnings[0], "itself (1) are not in a folder") {
		t.Errorf("a file beside the pack: %q", sum.Warnings)
	}
	_, err := Publish(t.Context(), Options{Sources: []string{filepath.Join(dir, "ours", "outline")}, Tags: noTags,
		Store: objectstore.Dir(t.TempDir()), Work: t.TempDir()})
	if !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "are not in a folder") {
		t.Errorf("the folder of a pack as source: %v", err)
	}
}

// Without pack.json, the error is another one than for a pack.json without a licence.
func TestNoPackFile(t *testing.T) {
	_, err := Publish(t.Context(), Options{Sources: []string{"testdata/unlicensed"}, Tags: noTags,
		Store: objectstore.Dir(t.TempDir()), Work: t.TempDir()})
	if !errors.Is(err, ErrNoPackFile) || !errors.Is(err, ErrNoLicense) ||
		!strings.Contains(err.Error(), "the pack bare needs the file testdata/unlicensed/bare/pack.json") {
		t.Error(err)
	}
	dir := writeFiles(t, t.TempDir(), drawn("ours", "1", "home"))
	writeFiles(t, dir, map[string]string{"ours/pack.json": PackFileExample})
	if sum := mustPublish(t, objectstore.Dir(t.TempDir()), t0, dir); sum.Icons != 1 {
		t.Errorf("the example: %+v", sum)
	}
}

// A store that can't be written, and a full disk, are reported before the work.
func TestCheckedFirst(t *testing.T) {
	f := &failing{Bucket: objectstore.Dir(t.TempDir())}
	steps := &stepNames{}
	_, err := Publish(t.Context(), Options{Sources: []string{"testdata/library"}, Tags: noTags, Store: f,
		Work: t.TempDir(), Progress: steps})
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "testing whether the store can be written") ||
		slices.Contains(steps.all, "uploading") {
		t.Errorf("%v after %q", err, steps.all)
	}
	if err := checkFree(t.TempDir(), 1<<62); err == nil ||
		!strings.Contains(err.Error(), "free space, or choose another --store or --work") {
		t.Errorf("a full disk: %v", err)
	}
	if err := checkFree(t.TempDir(), 0); err != nil {
		t.Error(err)
	}
}

type stepNames struct {
	silent
	all []string
}

func (s *stepNames) Step(name string, _ int64) { s.all = append(s.all, name) }

// Rollback goes to the release that an operator names.
func TestRollbackTo(t *testing.T) {
	s := newSeries(t)
	one, two, three := s.publish(t, 9), s.publish(t, 9), s.publish(t, 9)
	for _, id := range []string{one, three, two[:12]} {
		got, err := Rollback(t.Context(), s.b, id, s.now())
		if err != nil || !strings.HasPrefix(got.ID, id) || whole(t, s.b).ID != got.ID {
			t.Errorf("to %s: %+v, %v", id, got, err)
		}
	}
	for _, id := range []string{"none", one + "0", "\x1b[1m"} {
		if _, err := Rollback(t.Context(), s.b, id, s.now()); !errors.Is(err, ErrNoRelease) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("to %q: %v", id, err)
		}
	}
}
