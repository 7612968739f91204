package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

// page is a page on another origin than the edge's. It uses icons in every way that browsers
// support.
const page = `<!doctype html><meta charset="utf-8"><title>icons</title>
<style>
	body { margin: 0; background: #fff }
	#img, #css, #mask, #fetched { position: absolute; left: 0; width: 100px; height: 100px }
	#img { top: 0 }
	#css { top: 100px; background: url("%[1]s/mdi/square.svg?color=00ff00") center / contain no-repeat }
	#mask { top: 200px; background: #0000ff; mask: url("%[1]s/mdi/square.svg") center / contain no-repeat }
	#fetched { top: 300px; color: #ff00ff }
	#fetched svg { width: 100px; height: 100px }
</style>
<img id="img" src="%[1]s/mdi/square.svg?color=%%23f00" alt="">
<div id="css"></div><div id="mask"></div><div id="fetched"></div>
<script>
	const wait = src => new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = src });
	Promise.all([
		fetch("%[1]s/mdi/square.svg").then(r => { document.title = r.headers.get("ETag") ? "etag" : "no etag"; return r.text() }).then(s => fetched.innerHTML = s),
		wait("%[1]s/mdi/square.svg?color=%%23f00"), wait("%[1]s/mdi/square.svg?color=00ff00"), wait("%[1]s/mdi/square.svg"),
		fetch("%[1]s/api/v1/icon/mdi/no-such-icon").then(r => r.json()).then(p => { if (p.status !== 404) throw p }),
	]).then(() => document.body.className = "drawn", e => document.body.className = "failed " + e);
</script>`

// TestBrowser checks the pixels of a page on another origin: each icon is there, in its colour.
func TestBrowser(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, page, "http://"+edge.Address("public"))
	}))
	defer site.Close()

	shot, title, class := screenshot(t, browser, site.URL, "body[class]")
	if class != "drawn" || title != "etag" {
		t.Fatalf("the page has the class %q and the title %q", class, title)
	}
	for _, row := range []struct {
		what    string
		y       int
		r, g, b uint32
	}{
		{"<img src> with a colour", 50, 0xff, 0, 0},
		{"CSS url() with a colour", 150, 0, 0xff, 0},
		{"CSS mask over a background", 250, 0, 0, 0xff},
		{"an SVG that was fetched takes the text's colour", 350, 0xff, 0, 0xff},
	} {
		r, g, b, _ := shot.At(50, row.y).RGBA()
		if r>>8 != row.r || g>>8 != row.g || b>>8 != row.b {
			t.Errorf("%s: pixel #%02x%02x%02x, want #%02x%02x%02x", row.what, r>>8, g>>8, b>>8, row.r, row.g, row.b)
		}
		if r, g, b, _ := shot.At(2, row.y).RGBA(); r&g&b>>8 != 0xff {
			t.Errorf("%s: painted beyond the edge of the SVG", row.what)
		}
	}
}

// TestHomePage opens the page at /, which has an icon on it.
func TestHomePage(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	ctx := tab(t, browser)
	act(t, ctx, chromedp.Navigate("http://"+edge.Address("public")+"/"))
	width := act(t, ctx, chromedp.Evaluate[int](`document.querySelector("img").naturalWidth`))
	if width == 0 {
		t.Error("the page's icon is not shown")
	}
}

// tab opens a headless browser for the test. chromedp makes the browser's folder, and retries its
// removal while the browser still writes to it.
func tab(t *testing.T, browser string, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.WindowSize(600, 800),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute)), more...)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return ctx
}

// act runs one action in the browser, and returns its result.
func act[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	got, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// screenshot opens address, waits until selector matches, and returns a screenshot.
func screenshot(t *testing.T, browser, address, selector string) (shot image.Image, title, class string) {
	t.Helper()
	ctx := tab(t, browser)
	act(t, ctx, chromedp.Navigate(address))
	act(t, ctx, chromedp.WaitReady(selector))
	title = act(t, ctx, chromedp.Title())
	class = act(t, ctx, chromedp.Evaluate[string](`document.body.className`))
	return decode(t, act(t, ctx, chromedp.CaptureScreenshot())), title, class
}

// decode decodes a screenshot.
func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	shot, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return shot
}
