package apps

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/chromedp/chromedp"
	"github.com/klauspost/compress/gzip"

	"github.com/iconedge/iconedge/test/harness"
)

// spaFolder is the link to the build that the edge serves.
var spaFolder string

var singlePage = recipe{
	title: "A single-page application", server: "a build of Vite with an API of Express", client: "Chromium and curl",
	did: "two people at once: deep links, navigation, modules fetched later, log in, notes, an upload of 100 MB, events; private JSON of " +
		"both, compressed, 400 times at once; 20 kB of cookies; a deployment by a link; the API down",
	versions: func(t *testing.T) (string, string) { return npmVersion(t, npm(t, "vite")), chromiumVersion(t) },
	start: func(v *visit) []string {
		spaFolder = filepath.Join(v.dir, "www")
		buildSPA(v, "1")
		v.deploy("1")
		v.write("5xx.html", []byte("<h1>Back in a minute</h1>"))
		return []string{"http://10.0.0.5:8000", startNode(v.T, "spa-api.mjs"), "/srv/www", spaFolder,
			"/etc/iconedge/5xx.html", filepath.Join(v.dir, "5xx.html")}
	},
	visit: visitSinglePage,
}

// buildSPA builds the application into a folder, with its files in br and gzip beside them.
func buildSPA(v *visit, name string) {
	v.Helper()
	source, to := filepath.Join(v.dir, "source"+name), filepath.Join(v.dir, name)
	if err := os.CopyFS(source, os.DirFS(testdata(v.T, "spa"))); err != nil {
		v.Fatal(err)
	}
	v.write("source"+name+"/people.js", fmt.Appendf(nil,
		"export const show = (main, id) => { main.textContent = 'person ' + id + ', version %s' }\n", name))
	v.run("node", filepath.Join(npm(v.T, "vite"), "bin", "vite.js"), "build", source, "--outDir", to, "--logLevel", "warn")
	for _, pattern := range []string{"*.html", "assets/*.js", "assets/*.css"} {
		files, err := filepath.Glob(filepath.Join(to, pattern))
		if err != nil || len(files) == 0 {
			v.Fatalf("no %s in the build: %v", pattern, err)
		}
		for _, file := range files {
			v.precompress(file)
		}
	}
}

// precompress writes a file in br and gzip beside it.
func (v *visit) precompress(file string) {
	v.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		v.Fatal(err)
	}
	for end, open := range map[string]func(io.Writer) io.WriteCloser{
		".br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		".gz": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	} {
		out, err := os.Create(file + end)
		if err != nil {
			v.Fatal(err)
		}
		w := open(out)
		_, err = w.Write(content)
		for _, c := range []io.Closer{w, out} {
			if e := c.Close(); err == nil {
				err = e
			}
		}
		if err != nil {
			v.Fatal(err)
		}
	}
}

// deploy sets the link of the site to a build, at once.
func (v *visit) deploy(name string) {
	v.Helper()
	next := spaFolder + ".next"
	err := os.Symlink(filepath.Join(v.dir, name), next)
	if err == nil {
		err = os.Rename(next, spaFolder)
	}
	if err != nil {
		v.Fatal(err)
	}
}

// wait runs a JavaScript expression that is a promise, and returns its value as JSON.
func (b tab) wait(expression string) string {
	b.Helper()
	b.text(`(() => { const done = app.keep("result"); Promise.resolve(` + expression +
		`).then(v => done(JSON.stringify(v) ?? "null"), e => done("failed: " + e)); return "" })()`)
	b.until(`result != "pending"`)
	return b.text("result")
}

func visitSinglePage(v *visit) {
	people := map[string]tab{"ada": v.person(), "bob": v.person()}
	var all sync.WaitGroup
	for name, b := range people {
		all.Go(func() { v.useSPA(name, b) })
	}
	all.Wait()
	if v.Failed() {
		return
	}
	v.crowd(people)
	v.manyCookies()

	// A deployment: the page that is open goes on with its modules, because the new build has files
	// with other names, and a new visit gets the new page.
	buildSPA(v, "2")
	v.deploy("2")
	harness.Eventually(v.T, "the new build", func() bool {
		people["ada"].open(v.base + "/people/7")
		people["ada"].until(`document.querySelector("main").textContent.startsWith("person 7")`)
		return people["ada"].text(`document.querySelector("main").textContent`) == "person 7, version 2"
	})
	if resp := v.statusOf("GET", "/assets/gone.js"); resp.StatusCode != http.StatusNotFound {
		v.Errorf("a missing script has status %d", resp.StatusCode)
	} else if lifetime := resp.Header.Get("Cache-Control"); strings.Contains(lifetime, "immutable") {
		v.Errorf("a missing script is stored by browsers: %s", lifetime)
	}

	// The API down: a page for people, JSON for scripts.
	b := people["bob"]
	if got := b.wait(`app.call("/exit", { method: "POST" })`); got != "{}" {
		v.Errorf("the API ended with %s", got)
	}
	if got := b.wait(`app.call("/notes").then(b => b.failed + " " + b.problem.status)`); got != `"503 503"` {
		v.Errorf("without the API a script gets %s", got)
	}
	b.open(v.base + "/api/notes")
	b.until(`document.body.textContent == "Back in a minute"`)
}

