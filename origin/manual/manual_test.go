package manual

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/iconedge/iconedge/docs"
)

func whole(t *testing.T) *Manual {
	t.Helper()
	m, err := New(docs.Files, "docs", "https://repository.example/")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each row is Markdown and the HTML that pages have for it.
func TestRendering(t *testing.T) {
	tests := []struct{ name, markdown, html string }{
		{"link to a page", "[a](../how-to/b.md#part)", `<p><a href="/docs/how-to/b#part">a</a></p>`},
		{"link to a folder's page", "[a](../README.md)", `<p><a href="/docs/">a</a></p>`},
		{"link to an image", "[a](c.svg)", `<p><a href="/docs/start/c.svg">a</a></p>`},
		{"link to the repository", "[a](../../deploy/README.md#x)", `<p><a href="https://repository.example/deploy/README.md#x">a</a></p>`},
		{"link to a file that is not embedded", "[a](../reference/openapi.yaml)",
			`<p><a href="https://repository.example/docs/reference/openapi.yaml">a</a></p>`},
		{"other links", "[a](#part) <https://example.org/>",
			`<p><a href="#part">a</a> <a href="https://example.org/">https://example.org/</a></p>`},
		{"scripts in links", "[a](javascript:alert(1))", `<p><a href="">a</a></p>`},
		{"image", "![c](c.svg)", `<p><img src="/docs/start/c.svg" alt="c" width="10" height="5" loading="lazy"></p>`},
		{"code", "```sh needs Redis\na <b>\n```", `<pre tabindex="0"><code>a &lt;b&gt;` + "\n</code></pre>"},
		{"raw HTML", "<!-- note -->\n\n<script>alert(1)</script>\n\na <b>c</b>",
			"<p>a <!-- raw HTML omitted -->c<!-- raw HTML omitted --></p>"},
		{"headings", "## A: `b`, c?\n\n## Status", `<h2 id="a-b-c">A: <code>b</code>, c?</h2>` + "\n" + `<h2 id="status-1">Status</h2>`},
		{"table", "| a `\"c\"` | |\n|---|--:|\n| b | 1 |",
			`<div class="wide" role="group" aria-label="Table: a &quot;c&quot;" tabindex="0"><table>` +
				"\n<thead>\n<tr>\n" + `<th scope="col">a <code>&quot;c&quot;</code></th>` + "\n" + `<td class="number"></td>` +
				"\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n" + `<td class="number">1</td>` + "\n</tr>\n</tbody>\n</table></div>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := New(fstest.MapFS{
				"README.md": {Data: []byte("# All")}, "how-to/b.md": {Data: []byte("# B")},
				"start/a.md":  {Data: []byte("# T\n\n" + test.markdown)},
				"start/c.svg": {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 4.6"/>`)},
			}, "docs", "https://repository.example/")
			if err != nil {
				t.Fatal(err)
			}
			body := strings.TrimSpace(strings.TrimPrefix(string(m.Page("/docs/start/a").Body), `<h1 id="t">T</h1>`))
			if body != test.html {
				t.Errorf("got\n%s\nwant\n%s", body, test.html)
			}
		})
	}
}

// An image that is not embedded becomes a link to it: one mistake in a document costs no page.
func TestMissingImage(t *testing.T) {
	m, err := New(fstest.MapFS{"README.md": {Data: []byte("# A\n\nc ![b](../x/b.png) d\n\n![e](f.svg)")}}, "docs",
		"https://repository.example/")
	if err != nil {
		t.Fatal(err)
	}
	const want = `<p>c <a href="https://repository.example/x/b.png">b</a> d</p>` + "\n" +
		`<p><a href="https://repository.example/docs/f.svg">e</a></p>`
	if body := string(m.Page(Root).Body); !strings.Contains(body, want) {
		t.Errorf("got\n%s\nwant\n%s", body, want)
	}
}

