package apps

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

var vite = application{
	name: "Vite (development server)", client: "Chromium", tls: true,
	nginx:    `proxy_set_header Host $http_host; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";`,
	did:      "a page, its modules, and hot changes of a module and a style sheet over WebSocket, without a reload",
	versions: func(t *testing.T) (string, string) { return npmVersion(t, npm(t, "vite")), chromiumVersion(t) },
	start: func(t *testing.T) string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(testdata(t, "vite"))); err != nil {
			t.Fatal(err)
		}
		viteFolder = dir
		program := filepath.Join(npm(t, "vite"), "bin", "vite.js")
		return startOther(t, regexp.MustCompile(`Local:\s+(?:\x1b\[\d+m)*(http://[0-9.]+:(?:\x1b\[\d+m)*\d+)`),
			"node", program, dir, "--host", "127.0.0.1", "--port", portOf(harness.FreeAddress(t)), "--strictPort")
	},
	visit: func(v *visit) {
		v.same = regexp.MustCompile(regexp.QuoteMeta(viteFolder))
		for _, path := range []string{"/", "/main.js", "/text.js", "/style.css", "/none.js"} {
			resp := v.fetch("GET", v.base+path, nil)
			v.saw(path, []byte(resp.Header.Get("Content-Type")+resp.Header.Get("Cache-Control")))
		}
		b := browse(v.T)
		b.open(v.base + "/")
		b.until(`document.querySelector("#text").textContent == "first"`)
		b.until(`getComputedStyle(document.querySelector("#style")).color == "rgb(255, 0, 0)"`)
		do(b, chromedp.Evaluate[int](`window.marker = 1`)) // a reload would remove it
		for name, text := range map[string]string{"text.js": "export const text = 'changed'\n",
			"style.css": "#style { color: rgb(0, 128, 0) }\n"} {
			if err := os.WriteFile(filepath.Join(viteFolder, name), []byte(text), 0o644); err != nil {
				v.Fatal(err)
			}
		}
		b.until(`document.querySelector("#text").textContent == "changed"`)
		b.until(`getComputedStyle(document.querySelector("#style")).color == "rgb(0, 128, 0)"`)
		v.saw("the page", []byte(b.text(`document.querySelector("#text").textContent + (window.marker ? ", not reloaded" : ", reloaded")`)))
	},
}

// viteFolder is the folder of the development server that runs.
var viteFolder string

// startOther starts a program that logs its address, and returns the address.
func startOther(t *testing.T, address *regexp.Regexp, program string, args ...string) string {
	t.Helper()
	return startIn(t, "", nil, address, program, args...)
}

func startIn(t *testing.T, dir string, environment []string, address *regexp.Regexp, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	// In CI some programs colour their output, and with it their addresses.
	cmd.Env = append(append(os.Environ(), "NO_COLOR=1"), environment...)
	log := harness.StartOther(t, cmd)
	m := log.Wait(address)
	if m == nil {
		t.Fatalf("%s does not listen:\n%s", program, log)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", program, log)
		}
	})
	return escapes.ReplaceAllString(m[1], "")
}

var escapes = regexp.MustCompile(`\x1b\[\d*m`)

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

var nextJS = application{
	name: "Next.js", client: "Chromium", large: true, tls: true,
	nginx: `proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme; proxy_http_version 1.1; proxy_buffering off; client_max_body_size 0;`,
	did: "navigation, a server action with an upload, its cookie and redirect, a streamed page, an optimised " +
		"image, static, revalidated and dynamic pages, rewrites",
	versions: func(t *testing.T) (string, string) { return npmVersion(t, npmLarge(t, "next")), chromiumVersion(t) },
	start:    startNext,
	visit: func(v *visit) {
		b := browse(v.T)
		show := func(name string) { v.saw(name, []byte(b.text(`document.body.innerText`))) }
		click := func(selector string) { do(b, chromedp.Evaluate[any](`document.querySelector("`+selector+`").click()`)) }
		b.open(v.base + "/")
		show("home")
		click(`a[href='/isr']`)
		b.until(`document.querySelector("#page")`)
		show("isr")
		b.open(v.base + "/dynamic?q=1")
		show("dynamic")
		b.open(v.base + "/streamed")
		b.until(`document.querySelectorAll(".part").length == 3`)
		show("streamed")
		b.open(v.base + "/picture")
		b.until(`document.querySelector("#picture").complete`)
		v.saw("picture", []byte(
			b.text(`(() => { const p = document.querySelector("#picture"); return [p.naturalWidth, p.naturalHeight, new URL(p.currentSrc).pathname].join() })()`)))
		b.open(v.base + "/actions")
		do(b, chromedp.Evaluate[any](`(() => {
			const transfer = new DataTransfer()
			transfer.items.add(new File(["some bytes ".repeat(50000)], "file.txt"))
			document.querySelector("[name=file]").files = transfer.files
			document.querySelector("[name=name]").value = "Ada"
		})()`))
		// React has taken the form over.
		b.until(`Object.keys(document.querySelector("form")).some(key => key.startsWith("__react"))`)
		click("#send")
		b.until(`document.querySelector("#answer").textContent.startsWith("hello")`)
		show("action")
		v.saw("cookie", []byte(b.text(`document.cookie`)))
		click("#leave")
		b.until(`location.pathname == "/isr"`)
		b.open(v.base + "/dynamic")
		show("dynamic, with a cookie")
		for range 2 {
			for _, path := range []string{"/", "/isr", "/dynamic?q=%C3%BC", "/picture.png", "/api/data?a=1", "/rewritten?b=2", "/none",
				"/_next/image?url=%2Fpicture.png&w=256&q=75", "/_next/image?url=%2Fpicture.png&w=257&q=75", "/favicon.ico"} {
				resp := v.fetch("GET", v.base+path, nil)
				v.saw(path, []byte(resp.Header.Get("Content-Type")+" "+resp.Header.Get("Cache-Control")+" "+
					strings.Join(resp.Header.Values("Vary"), ",")))
			}
			v.fetch("GET", v.base+"/isr?_rsc=1", nil, "RSC", "1")
			v.fetch("GET", v.base+"/isr", nil) // the page, not its data
			v.fetch("POST", v.base+"/api/data", random(1, 300_000), "Content-Type", "application/octet-stream")
			v.fetch("GET", v.base+"/old/a/b", nil)
		}
	},
}

