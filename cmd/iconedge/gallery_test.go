package main

import (
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// A gallery shows SVGs before the cleaner and then, in the same places, after it, so that the test
// can compare the browser's pixels.
type gallery struct {
	list []sample
}

const (
	pictureSide = 48  // pixels
	perRow      = 12  // pictures in a row
	perPage     = 192 // pictures on a page
)

// calibration is an SVG whose two forms differ a little: a gallery that does not notice it notices
// nothing.
var calibration = sample{
	name:  "calibration",
	raw:   []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#d02020" d="M2 2h20v20H2z"/><path d="M3 3h1v1H3z"/></svg>`),
	clean: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#d02020" d="M2 2h20v20H2z"/></svg>`),
}

func newGallery(list []sample) *gallery { return &gallery{append([]sample{calibration}, list...)} }

func (g *gallery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var set string
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d/%s", &n, &set); err != nil || n >= len(g.list) {
		g.servePage(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	if set == "raw" {
		w.Write(g.list[n].raw)
	} else {
		w.Write(g.list[n].clean)
	}
}

// still fits each SVG to its frame, and stops it 0.7 s after its start.
const still = `Promise.all(Array.from(frames, async frame => {
	const root = frame.document.documentElement, box = root.viewBox?.baseVal;
	if (!box) return;
	if (!root.hasAttribute("viewBox")) root.setAttribute("viewBox", "0 0 " + root.width.baseVal.value + " " + root.height.baseVal.value);
	root.setAttribute("width", "100%");
	root.setAttribute("height", "100%");
	root.pauseAnimations();
	root.setCurrentTime(0.7);
	for (const a of frame.document.getAnimations()) { a.pause(); a.currentTime = 700 }
})).then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(frames.length)))))`

// servePage serves a page of pictures.
func (g *gallery) servePage(w http.ResponseWriter, r *http.Request) {
	var from int
	fmt.Sscan(r.FormValue("from"), &from)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, `<!doctype html><title>gallery</title><link rel="icon" href="data:,"><style>body{margin:0;background:#fff}iframe{position:absolute;border:0}</style>`)
	for i := from; i < min(from+perPage, len(g.list)); i++ {
		at := position(i - from)
		fmt.Fprintf(w, `<iframe src="/%d/%s" width="%d" height="%d" style="left:%dpx;top:%dpx"></iframe>`, i,
			r.FormValue("set"), pictureSide, pictureSide, at.Min.X, at.Min.Y)
	}
}

// position returns the position of a picture on its page.
func position(i int) image.Rectangle {
	const step = pictureSide + 2
	at := image.Pt(i%perRow*step, i/perRow*step)
	return image.Rectangle{at, at.Add(image.Pt(pictureSide, pictureSide))}
}

// compare fails for each SVG whose two forms look different.
func (g *gallery) compare(t *testing.T, browser string) {
	t.Helper()
	server := httptest.NewServer(g)
	defer server.Close()
	ctx := tab(t, browser)
	act(t, ctx, chromedp.EmulateViewport(600, 800))
	shot := func(set string, from int) image.Image {
		act(t, ctx, chromedp.Navigate(fmt.Sprintf("%s/?set=%s&from=%d", server.URL, set, from)))
		act(t, ctx, chromedp.Evaluate[int](still, chromedp.EvalAwaitPromise))
		return decode(t, act(t, ctx, chromedp.CaptureScreenshot()))
	}
	var differ []int
	blank := 0
	for from := 0; from < len(g.list); from += perPage {
		pending := make([]int, min(perPage, len(g.list)-from))
		for i := range pending {
			pending[i] = from + i
		}
		// a busy browser paints an edge wrongly now and then
		for attempts := 0; attempts < 3 && lookAgain(pending, attempts); attempts++ {
			before, after := shot("raw", from), shot("clean", from)
			pending = slices.DeleteFunc(pending, func(i int) bool {
				if attempts == 0 && differing(before, image.White, position(i-from)) == 0 {
					blank++
				}
				return differing(before, after, position(i-from)) == 0
			})
		}
		differ = append(differ, pending...)
	}
	if len(differ) == 0 || differ[0] != 0 {
		t.Fatal("the gallery does not notice the difference of the calibration")
	}
	for _, i := range differ[1:] {
		t.Errorf("%s looks different after the cleaner", g.list[i].name)
	}
	if blank > len(g.list)/20 {
		t.Errorf("%d of %d pictures are blank", blank, len(g.list))
	}
}

// lookAgain reports whether to look at pictures again: the first time at all of them, later at
// those that differed, unless only the calibration did, which must differ.
func lookAgain(pending []int, attempts int) bool {
	return attempts == 0 || len(pending) > 1 || len(pending) == 1 && pending[0] != 0
}

// smoothing is the allowed difference of a channel, of 255, because a browser does not always paint
// an edge in the same way.
const smoothing = 8

// differing counts the pixels within a rectangle that differ between two images.
func differing(a, b image.Image, within image.Rectangle) (pixels int) {
	for y := within.Min.Y; y < within.Max.Y; y++ {
		for x := within.Min.X; x < within.Max.X; x++ {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			if off := max(max(r1, r2)-min(r1, r2), max(g1, g2)-min(g1, g2), max(b1, b2)-min(b1, b2)); off>>8 > smoothing {
				pixels++
			}
		}
	}
	return pixels
}
