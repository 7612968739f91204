package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/devtools"
	"github.com/iconedge/iconedge/test/harness"
)

// bundlePage loads a script, and then reports its version and the hash of its bytes.
const bundlePage = `<!doctype html><meta charset="utf-8"><title>bundle</title><link rel="icon" href="data:,"><body>
<script type="module" src="%[1]s"></script>
<script type="module">
	const bytes = await (await fetch("%[1]s")).arrayBuffer();
	const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
	document.body.className = window.version + " " + [...sum].map(b => b.toString(16).padStart(2, "0")).join("");
</script>`

// scriptOf returns a version of a script of about 200 kB, of which little changes.
func scriptOf(version int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "export const f%d = a => a * %d + %d;\n", i, random.Uint32(), random.Uint32())
		if i%1000 == version {
			fmt.Fprintf(&b, "window.version = 'v%d';\n", version)
		}
	}
	return b.String()
}

// TestBrowserDictionary: a browser that has version 1 of a bundle gets version 2 of it as a
// difference, over TLS, and runs it.
func TestBrowserDictionary(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	home := t.TempDir()
	cert, key := certstest.Pair(t, home, "edge", "edge", "127.0.0.1")
	paths := []string{"/assets/app-3f2a91bc.js", "/assets/app-77c0de12.js"}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for v, path := range paths {
			switch r.URL.Path {
			case path:
				w.Header().Set("Content-Type", "text/javascript")
				w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
				io.WriteString(w, scriptOf(v+1))
			case fmt.Sprint("/v", v+1):
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, bundlePage, path)
			}
		}
	}))
	defer app.Close()
	edge := harness.Start(t, home, "edge", "--proxy-all", "--dictionaries", "auto", "--origin", app.URL, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key).Ready()
	address := "https://" + edge.Address("tls")
	sum := sha256.Sum256([]byte(scriptOf(1)))
	have := base64.StdEncoding.EncodeToString(sum[:])
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	visits := func() devtools.Response {
		t.Helper()
		ctx := tab(t, browser, chromedp.Flag("ignore-certificate-errors-spki-list", certstest.KeyHash(t, cert, key)))
		received := devtools.Record(t, ctx)
		visit := func(v int) {
			t.Helper()
			act(t, ctx, chromedp.Navigate(fmt.Sprint(address, "/v", v)))
			act(t, ctx, chromedp.WaitReady("body[class]"))
			sum := sha256.Sum256([]byte(scriptOf(v)))
			if got, want := act(t, ctx, chromedp.Evaluate[string](`document.body.className`)),
				fmt.Sprintf("v%d %s", v, hex.EncodeToString(sum[:])); got != want {
				t.Fatalf("the browser has %q, want %q", got, want)
			}
		}
		visit(1)
		// Another visitor has version 1 too, and comes before the difference is made.
		harness.AwaitDifference(t, client, address+paths[1], have)
		visit(2)
		return received(paths[1])
	}
	// A browser stores a dictionary at some time after the page has loaded, on a busy machine after
	// the next visit. Then another browser tries.
	got := visits()
	for tries := 1; got.Dictionary == "" && tries < 5; tries++ {
		got = visits()
	}
	if got.Coding != "dcz" || got.Dictionary != have {
		t.Errorf("version 2 came as %+v, want dcz by the dictionary %s", got, have)
	}
	if got.Bytes > len(scriptOf(2))/20 {
		t.Errorf("version 2 took %d bytes of %d", got.Bytes, len(scriptOf(2)))
	}
	t.Logf("version 2: %d bytes as %s, of %d", got.Bytes, got.Coding, len(scriptOf(2)))
}
