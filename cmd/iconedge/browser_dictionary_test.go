package main

import (
	"context"
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
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/internal/certs/certstest"
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

// sentHeads returns a function that returns the fields of the responses for a path that a browser
// has received, by the protocol of its developer tools, and the bytes of their bodies on the wire.
func sentHeads(t *testing.T, ctx context.Context) func(path string) (coding, ofRequest string, bytes int) {
	t.Helper()
	var mu sync.Mutex
	urls, codings, available := map[network.RequestID]string{}, map[network.RequestID]string{}, map[network.RequestID]string{}
	sizes := map[network.RequestID]int{}
	lower := func(h network.Headers, name string) string {
		for one, value := range h {
			if strings.EqualFold(one, name) {
				return fmt.Sprint(value)
			}
		}
		return ""
	}
	if err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			urls[e.RequestID] = e.Request.URL
		case *network.EventRequestWillBeSentExtraInfo:
			available[e.RequestID] = lower(e.Headers, "available-dictionary")
		case *network.EventResponseReceivedExtraInfo:
			codings[e.RequestID] = lower(e.Headers, "content-encoding")
		case *network.EventLoadingFinished:
			sizes[e.RequestID] = int(e.EncodedDataLength)
		}
	}); err != nil {
		t.Fatal(err)
	}
	act(t, ctx, chromedp.Navigate("about:blank"))
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return func(path string) (string, string, int) {
		mu.Lock()
		defer mu.Unlock()
		for id, url := range urls {
			if strings.HasSuffix(url, path) && codings[id] != "" {
				return codings[id], available[id], sizes[id]
			}
		}
		return "", "", 0
	}
}

// TestBrowserDictionary: a browser that has version 1 of a bundle gets version 2 of it as a
// difference, over TLS, and runs it.
func TestBrowserDictionary(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
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
	ctx := tab(t, browser, chromedp.Flag("ignore-certificate-errors-spki-list", keyHash(t, cert, key)))
	heads := sentHeads(t, ctx)
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
	sum := sha256.Sum256([]byte(scriptOf(1)))
	have := ":" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	// Another visitor has version 1 too, and comes before the difference is made.
	harness.Eventually(t, "the difference is made", func() bool {
		q, err := http.NewRequest(http.MethodGet, address+paths[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd, dcb, dcz")
		q.Header.Set("Available-Dictionary", have)
		a, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		io.Copy(io.Discard, a.Body)
		return a.Header.Get("Content-Encoding") == "dcz"
	})
	visit(2)
	coding, available, bytes := heads(paths[1])
	if coding != "dcz" || available != have {
		t.Errorf("version 2 came as %q to a request with the dictionary %q, want dcz and %q", coding, available, have)
	}
	if bytes > len(scriptOf(2))/20 {
		t.Errorf("version 2 took %d bytes of %d", bytes, len(scriptOf(2)))
	}
	t.Logf("version 2: %d bytes as %s, of %d", bytes, coding, len(scriptOf(2)))
}
