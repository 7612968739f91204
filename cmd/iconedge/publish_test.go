package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/test/harness"
)

// folderOf writes files below a new folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const squareIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M4 4h16v16H4z"/></svg>`

func shaped(d string) string { return strings.Replace(squareIcon, "M4 4h16v16H4z", d, 1) }

// A folder as its designer has it is published, and its icons have addresses by the new and by the
// old spelling.
func TestPublishFolder(t *testing.T) {
	home := t.TempDir()
	dir := folderOf(t, map[string]string{
		"package.json":               `{"name":"@acme/icons","version":"2.0.0","license":"(CC-BY-NC-4.0 AND MIT)","author":"Ada"}`,
		"svg/Outline/arrow_back.svg": squareIcon, "svg/Solid/arrow_back.svg": shaped("M0 0h1v9z"), "svg/Größe.svg": shaped("M9 9h9v9z"),
		"svg/Arrow Left.svg": shaped("M1 9h20v2H1z"),
		"svg/home.svg":       shaped("M2 2h3v3z"),
	})
	out := harness.Must(t, home, "publish", dir)
	for _, want := range []string{
		"folders   acme: 2 folders, suffix, such as svg/Outline/arrow_back.svg: arrow-back-outline\n", "mended    acme: 4 names, such as ",
		"icons     5 visible; in all 5, and 0 aliases\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	get := func(path string) (int, string) {
		resp, body := harness.Get(t, s.Address("public"), path)
		return resp.StatusCode, body
	}
	harness.Eventually(t, "the edge has the list of names",
		func() bool { return strings.Contains(s.Log.String(), `msg="name list ready"`) })
	for path, want := range map[string]int{
		"/acme/arrow-back-outline.svg": 200, "/acme/arrow_back-outline.svg": 200, "/acme/arrow_back-solid.svg?color=f00": 200,
		"/acme/grosse.svg": 200, "/acme/Gr%C3%B6%C3%9Fe.svg": 200, "/acme/Arrow%20Left.svg": 200,
		"/api/v1/icon/acme/arrow_back-outline": 200,
		"/acme/Home.svg":                       404, "/acme/Home%20.svg": 400, "/acme/%68ome.svg": 400,
	} {
		if status, body := get(path); status != want || want == 200 && !strings.Contains(body, "svg xmlns") {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	if _, body := get("/acme/Home.svg"); !strings.Contains(body, `"suggestions":["home"]`) {
		t.Errorf("another spelling of a name: %s", body)
	}
	for query, name := range map[string]string{"Gr%C3%B6%C3%9Fe": "grosse", "arrow_back+outline": "arrow-back-outline",
		"arrow+left": "arrow-left"} {
		var found icon.SearchAnswer
		status, body := get("/api/v1/search?pack=acme&explain=true&q=" + query)
		if err := json.Unmarshal([]byte(body), &found); err != nil || status != 200 || len(found.Results) == 0 {
			t.Errorf("%s: %d %s", query, status, body)
			continue
		}
		if r := found.Results[0]; r.Name != name || r.CommercialUse || r.License != "(CC-BY-NC-4.0 AND MIT)" {
			t.Errorf("%s finds %+v, want %s", query, r, name)
		}
	}
	if _, body := get("/api/v1/packs/acme"); !strings.Contains(body, `"Größe":"grosse"`) {
		t.Errorf("the pack's aliases: %s", body)
	}
}

// The exit status is 1 if a pack can't be published, and the release has the others.
func TestPublishStatus(t *testing.T) {
	home := t.TempDir()
	dir := folderOf(t, map[string]string{"good/pack.json": `{"license":"MIT"}`, "good/a.svg": squareIcon, "bare/a.svg": squareIcon})
	for _, row := range []struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		{[]string{"--fail-fast", dir}, 1, "", "a valid licence is missing"},
		{[]string{"--dry-run", dir}, 1, "not published (dry run)", "1 pack not published"},
		{[]string{dir}, 1, "now current", "1 pack not published: a valid licence is missing"},
		{[]string{"--init", filepath.Join(dir, "bare")}, 0, "bare/pack.json, for 1 SVG files\nreview    license", ""},
		{[]string{"--init", filepath.Join(dir, "bare")}, 1, "", "there is a pack.json already"},
		{[]string{"--init", filepath.Join(dir, "none")}, 2, "", "does not exist"},
		{[]string{"--init"}, 2, "", "--init takes one folder"},
		{[]string{"--init", "--dry-run", dir}, 2, "", "--init takes one folder"},
		{[]string{"--folders", "sideways", dir}, 2, "", "--folders must be suffix, prefix, ignore, packs"},
		{[]string{"npm:../x"}, 1, "", "npm:lucide-static@1.62.0"},
		{[]string{"good=" + filepath.Join(dir, "good"), filepath.Join(dir, "good")}, 1, "", "from two sources"},
		{[]string{"other=" + filepath.Join(dir, "good"), "--allow-removal"}, 0, "pack added    other", ""},
	} {
		stdout, stderr, status := harness.Call(t, home, append([]string{"publish"}, row.args...)...)
		if status != row.status || !strings.Contains(stdout, row.stdout) || !strings.Contains(stderr, row.stderr) {
			t.Errorf("publish %q: status %d, want %d; stdout %s; stderr %s", row.args, status, row.status, stdout, stderr)
		}
	}
}