// buildNext builds the application once.
var buildNext = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("node", "../node_modules/next/dist/bin/next", "build")
	cmd.Dir = filepath.Join("large", "next")
	cmd.Env = append(os.Environ(), nextEnvironment...)
	output, err := cmd.CombinedOutput()
	return string(output), err
})

var nextEnvironment = []string{"NEXT_TELEMETRY_DISABLED=1", "NODE_ENV=production"}

func startNext(t *testing.T) string {
	t.Helper()
	program := filepath.Join(npmLarge(t, "next"), "dist", "bin", "next")
	if output, err := buildNext(); err != nil {
		t.Fatalf("building the application: %v\n%s", err, output)
	}
	address := harness.FreeAddress(t)
	startIn(t, filepath.Join("large", "next"), nextEnvironment, regexp.MustCompile(`(Ready in)`), "node", program,
		"start", "--hostname", "127.0.0.1", "--port", portOf(address))
	return "http://" + address
}

// video is made by Chromium: its client is Chromium too. In `make test`, TestVideo of cmd/iconedge
// seeks in a film behind an edge.
var video = application{
	name: "A video of express.static", client: "Chromium", tls: true, large: true,
	nginx:    `proxy_set_header Host $http_host; proxy_http_version 1.1;`,
	did:      "a WebM of some MB played and sought in, by ranges; the pixels of eight frames compared",
	versions: func(t *testing.T) (string, string) { return npmVersion(t, npm(t, "express")), chromiumVersion(t) },
	start: func(t *testing.T) string {
		dir := t.TempDir()
		err := os.WriteFile(filepath.Join(dir, "video.webm"), makeVideo(t), 0o644)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "page.html"), []byte(videoPage), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return startNode(t, "express.mjs", dir)
	},
	visit: func(v *visit) {
		b := browse(v.T)
		for range 2 { // the second time from the cache
			b.open(v.base + "/static/page.html")
			b.until(`document.body.className`)
			v.saw("frames", []byte(b.text(`document.body.className + document.querySelector("pre").textContent`)))
		}
	},
}

const videoPage = `<!doctype html><title>video</title><link rel="icon" href="data:,"><body><pre></pre><video src="video.webm" preload="auto" muted></video><script>
	const video = document.querySelector("video"), out = document.querySelector("pre")
	const canvas = new OffscreenCanvas(320, 240), ctx = canvas.getContext("2d", { willReadFrequently: true })
	const event = name => new Promise((done, failed) => { video.addEventListener(name, done, { once: true }); video.addEventListener("error", () => failed(video.error.message), { once: true }) })
	const seek = async at => {
		// On a busy machine the event "seeked" comes before the frame.
		const shown = new Promise(done => {
			const look = (_, frame) => Math.abs(frame.mediaTime - at) < 0.6 ? done() : video.requestVideoFrameCallback(look)
			video.requestVideoFrameCallback(look)
		})
		video.currentTime = at
		await shown
		ctx.drawImage(video, 0, 0)
		let sum = 0
		for (const byte of ctx.getImageData(0, 0, 320, 240).data) sum = (sum * 31 + byte) >>> 0
		out.textContent += at + " s: " + sum + "\n"
	}
	const all = async () => {
		if (video.readyState < 1) await event("loadedmetadata")
		out.textContent += video.videoWidth + "x" + video.videoHeight + ", " + Math.round(video.duration) + " s\n"
		for (const at of [9.05, 1.05, 5.05, 0.05, 8.05, 3.05, 7.05, 2.05]) await seek(at)
		const ended = event("ended")
		video.currentTime = 9
		await video.play()
		await ended
	}
	all().then(() => document.body.className = "played", e => document.body.className = "failed: " + e)
</script>`

// makeVideo returns ten seconds of WebM, which Chromium encodes once.
var makeVideo = func() func(t *testing.T) []byte {
	var made []byte
	return func(t *testing.T) []byte {
		t.Helper()
		if made == nil {
			made = encodeVideo(t)
		}
		return made
	}
}()
