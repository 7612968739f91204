//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/relay"
	"github.com/iconedge/iconedge/loadtest/report"
)

const pagesHelp = `
Measures how long Chromium takes for a page of --icons icons over HTTP/2 and over HTTP/3, with a delay and with lost packets
between it and the edge. Every load has a new connection and an empty cache. A network interface carries the packets (tun), so
it needs root. It prints the times, and with --docs writes the lab book (docs/reference/performance).

  make build .cache/loadtest && .cache/loadtest pages --iconedge ./iconedge --docs docs/reference
  .cache/loadtest pages --loads 3 --loss 0,3`

// A pages holds the settings of `loadtest pages`, and the servers that it starts.
type pages struct {
	iconedge, docs, browser string
	icons, loads            int
	delay                   time.Duration
	loss                    percents
	std                     cli.Streams

	dir, pem string
	origin   netip.AddrPort
	result   report.Pages
}

// percents is a list of numbers from 0 to 100.
type percents []float64

func (p *percents) String() string {
	var list []string
	for _, n := range *p {
		list = append(list, strconv.FormatFloat(n, 'g', -1, 64))
	}
	return strings.Join(list, ",")
}

func (p *percents) Set(value string) error {
	*p = nil
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 0 || n > 100 {
			return fmt.Errorf("%q is not a percentage", text)
		}
		*p = append(*p, n)
	}
	return nil
}

func runPages(ctx context.Context, std cli.Streams, args []string) (err error) {
	p := pages{std: std, loss: percents{0, 1, 3}}
	fs := program.Flags("pages", "", pagesHelp)
	fs.StringVar(&p.iconedge, "iconedge", "./iconedge", "`program` whose edge is measured")
	fs.StringVar(&p.docs, "docs", "", "`folder` for performance.md and performance/ (default: they are not written)")
	fs.StringVar(&p.browser, "browser", "chromium", "`program` of Chromium")
	fs.IntVar(&p.icons, "icons", 40, "`number` of icons of the page")
	fs.IntVar(&p.loads, "loads", 30, "`number` of times that the page is loaded over each protocol and path")
	fs.DurationVar(&p.delay, "delay", 50*time.Millisecond, "`time` that a packet takes in each direction")
	fs.Var(&p.loss, "loss", "`PERCENT[,PERCENT...]` of lost packets in each direction")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if p.icons < 1 || p.loads < 1 || p.delay < 0 {
		return cli.Usage("--icons and --loads must be at least 1, --delay not negative")
	}
	if p.iconedge, err = filepath.Abs(p.iconedge); err != nil {
		return err
	}
	if p.browser, err = exec.LookPath(p.browser); err != nil {
		return err
	}
	var done func()
	if p.dir, done, err = workFolder(""); err != nil {
		return err
	}
	defer done()
	p.pem = filepath.Join(p.dir, "pair.pem")
	if _, err := makePEM(p.pem, time.Now()); err != nil {
		return err
	}
	stop, err := p.serve()
	if err != nil {
		return err
	}
	defer stop()
	p.result = report.Pages{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Icons: p.icons,
		Loads: p.loads, Delay: p.delay.Seconds()}
	if p.result.Browser, err = versionOf(ctx, p.browser); err != nil {
		return err
	}
	for _, loss := range p.loss {
		if err := p.overPath(ctx, loss); err != nil {
			return fmt.Errorf("%v %% loss: %w", loss, err)
		}
	}
	fmt.Fprintln(std.Out)
	report.Text(std.Out, p.result.Table())
	if p.docs == "" {
		return nil
	}
	return writeDocs(p.docs, report.Page{Pages: &p.result})
}

