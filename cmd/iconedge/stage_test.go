package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/debugger"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/stage/trap.js
var trap string

// settle waits for two rounds of the trap's pokes, for animations that begin at once, and for their
// requests.
const settle = `new Promise(ok => setTimeout(ok, 1200))`

// ways are the ways in which a stage shows an SVG: as a document, parsed as part of an HTML or
// XHTML page, and, in one page, inserted by a script and as a picture.
var ways = []string{"document", "parsed", "xhtml", "inside"}

// A stage is a web site that shows SVGs, and the proxy through which the browser reaches the site
// and everything else, so that the stage sees every request of an SVG.
type stage struct {
	svgs  [][]byte
	ways  []string
	boxed bool // frames may not navigate the page around them

	mu   sync.Mutex
	seen map[int][]string // by SVG, its actions; -1: the SVG is unknown
}

// browsers matches the hosts that Chromium contacts for updates, despite its flags; no test SVG
// does.
var browsers = regexp.MustCompile(`\.(google|googleapis|gvt1)\.com(:443)?$`)

func newStage(boxed bool, ways ...string) *stage {
	return &stage{ways: ways, boxed: boxed, seen: map[int][]string{}}
}

// add adds an SVG. It makes the host in the SVG unique, so that a request without a Referer can be
// attributed.
func (s *stage) add(svg []byte) {
	s.svgs = append(s.svgs, bytes.ReplaceAll(svg, []byte("evil.example"), fmt.Appendf(nil, "n%d.evil.example", len(s.svgs))))
}

// record records an action of the SVG that one of the addresses names.
func (s *stage) record(what string, addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil {
			first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
			if host, _, ok := strings.Cut(u.Host, ".evil.example"); ok {
				first = strings.TrimPrefix(host, "n")
			}
			if n, err := strconv.Atoi(first); err == nil {
				s.seen[n] = append(s.seen[n], what)
				return
			}
		}
	}
	s.seen[-1] = append(s.seen[-1], what)
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch parts := strings.Split(r.URL.Path, "/"); {
	case browsers.MatchString(r.Host): // the browser's own request
		http.NotFound(w, r)
	case r.Method == http.MethodConnect:
		s.record("requested "+r.Host, "https://"+r.Host)
		http.Error(w, "nothing is there", http.StatusBadGateway)
	case r.Host != "stage.test":
		s.record("requested "+r.URL.String(), r.URL.String(), r.Referer())
		http.NotFound(w, r)
	case r.URL.Path == "/trap":
		s.record(r.FormValue("what"), r.FormValue("at"))
	case r.URL.Path == "/":
		s.serveFrames(w, r)
	case len(parts) == 4 && (parts[3] == "" || parts[3] == "svg.svg"):
		s.serveSVG(w, r, parts[1], parts[2], parts[3])
	default:
		s.record("requested "+r.URL.String(), r.URL.String(), r.Referer())
		http.NotFound(w, r)
	}
}

// inside puts an SVG into a page as HTML, as a fragment, which runs scripts too, as a picture and
// as a background.
const inside = `<!doctype html><title></title><body data-stage style="background:url(svg.svg)"><div data-stage></div><div data-stage></div><img data-stage src="svg.svg" alt=""><script data-stage>
	const svg = %s, [html, fragment] = document.querySelectorAll("div");
	html.innerHTML = svg;
	fragment.append(document.createRange().createContextualFragment(svg));
	//# sourceURL=stage:inside
</script>`

// serveFrames serves a page with a frame for each way of showing each of some SVGs.
func (s *stage) serveFrames(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.FormValue("from"))
	to, _ := strconv.Atoi(r.FormValue("to"))
	sandbox := ""
	if s.boxed {
		sandbox = ` sandbox="allow-scripts allow-same-origin allow-forms"`
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, `<!doctype html><title>stage</title><link rel="icon" href="data:,"><style>iframe{width:24px;height:24px;border:0}</style><body data-stage>`)
	for i := from; i < min(to, len(s.svgs)); i++ {
		for _, way := range s.ways {
			file := ""
			if way == "document" {
				file = "svg.svg"
			}
			fmt.Fprintf(w, `<iframe%s src="/%d/%s/%s"></iframe>`, sandbox, i, way, file)
		}
	}
}

// serveSVG serves one SVG, or a page around it, without a Content-Security-Policy, which would
// protect the page.
func (s *stage) serveSVG(w http.ResponseWriter, r *http.Request, number, way, file string) {
	n, err := strconv.Atoi(number)
	if err != nil || n >= len(s.svgs) {
		http.NotFound(w, r)
		return
	}
	svg := s.svgs[n]
	text, err := json.Marshal(string(svg))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	kind, body := "text/html; charset=utf-8", ""
	switch {
	case file != "":
		kind, body = "image/svg+xml", string(svg)
	case way == "parsed":
		body = "<!doctype html><title></title><body>" + string(svg)
	case way == "xhtml":
		kind, body = "application/xhtml+xml",
			`<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>`+string(svg)+`</body></html>`
	case way == "inside":
		body = fmt.Sprintf(inside, text)
	}
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, body)
}

// actions shows all SVGs in a browser, and returns their actions by number.
func (s *stage) actions(t *testing.T, browser string) map[int][]string {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	ctx := tab(t, browser, chromedp.ProxyServer(server.URL), chromedp.Flag("proxy-bypass-list", "<-loopback>"))
	act(t, ctx, chromedp.Navigate("about:blank"))
	s.watch(t, ctx)
	batch := 240 / len(s.ways) // a small machine shows a page of so many frames in seconds
	for from := 0; from < len(s.svgs); from += batch {
		act(t, ctx, chromedp.Navigate(fmt.Sprintf("http://stage.test/?from=%d&to=%d", from, from+batch)))
		act(t, ctx, chromedp.Evaluate[any](settle, chromedp.EvalAwaitPromise))
		if title := act(t, ctx, chromedp.Title()); title != "stage" {
			t.Errorf("SVGs %d to %d left the page with the title %q", from, from+batch, title)
		}
	}
	act(t, ctx, chromedp.Navigate("about:blank"))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// watch sets the trap, and reports each script in a document, whatever the script does.
func (s *stage) watch(t *testing.T, ctx context.Context) {
	t.Helper()
	err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*debugger.EventScriptParsed); ok && strings.HasPrefix(e.URL, "http") {
			s.record("ran a script", e.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, debugger.Enable, debugger.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdppage.AddScriptToEvaluateOnNewDocument,
		cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: trap}); err != nil {
		t.Fatal(err)
	}
}

// sentRequest reports whether an SVG sent a request, and ranScript whether it ran a script.
func sentRequest(did []string) bool {
	return slices.ContainsFunc(did, func(s string) bool { return strings.HasPrefix(s, "requested ") })
}

func ranScript(did []string) bool {
	return slices.ContainsFunc(did, func(s string) bool { return s == "ran a script" || s == "alert" })
}