// The documents of the repository: one first heading, no level left out, titles and descriptions of
// their own, all links to parts lead to one, and every image is used.
func TestDocuments(t *testing.T) {
	m := whole(t)
	heading := regexp.MustCompile(`<h([1-6]) id="([^"]*)"`)
	ids := map[string]bool{}
	for _, path := range m.Paths() {
		level := 0
		for i, h := range heading.FindAllStringSubmatch(string(m.Page(path).Body), -1) {
			next := int(h[1][0] - '0')
			if next > level+1 || next == 1 && i > 0 {
				t.Errorf("%s: heading %q has level %d after %d", path, h[2], next, level)
			}
			if c := h[2][0]; c < 'a' || c > 'z' {
				t.Errorf("%s: the id %q does not begin with a letter: word the heading differently", path, h[2])
			}
			level = next
			ids[path+"#"+h[2]] = true
		}
	}
	seen := map[string]string{}
	for _, path := range m.Paths() {
		p := m.Page(path)
		for _, text := range []string{"title " + p.Title, "description " + p.Description} {
			if other := seen[text]; other != "" || strings.HasSuffix(text, " ") {
				t.Errorf("%s has the %q of %s", path, text, other)
			}
			seen[text] = path
		}
	}
	absent := regexp.MustCompile(`href="https://repository.example/[^"]*\.(png|svg|webp)"`)
	for _, path := range m.Paths() {
		if found := absent.FindString(string(m.Page(path).Body)); found != "" {
			t.Errorf("%s: the image %s is not embedded: put it into docs, and into the list of docs/docs.go", path, found)
		}
	}
	link := regexp.MustCompile(`(?:href|src)="(/docs/[^"#]*)?(#[^"]*)?"`)
	used := map[string]bool{}
	for _, path := range m.Paths() {
		for _, l := range link.FindAllStringSubmatch(string(m.Page(path).Body), -1) {
			to := l[1]
			if to == "" {
				to = path
			}
			used[to] = true
			_, image := m.Image(to)
			if m.Page(to) == nil && !image {
				t.Errorf("%s: no page or image has the address %s", path, to)
			}
			if l[2] != "" && !ids[to+l[2]] {
				t.Errorf("%s: no heading has the address %s%s", path, to, l[2])
			}
		}
	}
	for _, path := range m.Paths() {
		if !used[path] {
			t.Errorf("no page links to %s", path)
		}
	}
	for path := range m.images {
		if !used[path] {
			t.Errorf("no page shows the image %s", path)
		}
	}
}

// The windows of plugins are in their own folders too, from which packages are made.
func TestWindows(t *testing.T) {
	for image, other := range map[string]string{"browser": "browser/popup.png", "figma": "figma/window.png",
		"vscode": "vscode/window.png", "rofi": "desktop/rofi.png", "inkscape": "inkscape/window.png"} {
		content, err := os.ReadFile("../../clients/" + other)
		if err != nil {
			t.Fatal(err)
		}
		if i, _ := whole(t).Image("/docs/how-to/images/" + image + ".png"); !slices.Equal(i.Body, content) {
			t.Errorf("docs/how-to/images/%s.png is not clients/%s", image, other)
		}
	}
}

