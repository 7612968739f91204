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

// settle lets two rounds of the trap's pokes, animations that begin at once, and what they fetch come to an end.
const settle = `new Promise(ok => setTimeout(ok, 1200))`

// ways are those in which a stage shows a drawing: by itself, read with a page of HTML or XHTML, and, in one page, put there by
// a script and as a picture.
var ways = []string{"document", "parsed", "xhtml", "inside"}

// A stage is a web site that shows drawings, and the proxy through which a browser reaches it and everything else: what a
// drawing asks for is seen here, wherever it would have gone.
type stage struct {
	drawings [][]byte
	ways     []string
	boxed    bool // frames may not take the page away that they are in

	mu   sync.Mutex
	seen map[int][]string // per drawing, what it did; -1: it can't be told which
}

// browsers is where a Chromium asks for its updates, whatever it is told; no drawing of ours does.
var browsers = regexp.MustCompile(`\.(google|googleapis|gvt1)\.com(:443)?$`)

func newStage(boxed bool, ways ...string) *stage {
	return &stage{ways: ways, boxed: boxed, seen: map[int][]string{}}
}

// add takes a drawing in. The host that it asks is made its own, so that it can be told whose request one is that has no Referer.
func (s *stage) add(drawing []byte) {
	s.drawings = append(s.drawings, bytes.ReplaceAll(drawing, []byte("evil.example"), fmt.Appendf(nil, "n%d.evil.example", len(s.drawings))))
}

// did takes in what the drawing that one of the addresses names has done.
func (s *stage) did(what string, addresses ...string) {
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
	case browsers.MatchString(r.Host): // its own, for itself
		http.NotFound(w, r)
	case r.Method == http.MethodConnect:
		s.did("asked "+r.Host, "https://"+r.Host)
		http.Error(w, "nothing is there", http.StatusBadGateway)
	case r.Host != "stage.test":
		s.did("asked "+r.URL.String(), r.URL.String(), r.Referer())
		http.NotFound(w, r)
	case r.URL.Path == "/trap":
		s.did(r.FormValue("what"), r.FormValue("at"))
	case r.URL.Path == "/":
		s.hall(w, r)
	case len(parts) == 4 && (parts[3] == "" || parts[3] == "drawing.svg"):
		s.show(w, r, parts[1], parts[2], parts[3])
	default:
		s.did("asked "+r.URL.String(), r.URL.String(), r.Referer())
		http.NotFound(w, r)
	}
}

// inside puts a drawing into a page as HTML, as a fragment, which runs scripts too, as a picture and as a background.
const inside = `<!doctype html><title></title><body data-stage style="background:url(drawing.svg)"><div data-stage></div><div data-stage></div><img data-stage src="drawing.svg" alt=""><script data-stage>
	const drawing = %s, [html, fragment] = document.querySelectorAll("div");
	html.innerHTML = drawing;
	fragment.append(document.createRange().createContextualFragment(drawing));
	//# sourceURL=stage:inside
</script>`

// hall is a page with a frame for each way of showing each of some drawings.
func (s *stage) hall(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.FormValue("from"))
	to, _ := strconv.Atoi(r.FormValue("to"))
	sandbox := ""
	if s.boxed {
		sandbox = ` sandbox="allow-scripts allow-same-origin allow-forms"`
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, `<!doctype html><title>stage</title><link rel="icon" href="data:,"><style>iframe{width:24px;height:24px;border:0}</style><body data-stage>`)
	for i := from; i < min(to, len(s.drawings)); i++ {
		for _, way := range s.ways {
			file := ""
			if way == "document" {
				file = "drawing.svg"
			}
			fmt.Fprintf(w, `<iframe%s src="/%d/%s/%s"></iframe>`, sandbox, i, way, file)
		}
	}
}

// show answers with one drawing, or with a page around it. There is no Content-Security-Policy: the drawing is on its own.
func (s *stage) show(w http.ResponseWriter, r *http.Request, number, way, file string) {
	n, err := strconv.Atoi(number)
	if err != nil || n >= len(s.drawings) {
		http.NotFound(w, r)
		return
	}
	drawing := s.drawings[n]
	text, err := json.Marshal(string(drawing))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	kind, body := "text/html; charset=utf-8", ""
	switch {
	case file != "":
		kind, body = "image/svg+xml", string(drawing)
	case way == "parsed":
		body = "<!doctype html><title></title><body>" + string(drawing)
	case way == "xhtml":
		kind, body = "application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>`+string(drawing)+`</body></html>`
	case way == "inside":
		body = fmt.Sprintf(inside, text)
	}
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, body)
}

// look opens all of a stage in a browser and returns what the drawings did, by their number.
func (s *stage) look(t *testing.T, browser string) map[int][]string {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	ctx := tab(t, browser, chromedp.ProxyServer(server.URL), chromedp.Flag("proxy-bypass-list", "<-loopback>"))
	see(t, ctx, chromedp.Navigate("about:blank"))
	s.watch(t, ctx)
	batch := 240 / len(s.ways) // so many frames are a page that a small machine shows in seconds
	for from := 0; from < len(s.drawings); from += batch {
		see(t, ctx, chromedp.Navigate(fmt.Sprintf("http://stage.test/?from=%d&to=%d", from, from+batch)))
		see(t, ctx, chromedp.Evaluate[any](settle, chromedp.EvalAwaitPromise))
		if title := see(t, ctx, chromedp.Title()); title != "stage" {
			t.Errorf("drawings %d to %d left the page with the title %q", from, from+batch, title)
		}
	}
	see(t, ctx, chromedp.Navigate("about:blank"))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// watch sets the trap, and sees to it that each script that a document holds is told, whatever it does.
func (s *stage) watch(t *testing.T, ctx context.Context) {
	t.Helper()
	err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*debugger.EventScriptParsed); ok && strings.HasPrefix(e.URL, "http") {
			s.did("ran a script", e.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, debugger.Enable, debugger.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: trap}); err != nil {
		t.Fatal(err)
	}
}

// asked reports whether a drawing made a request, ran whether it ran a script.
func asked(did []string) bool {
	return slices.ContainsFunc(did, func(s string) bool { return strings.HasPrefix(s, "asked ") })
}

func ran(did []string) bool {
	return slices.ContainsFunc(did, func(s string) bool { return s == "ran a script" || s == "alert" })
}
