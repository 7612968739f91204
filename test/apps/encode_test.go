package apps

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// encoder is a page that draws noise and encodes it as WebM.
const encoder = `<!doctype html><title>encoder</title><link rel="icon" href="data:,"><body><script type="module">
	import { Muxer, ArrayBufferTarget } from "/webm-muxer.mjs"
	const muxer = new Muxer({ target: new ArrayBufferTarget(), video: { codec: "V_VP8", width: 320, height: 240, frameRate: 10 } })
	const encoder = new VideoEncoder({ output: (chunk, meta) => muxer.addVideoChunk(chunk, meta), error: e => document.body.className = "failed: " + e })
	encoder.configure({ codec: "vp8", width: 320, height: 240, bitrate: 6e6, framerate: 10 })
	const canvas = new OffscreenCanvas(320, 240), ctx = canvas.getContext("2d")
	for (let i = 0; i < 100; i++) {
		for (let n = 0; n < 3000; n++) {
			ctx.fillStyle = "hsl(" + Math.random() * 360 + " 90% 50%)"
			ctx.fillRect(Math.random() * 320, Math.random() * 240, 9, 9)
		}
		const frame = new VideoFrame(canvas, { timestamp: i * 1e5, duration: 1e5 })
		encoder.encode(frame, { keyFrame: i % 10 == 0 })
		frame.close()
		if (i % 10 == 9) await encoder.flush()
	}
	await encoder.flush()
	muxer.finalize()
	const reader = new FileReader()
	reader.onload = () => { window.made = reader.result.split(",")[1]; document.body.className = "made" }
	reader.readAsDataURL(new Blob([muxer.target.buffer]))
</script>`

// encodeVideo returns a video with a key frame each second and an index of them.
func encodeVideo(t *testing.T) []byte {
	t.Helper()
	muxer := filepath.Join(npm(t, "webm-muxer"), "build", "webm-muxer.mjs")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/webm-muxer.mjs" {
			http.ServeFile(w, r, muxer)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(encoder))
	}))
	defer server.Close()
	b := browse(t)
	b.open(server.URL)
	b.until(`document.body.className`)
	made, err := base64.StdEncoding.DecodeString(do(b, chromedp.Evaluate[string](`window.made ?? ""`)))
	if err != nil || len(made) == 0 {
		t.Fatalf("encoding a video: %v, %s", err, b.text(`document.body.className`))
	}
	t.Logf("a video of %d bytes", len(made))
	return made
}
