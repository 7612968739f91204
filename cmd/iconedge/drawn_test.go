package main

import (
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/test/harness"
)

// A wall shows SVGs in one page, each in a cell of its own.
type wall struct {
	list  []sample
	sides []image.Point // of each, in pixels
}

// newWall cleans the SVGs of a corpus. A sample has the size, at most pictureSide, that its clean
// form has.
func newWall(t *testing.T, list []sample) *wall {
	t.Helper()
	w := &wall{}
	for _, d := range list {
		cleaned, err := svg.CleanDocument(d.raw, true)
		if err != nil {
			t.Errorf("%s is refused: %v", d.name, err)
			continue
		}
		side := image.Pt(pictureSide, pictureSide)
		if cleaned.Width > cleaned.Height {
			side.Y = int(pictureSide*cleaned.Height/cleaned.Width + 0.5)
		} else {
			side.X = int(pictureSide*cleaned.Width/cleaned.Height + 0.5)
		}
		w.list, w.sides = append(w.list, d), append(w.sides, side)
	}
	return w
}

func (w *wall) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var n int
	var form string
	if _, err := fmt.Sscanf(r.URL.Path, "/%d/%s", &n, &form); err == nil && n < len(w.list) {
		rw.Header().Set("Content-Type", "image/svg+xml")
		if form == "raw" {
			rw.Write(w.list[n].raw)
		} else {
			rw.Write(w.list[n].clean)
		}
		return
	}
	form = r.FormValue("form")
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(rw, `<!doctype html><title>wall</title><link rel="icon" href="data:,"><style>body{margin:0;background:#fff}`+
		`.cell{position:absolute;overflow:hidden}.cell>*{display:block;width:100%;height:100%}</style>`)
	for i := range w.list {
		at, side := position(i).Min, w.sides[i]
		fmt.Fprintf(rw, `<div class="cell" style="left:%dpx;top:%dpx;width:%dpx;height:%dpx">`, at.X, at.Y, side.X, side.Y)
		if form == "inline" {
			rw.Write(w.list[i].clean)
		} else {
			fmt.Fprintf(rw, `<img src="/%d/%s" alt="">`, i, form)
		}
		fmt.Fprint(rw, "</div>")
	}
}

// arrived waits until all pictures are there, and animations have begun.
const arrived = `Promise.all(Array.from(document.images, i => i.decode().catch(() => 0)))` +
	`.then(() => new Promise(done => setTimeout(() => done(document.images.length), 600)))`

// shot returns a screenshot of all SVGs in one form.
func (w *wall) shot(t *testing.T, browser, form string) image.Image {
	t.Helper()
	server := httptest.NewServer(w)
	defer server.Close()
	ctx := tab(t, browser)
	rows := (len(w.list) + perRow - 1) / perRow
	act(t, ctx, chromedp.EmulateViewport(600, int64(rows*(pictureSide+2))))
	act(t, ctx, chromedp.Navigate(server.URL+"/?form="+form))
	act(t, ctx, chromedp.Evaluate[int](arrived, chromedp.EvalAwaitPromise))
	return decode(t, act(t, ctx, chromedp.CaptureScreenshot()))
}

// compare fails for each SVG that looks different in one of the forms, and returns the screenshot
// of the SVGs as they came.
func (w *wall) compare(t *testing.T, browser string, forms ...string) (before image.Image) {
	t.Helper()
	before = w.shot(t, browser, "raw")
	for _, form := range forms {
		after := w.shot(t, browser, form)
		for i, d := range w.list {
			if n := differing(before, after, position(i)); n > 2 {
				t.Errorf("%s looks different as %s: %d pixels", d.name, form, n)
			}
		}
	}
	return before
}

// TestDrawnSVGs compares the browser's pictures of SVGs as designers' programs write them with
// those of their clean forms: alone, and all of them inlined in one page, where none may change
// another.
func TestDrawnSVGs(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	// Chromium reads every picture as UTF-8, and documents in their encoding. A gallery shows all
	// in squares, as a page may show an icon in a size of another ratio.
	var pictures, documents []sample
	for _, d := range samples(t, "drawn") {
		if strings.HasPrefix(d.name, "encoding-") || strings.HasPrefix(d.name, "stretched-") {
			documents = append(documents, d)
		} else {
			pictures = append(pictures, d)
		}
	}
	newGallery(documents).compare(t, browser)
	w := newWall(t, pictures)
	before := w.compare(t, browser, "clean", "inline")
	blank := 0
	for i, d := range w.list {
		if differing(before, image.White, position(i)) == 0 {
			blank++
			t.Logf("%s is blank", d.name)
		}
		if strings.Contains(string(d.clean), "class=") && !strings.Contains(string(d.clean), "<style") {
			t.Errorf("%s keeps a class that no rule needs", d.name)
		}
	}
	if blank > len(w.list)/20 {
		t.Errorf("%d of %d pictures are blank", blank, len(w.list))
	}
	t.Logf("%d SVGs look the same, alone and in one page", len(w.list))
}
