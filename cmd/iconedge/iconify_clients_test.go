package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// clientsPage shows icons by three clients of Iconify, and by a style sheet and images without one.
const clientsPage = `<!doctype html><meta charset="utf-8"><title>clients</title>
<link rel="stylesheet" href="%[1]s/mdi.css?icons=square">
<style>
	body { margin: 0; background: #fff }
	#react, #vue, #element { height: 50px }
	.icon--mdi, #img { width: 100px; height: 100px; color: #ff00ff; display: block }
</style>
<div id="react"></div><div id="vue"></div><div id="element"></div>
<span class="icon--mdi icon--mdi--square"></span>
<img id="img" src="%[1]s/mdi:square.svg?color=%%23ff8000" alt="">
<script src="/clients.js"></script>`

// TestIconifyClients runs iconify-icon, @iconify/react and @iconify/vue, unchanged, in a page on
// another origin. Only the address of the icons is ours, at the root, below /iconify, and after a
// host that does not answer.
func TestIconifyClients(t *testing.T) {
	t.Parallel()
	browser, script := harness.Browser(t), bundledClients(t)
	edge := harness.Start(t, withPacks(t), "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	backend, err := url.Parse("http://" + edge.Address("public"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var calls []string
	forward := httputil.NewSingleHostReverseProxy(backend)
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls = append(calls, r.URL.RequestURI())
		mu.Unlock()
		forward.ServeHTTP(w, r)
	}))
	defer counted.Close()
	gone := "http://" + harness.FreeAddress(t)
	for name, resources := range map[string][]string{
		"at the root": {counted.URL}, "below the mount": {counted.URL + "/iconify"},
		"after a host that does not answer": {gone, counted.URL},
	} {
		t.Run(name, func(t *testing.T) {
			mu.Lock()
			calls = nil
			mu.Unlock()
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/clients.js" {
					w.Header().Set("Content-Type", "text/javascript")
					w.Write(script)
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, clientsPage, counted.URL)
			}))
			defer site.Close()
			q := url.Values{"api": resources}
			shot, title, class := screenshot(t, browser, site.URL+"/?"+q.Encode(), "body[class]")
			if class != "drawn" {
				t.Fatalf("the page has the class %q: paths drawn by react, vue, iconify-icon: %s; calls %q", class, title, calls)
			}
			t.Logf("paths drawn by react, vue, iconify-icon: %s", title)
			for _, row := range []struct {
				what    string
				y       int
				r, g, b uint32
			}{
				{"the style sheet", 200, 0xff, 0, 0xff}, {"the image", 300, 0xff, 0x80, 0},
			} {
				r, g, b, _ := shot.At(50, row.y).RGBA()
				if r>>8 != row.r || g>>8 != row.g || b>>8 != row.b {
					t.Errorf("%s: pixel #%02x%02x%02x, want #%02x%02x%02x", row.what, r>>8, g>>8, b>>8, row.r, row.g, row.b)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			lists := 0
			for _, call := range calls {
				if strings.Contains(call, "/mdi.json?icons=") {
					lists++
				}
			}
			// One call for all icons of a set by each client; a page of three clients may have
			// asked a host twice after the first one failed.
			if lists < 1 || lists > 6 {
				t.Errorf("%d calls for the icons of one set: %q", lists, calls)
			}
			t.Logf("%q", calls)
		})
	}
}

// bundledClients returns the script of the page.
func bundledClients(t *testing.T) []byte {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "tools", "iconify"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "iconify-icon")); err != nil {
		harness.Missing(t, "Iconify's clients are not installed: run `make test`, which installs them")
	}
	out := filepath.Join(t.TempDir(), "clients.js")
	cmd := exec.Command(filepath.Join(harness.NPM(t, "esbuild"), "bin", "esbuild"), "clients.jsx", "--bundle",
		"--outfile="+out, "--define:process.env.NODE_ENV=\"production\"", "--log-level=error")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("bundling: %v\n%s", err, text)
	}
	script, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return script
}
