package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// iconsPage shows many icons. It loads the first one before the others, because until then a
// browser can't know that one connection is enough. It reports how many icons were shown, and by
// which protocol.
const iconsPage = `<!doctype html><meta charset="utf-8"><title>icons</title><link rel="icon" href="data:,"><body>
<script>
	const edge = %q, names = %s;
	const draw = name => new Promise((ok, no) => { const i = new Image(); i.onload = () => ok(i.naturalWidth > 0); i.onerror = () => no(name); i.src = edge + "/mdi/" + name + ".svg"; document.body.append(i) });
	draw(names[0]).then(() => Promise.all(names.slice(1).map(draw))).then(all => {
		const by = new Set(performance.getEntriesByType("resource").map(e => e.nextHopProtocol));
		document.body.className = all.filter(Boolean).length + 1 + " by " + [...by].join();
	}, name => document.body.className = "failed " + name);
</script>`

// TestBrowserOverTLS: the icons of a page of 40 and of a page of 400 come over one connection of
// HTTP/2 or HTTP/3, and the browser's console is empty. With -short it opens a page of 200 alone,
// for which a client needs more streams than it may have open at once.
func TestBrowserOverTLS(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	home := withPacks(t)
	cert, key := certstest.Pair(t, home, "edge", "edge", "127.0.0.1")
	names := iconNames(t, 400)
	pages := []int{40, 400}
	if testing.Short() {
		pages = []int{200}
	}
	for _, protocol := range []string{"h2", "h3"} {
		for _, n := range pages {
			t.Run(fmt.Sprint(n, " by ", protocol), func(t *testing.T) {
				var wrong []string
				// a browser that is paused while it connects may open a second connection
				for range 3 {
					edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
						"--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key,
						"--idle-timeout", "10m").Ready() // the connection stays until it is counted
					flags := []chromedp.ExecAllocatorOption{
						chromedp.Flag("ignore-certificate-errors-spki-list", certstest.KeyHash(t, cert, key))}
					if protocol == "h3" {
						flags = append(flags, chromedp.Flag("disable-quic", false),
							chromedp.Flag("enable-quic", true), chromedp.Flag("origin-to-force-quic-on", edge.Address("tls")))
					}
					wrong = showIcons(t, tab(t, browser, flags...), edge, names[:n], protocol, 1)
					if edge.Stop(); len(wrong) == 0 {
						return
					}
					t.Logf("%q", wrong)
				}
				t.Errorf("three times: %q", wrong)
			})
		}
	}
}

// showIcons makes a browser show a page of icons, and returns the faults of how they came. conns is
// the number of connections by the protocol that the edge has then.
func showIcons(t *testing.T, ctx context.Context, edge *harness.Server, names []string, protocol string, conns int) (wrong []string) {
	t.Helper()
	list, _ := json.Marshal(names)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, iconsPage, "https://"+edge.Address("tls"), list)
	}))
	defer site.Close()
	messages := consoleOf(t, ctx)
	act(t, ctx, chromedp.Navigate(site.URL))
	act(t, ctx, chromedp.WaitReady("body[class]"))
	if got, want := act(t, ctx, chromedp.Evaluate[string](`document.body.className`)),
		fmt.Sprint(len(names), " by ", protocol); got != want {
		return append([]string{fmt.Sprintf("the page has the class %q, want %q", got, want)}, messages()...)
	}
	count := func(line string) int { return harness.Sum(edge.Metrics(t), line) }
	requests := `iconedge_edge_requests_total{.*protocol="` + protocol + `".*} `
	// an edge counts a request after its response
	harness.Eventually(t, "the edge has counted the requests", func() bool { return count(requests) >= len(names) })
	if got := count(requests); got != len(names) {
		wrong = append(wrong, fmt.Sprintf("%d requests by %s are counted, want %d", got, protocol, len(names)))
	}
	if got := count(`iconedge_edge_` + protocol + `_connections `); got != conns {
		wrong = append(wrong, fmt.Sprintf("%d connections by %s, want %d", got, protocol, conns))
	}
	if got := count(`iconedge_edge_tls_handshakes_total{result="ok"} `); protocol == "h2" && got != 1 {
		wrong = append(wrong, fmt.Sprintf("%d handshakes, want 1", got))
	}
	return append(wrong, messages()...)
}

// consoleOf returns a function that returns the console messages of a page so far.
func consoleOf(t *testing.T, ctx context.Context) func() []string {
	t.Helper()
	var mu sync.Mutex
	var messages []string
	if err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			messages = append(messages, "the console has "+e.Entry.Text)
		case *runtime.EventConsoleAPICalled, *runtime.EventExceptionThrown:
			messages = append(messages, fmt.Sprintf("the console has %+v", e))
		}
	}); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(messages)
	}
}

// iconNames returns the first n names of mdi.
func iconNames(t *testing.T, n int) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(harness.NPM(t, "@iconify-json/mdi"), "icons.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pack struct{ Icons map[string]json.RawMessage }
	if err := json.Unmarshal(b, &pack); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range pack.Icons {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:n]
}