// Each row is a query and the part that a reader needs first.
func TestSearch(t *testing.T) {
	m := whole(t)
	for query, want := range map[string]string{
		"roll back":                   "/docs/how-to/releases",
		"rollback a release":          "/docs/how-to/releases",
		"takedown":                    "/docs/how-to/takedown",
		"How do I take an icon down?": "/docs/how-to/takedown",
		"cache-status stale":          "/docs/how-to/incidents",
		"abuse":                       "/docs/how-to/incidents",
		"hit ratio dropped":           "/docs/how-to/runbooks/HitRatioDropped",
		"certbot":                     "/docs/how-to/certificates",
		"replace a secret":            "/docs/how-to/rotation",
		"add region":                  "/docs/how-to/fleet",
		"size of a node":              "/docs/how-to/sizing",
		"upgrading":                   "/docs/how-to/upgrade",
		"wordpress":                   "/docs/how-to/sites",
		// The questions of the index.
		"How do I go back to the previous release?":    "/docs/how-to/releases",
		"How do I take an icon down, tonight?":         "/docs/how-to/takedown",
		"Why does a client get an old response?":       "/docs/how-to/incidents",
		"Who sends too much, and how do I stop it?":    "/docs/how-to/incidents",
		"Why has the hit ratio dropped?":               "/docs/how-to/runbooks/HitRatioDropped",
		"How do I get, renew and check a certificate?": "/docs/how-to/certificates",
		"How do I replace a secret?":                   "/docs/how-to/rotation",
		"How do I add a region?":                       "/docs/how-to/fleet",
		"How large must a node be?":                    "/docs/how-to/sizing",
		"How do I upgrade?":                            "/docs/how-to/upgrade",
		"neovim":                                       "/docs/how-to/editors",
	} {
		results := m.Search(query)
		if len(results) == 0 || results[0].Page.Path != want {
			t.Errorf("%q: %v, want %s first", query, addresses(results), want)
		}
	}
	if r := m.Search("zzqqzz"); len(r) != 0 {
		t.Errorf("a word that no page has: %v", addresses(r))
	}
	if r := m.Search("the"); len(r) != 0 {
		t.Errorf("a word without a subject: %v", addresses(r))
	}
}

func addresses(results []Result) (all []string) {
	for _, r := range results {
		all = append(all, r.Address())
	}
	return all
}

func TestExcerpt(t *testing.T) {
	text := strings.Repeat("before ", 30) + "certificates renew themselves " + strings.Repeat("after ", 60)
	var marked, all string
	for _, p := range excerpt(text, map[string]bool{"certificate": true}) {
		all += p.Text
		if p.Match {
			marked += p.Text + ";"
		}
	}
	if marked != "certificates;" || len(all) > most+10 || !strings.HasPrefix(all, "… before") {
		t.Errorf("marked %q in %q", marked, all)
	}
}

func FuzzSearch(f *testing.F) {
	m, err := New(docs.Files, "docs", "")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "takedown", "ﬁ İ ß\xff", "certificates "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if n := len(m.Search(query)); n > MaxResults {
			t.Errorf("%d results", n)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	m, err := New(docs.Files, "docs", "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.Search("how do I purge the cache of a shield after a certificate was replaced")
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(docs.Files, "docs", ""); err != nil {
			b.Fatal(err)
		}
	}
}

// Each page of reference begins with what a reader gets from it, in at most three lines of an
// editor, because most readers came for one fact, or are on the wrong page.
func TestInShort(t *testing.T) {
	const begin, mostWords = "<p><strong>In short:</strong> ", 60
	m := whole(t)
	pages := 0
	for _, path := range m.Paths() {
		if !strings.HasPrefix(path, Root+"reference/") {
			continue
		}
		pages++
		_, rest, _ := strings.Cut(string(m.Page(path).Body), "</h1>")
		paragraph, _, _ := strings.Cut(strings.TrimLeft(commentOmitted.ReplaceAllString(rest, ""), "\n"), "</p>")
		words := len(strings.Fields(strings.TrimPrefix(paragraph, begin)))
		if !strings.HasPrefix(paragraph, begin) || words > mostWords {
			t.Errorf("%s: the first paragraph has to begin with \"**In short:** \" and to have at most %d words; it has %d: %.80s", path,
				mostWords, words, paragraph)
		}
		if strings.HasPrefix(m.Page(path).Description, "In short") {
			t.Errorf("%s: the description for search engines is the text behind \"In short:\"; it is %q", path, m.Page(path).Description)
		}
	}
	if pages < 15 {
		t.Errorf("%d pages of reference, want all of docs/reference", pages)
	}
}

var commentOmitted = regexp.MustCompile(`<!--.*?-->`)
