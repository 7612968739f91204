package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// dotsPage has a function that loads images, all at once, and reports how many came, and by which
// protocol they came.
const dotsPage = `<!doctype html><meta charset="utf-8"><title>dots</title><link rel="icon" href="data:,"><body>
<script>
	const load = n => new Promise(ok => { const i = new Image(); i.onload = () => ok(1); i.onerror = () => ok(0); i.src = "/" + n + ".svg" });
	const show = (first, n) => Promise.all(Array.from({ length: n }, (_, i) => load(first + i))).then(all => {
		const by = new Set(performance.getEntriesByType("resource").map(e => e.nextHopProtocol));
		return all.reduce((a, b) => a + b, 0) + " by " + [...by].sort().join();
	});
</script>`

// dots is an application of images and pages of images. It never responds to /wait.
type dots struct{ end chan struct{} }

func (d *dots) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, dotsPage)
	case "/wait":
		<-d.end
	default:
		w.Header().Set("Content-Type", "image/svg+xml")
		w.Header().Set("Cache-Control", "public, max-age=600")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><circle cx="4" cy="4" r="4"/></svg>`)
	}
}

// A quicBrowser is a browser that has learned of HTTP/3 from an edge, in front of an application.
type quicBrowser struct {
	t         *testing.T
	tab       context.Context
	app       *dots
	origin    string
	certified []string // flags
	edge      *harness.Server
	address   string
	shown     int // images so far: every page has others
}

func newQUICBrowser(t *testing.T, limits ...string) *quicBrowser {
	b := &quicBrowser{t: t, app: &dots{make(chan struct{})}, address: "127.0.0.1:0"}
	program, home := harness.Browser(t), t.TempDir()
	cert, key := certstest.Pair(t, home, "edge", "edge", "127.0.0.1")
	b.certified = []string{"--tls-cert", cert, "--tls-key", key}
	origin := httptest.NewServer(b.app)
	t.Cleanup(origin.Close)
	t.Cleanup(func() { close(b.app.end) })
	b.origin = origin.URL
	b.serve(limits...)
	b.address = b.edge.Address("tls")
	// To force QUIC on any port of a host makes the browser accept the host's certificate over
	// QUIC. On the edge's own port it would never fall back.
	b.tab = tab(t, program, chromedp.Flag("ignore-certificate-errors-spki-list", certstest.KeyHash(t, cert, key)),
		chromedp.Flag("disable-quic", false),
		chromedp.Flag("enable-quic", true), chromedp.Flag("origin-to-force-quic-on", "127.0.0.1:1"))
	harness.Eventually(t, "images come over HTTP/3", func() bool { return b.open().show(8) == "8 by h3" })
	return b
}

// serve starts an edge, in the place of the one before.
func (b *quicBrowser) serve(limits ...string) {
	b.t.Helper()
	if b.edge != nil {
		b.edge.Stop()
	}
	args := append([]string{"edge", "--proxy-all", "--origin", b.origin, "--listen", "127.0.0.1:0", "--admin-listen",
		"127.0.0.1:0", "--tls-listen", b.address,
		"--idle-timeout", "10m", "--request-timeout", "10m"}, b.certified...)
	b.edge = harness.Start(b.t, b.t.TempDir(), append(args, limits...)...).Ready()
}

// open opens the page.
func (b *quicBrowser) open() *quicBrowser {
	b.t.Helper()
	act(b.t, b.tab, chromedp.Navigate("https://"+b.address+"/"))
	return b
}

// show loads n images that no page has had, and returns what the page reports.
func (b *quicBrowser) show(n int) string {
	b.t.Helper()
	b.shown += n
	return act(b.t, b.tab, chromedp.Evaluate[string](fmt.Sprintf("show(%d, %d)", b.shown-n, n), chromedp.EvalAwaitPromise))
}

// showsAll checks that all images come without a message on the console, and at least some of them
// over HTTP/2, because they can't come over HTTP/3.
func (b *quicBrowser) showsAll(n int) {
	b.t.Helper()
	messages := consoleOf(b.t, b.tab)
	if got := b.show(n); got != fmt.Sprint(n, " by h2") && got != fmt.Sprint(n, " by h2,h3") {
		b.t.Errorf("%q, want all %d and h2", got, n)
	}
	if m := messages(); len(m) > 0 {
		b.t.Errorf("%q", m)
	}
}

// count returns the value of a metric of the edge.
func (b *quicBrowser) count(name string) int { return harness.Sum(b.edge.Metrics(b.t), name+" ") }

// occupy opens a connection from an address, and sends a request on it to which the application
// does not respond, so that the edge does not close it to make room.
func (b *quicBrowser) occupy(from string) error {
	b.t.Helper()
	c, err := dialQUIC(b.t, b.address, from)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, "https://"+b.address+"/wait", nil)
	if err != nil {
		return err
	}
	before := b.count("iconedge_edge_waiting")
	go (&http3.Transport{}).NewClientConn(c).RoundTrip(r) // fails when the test ends
	harness.Eventually(b.t, "the request waits", func() bool {
		return b.count("iconedge_edge_waiting") > before ||
			c.Context().Err() != nil
	})
	return context.Cause(c.Context())
}

// client returns the address of one of many clients.
func client(i int) string { return fmt.Sprintf("127.0.1.%d", i+1) }

// TestBrowserWithoutRoomOverQUIC: a page that a browser opens while the edge has no room for it
// over HTTP/3 is complete, and comes over HTTP/2: with no connection open yet, when its own is
// closed to make room, and when its requests are rejected.
func TestBrowserWithoutRoomOverQUIC(t *testing.T) {
	t.Parallel()
	const most = 8
	t.Run("cold, its address has too many", func(t *testing.T) {
		b := newQUICBrowser(t)
		b.serve("--max-connections-per-client", strconv.Itoa(most))
		for range most {
			if _, err := dialQUIC(t, b.address, "127.0.0.1"); err != nil {
				t.Fatal(err)
			}
		}
		b.refused("client", 40)
	})
	t.Run("cold, all have too many", func(t *testing.T) {
		b := newQUICBrowser(t)
		b.serve("--max-connections", strconv.Itoa(most))
		b.fill(most)
		b.refused("total", 40)
	})
	t.Run("open, closed to make room", func(t *testing.T) {
		b := newQUICBrowser(t, "--max-connections", strconv.Itoa(most))
		b.fill(most - 1)
		harness.Eventually(t, "the browser's connection is closed", func() bool {
			b.occupy(client(most))
			return b.count("iconedge_edge_connections_reclaimed_total") > 0
		})
		b.refused("total", 40)
	})
	t.Run("open, its requests are rejected", func(t *testing.T) {
		b := newQUICBrowser(t)
		rejected := func() int { return b.count("iconedge_edge_h3_requests_rejected_total") }
		b.open()
		for rejected() == 0 { // until streams with half a head use up the share of the address
			c, err := dialQUIC(t, b.address, "127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				s, err := c.OpenStreamSync(t.Context())
				if err == nil {
					_, err = s.Write([]byte{0x01, 0x40})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		before := rejected()
		b.showsAll(200)
		if rejected() == before {
			t.Error("none of the browser's requests was rejected")
		}
	})
}

// TestBrowserInACrowdOverQUIC: a page of 500 icons comes over HTTP/3 while 400 other connections of
// the browser's address are open. With -short it has 200 icons.
func TestBrowserInACrowdOverQUIC(t *testing.T) {
	t.Parallel()
	crowd, icons := 400, 500
	if testing.Short() {
		icons = 200
	}
	browser, home := harness.Browser(t), withPacks(t)
	cert, key := certstest.Pair(t, home, "edge", "edge", "127.0.0.1")
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--tls-listen",
		"127.0.0.1:0", "--tls-cert", cert, "--tls-key", key,
		"--idle-timeout", "10m").Ready()
	for range crowd {
		if _, err := dialQUIC(t, edge.Address("tls"), "127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	ctx := tab(t, browser, chromedp.Flag("ignore-certificate-errors-spki-list", certstest.KeyHash(t, cert, key)),
		chromedp.Flag("disable-quic", false),
		chromedp.Flag("enable-quic", true), chromedp.Flag("origin-to-force-quic-on", edge.Address("tls")))
	for _, text := range showIcons(t, ctx, edge, iconNames(t, icons), "h3", crowd+1) {
		t.Error(text)
	}
}

// fill opens connections of as many clients, each with a request that waits.
func (b *quicBrowser) fill(n int) {
	b.t.Helper()
	for i := range n {
		if err := b.occupy(client(i)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// refused checks that a page comes while the edge refuses the browser's connection over QUIC.
func (b *quicBrowser) refused(reason string, images int) {
	b.t.Helper()
	refused := func() int { return b.count(`iconedge_edge_h3_connections_refused_total{reason="` + reason + `"}`) }
	before := refused()
	b.open().showsAll(images)
	if refused() == before {
		b.t.Error("no connection was refused")
	}
}

// dialQUIC opens a connection from an address.
func dialQUIC(t *testing.T, address, from string) (*quic.Conn, error) {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := quic.Dial(t.Context(), socket, to, http3.ConfigureTLSConfig(&tls.Config{InsecureSkipVerify: true}),
		&quic.Config{KeepAlivePeriod: time.Second, MaxIdleTimeout: harness.Longest})
	if err == nil {
		t.Cleanup(func() { c.CloseWithError(0, "") })
	}
	return c, err
}