// versionOf returns the output of a program for --version.
func versionOf(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// serve starts the application behind the edge, which has the page and its icons.
func (p *pages) serve() (stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.origin = ln.Addr().(*net.TCPAddr).AddrPort()
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset="utf-8"><title>icons</title><link rel="icon" href="data:,">`)
	for i := range p.icons {
		fmt.Fprintf(&page, `<img src="%s" width="24" height="24" alt="">`, iconPath(uint64(i)))
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			serveIcon(w, r, hitBody)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cache-Control", "public, max-age=86400")
		fmt.Fprint(w, page.String())
	})}
	go server.Serve(ln)
	return func() { server.Close() }, nil
}

// overPath measures both protocols in turn over a path with a loss in per cent.
func (p *pages) overPath(ctx context.Context, loss float64) error {
	wire, err := relay.OpenWire(relay.NewPath(p.delay, loss/100, uint64(1+1000*loss)))
	if err != nil {
		return err
	}
	defer wire.Close()
	place := peers.Place{Dir: filepath.Join(p.dir, fmt.Sprint("edge-", loss)), Origin: p.origin, Cores: 1, PEM: p.pem, Host: wire.Near}
	spec, err := peers.Edge("iconedge", p.iconedge, place, "--proxy-all")
	if err != nil {
		return err
	}
	edge, err := peers.Start(ctx, spec)
	if err != nil {
		return err
	}
	defer edge.Stop()
	address := netip.AddrPortFrom(wire.Far, spec.Listen.Port()).String()
	browsers := map[string]context.Context{}
	for _, protocol := range []string{h2load.HTTP2, h2load.HTTP3} {
		browser, stop, err := p.open(ctx, protocol, address)
		if err != nil {
			return err
		}
		defer stop()
		browsers[protocol] = browser
		if _, err := p.load(browser, protocol, address); err != nil { // fills the cache
			return fmt.Errorf("%s: %w", protocol, err)
		}
	}
	for i := range p.loads {
		for _, protocol := range []string{h2load.HTTP2, h2load.HTTP3} {
			took, err := p.load(browsers[protocol], protocol, address)
			if err != nil {
				return fmt.Errorf("%s: %w", protocol, err)
			}
			p.result.Add(protocol, loss, took)
			fmt.Fprintf(p.std.Err, "%d/%d  %g %% lost  %s  %4.0f ms\n", i+1, p.loads, loss, protocol, took)
		}
	}
	return nil
}

// open starts a browser that speaks one protocol with the edge.
func (p *pages) open(ctx context.Context, protocol, address string) (browser context.Context, stop func(), err error) {
	pair, err := tls.LoadX509KeyPair(p.pem, p.pem)
	if err != nil {
		return nil, nil, err
	}
	hash := sha256.Sum256(pair.Leaf.RawSubjectPublicKeyInfo)
	options := append(slices.Clip(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(p.browser), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(hash[:])),
		chromedp.Flag("disable-quic", protocol != h2load.HTTP3), chromedp.Flag("enable-quic", protocol == h2load.HTTP3))
	if protocol == h2load.HTTP3 {
		options = append(options, chromedp.Flag("origin-to-force-quic-on", address))
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	browser, cancel := chromedp.NewContext(ctx)
	stop = func() { cancel(); end() }
	if _, err := chromedp.Run(browser, chromedp.Navigate("about:blank")); err != nil {
		stop()
		return nil, nil, fmt.Errorf("starting %s: %w", p.browser, err)
	}
	return browser, stop, nil
}

// pageTimes is a script that returns the time until the page's load event has ended, how many of
// its images came, and the protocols.
const pageTimes = `new Promise(ok => {
	const done = () => setTimeout(() => {
		const all = performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"));
		ok({ took: all[0].loadEventEnd - all[0].startTime, images: [...document.images].filter(i => i.naturalWidth > 0).length, by: [...new Set(all.map(e => e.nextHopProtocol))].join() });
	});
	document.readyState === "complete" ? done() : addEventListener("load", done);
})`

// load loads the page in a window without connections and without a cache, and returns the time in
// milliseconds.
func (p *pages) load(browser context.Context, protocol, address string) (took float64, err error) {
	window, closeWindow := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	defer closeWindow()
	window, cancel := context.WithTimeout(window, pageTime)
	defer cancel()
	if _, err := chromedp.Run(window, chromedp.Navigate("https://"+address+"/")); err != nil {
		return 0, err
	}
	got, err := chromedp.Run(window, chromedp.Evaluate[struct {
		Took   float64
		Images int
		By     string
	}](pageTimes, chromedp.EvalAwaitPromise))
	if err == nil && (got.Images != p.icons || got.By != protocol) {
		err = fmt.Errorf("%d of %d icons came, by %q: %w", got.Images, p.icons, got.By, errWrong)
	}
	return got.Took, err
}

// pageTime is the longest time of a page.
const pageTime = 2 * time.Minute