// useSPA is what one person does.
func (v *visit) useSPA(name string, b tab) {
	b.open(v.base + "/people/7") // a deep link: no such file
	b.until(`document.querySelector("main").textContent == "person 7, version 1"`)
	b.until(`getComputedStyle(document.querySelector("main")).color == "rgb(1, 2, 3)"`)
	do(b, chromedp.Evaluate[any](`document.querySelector("a[href='/notes']").click()`))
	b.until(`document.querySelector("main").textContent.includes('"failed":401')`)
	for _, step := range []struct{ do, want string }{
		{`app.logIn("` + name + `")`, `{"user":"` + name + `"}`},
		{`app.write("first of ` + name + `")`, `{"count":1}`},
		{`app.call("/notes").then(n => n.user + ": " + n.notes)`, `"` + name + ": first of " + name + `"`},
		{`app.upload(100 << 20).then(f => f.length)`, `104857600`},
		{`app.call("/broken").then(b => b.failed)`, `500`},
	} {
		if got := b.wait(step.do); got != step.want {
			v.Errorf("%s: %s is %s, want %s", name, step.do, got, step.want)
		}
	}
	if name == "ada" { // the application sends the events to one page
		if got := b.wait(`app.listen()`); got != `"0,1,2,3"` {
			v.Errorf("the events are %s", got)
		}
	}
	b.open(v.base + "/notes") // again from the beginning, with the session
	b.until(`document.querySelector("main").textContent.includes('"user":"` + name + `"')`)
	again := b.wait(`performance.getEntriesByType("resource").some(e => e.name.includes("/assets/") && e.transferSize > 0)`)
	if again != "false" {
		v.Errorf("%s: the browser fetched files of the build again", name)
	}
}

// crowd fetches the private data of all people at the same time, in every content coding, and fails
// the test if somebody got those of another.
func (v *visit) crowd(people map[string]tab) {
	v.Helper()
	sessions := map[string]*http.Client{}
	for name := range people {
		jar, _ := cookiejar.New(nil)
		c := v.httpClient()
		c.Jar = jar
		resp, err := c.Post(v.base+"/api/login", "application/json", strings.NewReader(`{"user":"`+name+`"}`))
		if err != nil || resp.StatusCode != http.StatusOK {
			v.Fatalf("logging in: %v", err)
		}
		resp.Body.Close()
		sessions[name] = c
	}
	ctx, cancel := context.WithTimeout(v.Context(), harness.Longest)
	defer cancel()
	var all sync.WaitGroup
	slots := make(chan struct{}, 40)
	coded := make(chan string, 1000)
	for i := range 200 {
		for name, c := range sessions {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				coding := []string{"br", "zstd", "gzip", "identity"}[i%4]
				req, err := http.NewRequestWithContext(ctx, "GET", v.base+"/api/notes", nil)
				if err != nil {
					v.Error(err)
					return
				}
				req.Header.Set("Accept-Encoding", coding)
				resp, err := c.Do(req)
				if err != nil {
					v.Error(err)
					return
				}
				defer resp.Body.Close()
				body, got, err := readDecoded(resp)
				if got != "" {
					coded <- got
				}
				if err != nil || resp.StatusCode != http.StatusOK || strings.Count(string(body), "only for "+name+" ") != 200 {
					v.Errorf("%s got status %d, %v: %.100s", name, resp.StatusCode, err, body)
				}
			})
		}
	}
	all.Wait()
	close(coded)
	counts := map[string]int{}
	for c := range coded {
		counts[c]++
	}
	for _, coding := range []string{"br", "zstd", "gzip"} {
		if counts[coding] == 0 {
			v.Errorf("no private response in %s: %v", coding, counts)
		}
	}
}

// manyCookies sends 20 kB of cookies, as browsers do that have been to many sites of a company.
func (v *visit) manyCookies() {
	v.Helper()
	var cookies strings.Builder
	for i := range 10 {
		fmt.Fprintf(&cookies, "tracker%d=%s; ", i, strings.Repeat("x", 2000))
	}
	got := v.curl("-H", "Cookie: "+strings.TrimSuffix(cookies.String(), "; "), v.base+"/api/cookies")
	if !strings.Contains(got, `{"length":20`) {
		v.Errorf("20 kB of cookies: %.200s", got)
	}
}
