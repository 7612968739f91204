package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

// TestVideo has a browser seek in a video behind an edge. The frames of the video are numbers in
// their colour, so that the browser itself checks where it is. A seek to a part that has been
// watched before is answered without the origin, also for another browser.
func TestVideo(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	video := webm(videoFrames(t, browser))
	if len(video) < 6<<20 {
		t.Fatalf("the video has only %d bytes", len(video))
	}
	t.Logf("a video of %d bytes", len(video))
	var mu sync.Mutex
	var asked []string
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/film.webm" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>film</title><video id="v" src="/film.webm" preload="metadata" muted></video><canvas id="c" width="8" height="8"></canvas>`)
			return
		}
		mu.Lock()
		asked = append(asked, r.Header.Get("Range"))
		mu.Unlock()
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("Content-Type", "video/webm")
		w.Header().Set("ETag", `"film"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(video))
	}))
	defer origin.Close()
	requests := func() []string {
		mu.Lock()
		defer mu.Unlock()
		list := asked
		asked = nil
		return list
	}
	edge := harness.Start(t, t.TempDir(), "edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--origin", origin.URL, "--proxy-all",
		"--cache-bytes", "16777216", "--cache-dir", t.TempDir()).Ready()

	seeks := []int{25, 3, 15, 28}
	watch := func() {
		ctx := tab(t, browser)
		act(t, ctx, chromedp.Navigate("http://"+edge.Address("public")+"/"))
		for _, second := range seeks {
			got := act(t, ctx, chromedp.Evaluate[int](fmt.Sprintf(`(async () => {
				const on = event => new Promise((ok, no) => { v["on" + event] = ok; v.onerror = () => no(v.error.message); setTimeout(() => no("no " + event), 60000) });
				if (v.readyState < 1) await on("loadedmetadata");
				const at = %d.5, shown = new Promise(ok => { // on a busy machine "seeked" comes before the frame
					const look = (_, frame) => Math.abs(frame.mediaTime - at) < 0.6 ? ok() : v.requestVideoFrameCallback(look);
					v.requestVideoFrameCallback(look);
				});
				v.currentTime = at;
				await shown;
				const p = c.getContext("2d");
				p.drawImage(v, 0, 0, 8, 8);
				return Math.round(p.getImageData(4, 4, 1, 1).data[0] / 8);
			})()`, second), chromedp.EvalAwaitPromise))
			if got != second {
				t.Errorf("at %d s the browser shows the frame %v", second, got)
			}
		}
	}
	watch()
	first := requests()
	t.Logf("the origin was asked for %q", first)
	if len(first) == 0 || len(first) > 12 {
		t.Error("the origin was not asked, or for too much")
	}
	watch() // in another browser, whose own cache is empty
	if again := requests(); len(again) > 0 {
		t.Errorf("the second time the origin was asked for %q", again)
	}
}

const (
	videoWidth, videoHeight = 960, 540
	videoSeconds            = 30
)

// videoFrames has the browser draw a frame for each second: noise around a square whose brightness
// is eight times the second. A lossy WebP of one frame is a key frame of VP8.
func videoFrames(t *testing.T, browser string) (frames [][]byte) {
	t.Helper()
	ctx := tab(t, browser)
	act(t, ctx, chromedp.Navigate("about:blank"))
	for second := range videoSeconds {
		text := act(t, ctx, chromedp.Evaluate[string](fmt.Sprintf(`(async () => {
			const [w, h, grey] = [%d, %d, %d], c = new OffscreenCanvas(w, h), p = c.getContext("2d"), noise = p.createImageData(w, h);
			for (let i = 0; i < noise.data.length; i += 65536) crypto.getRandomValues(noise.data.subarray(i, i + 65536));
			for (let i = 3; i < noise.data.length; i += 4) noise.data[i] = 255;
			p.putImageData(noise, 0, 0);
			p.fillStyle = "rgb(" + [grey, grey, grey] + ")";
			p.fillRect(w / 4, h / 4, w / 2, h / 2);
			const bytes = new Uint8Array(await (await c.convertToBlob({ type: "image/webp", quality: 0.8 })).arrayBuffer());
			let s = "";
			for (const b of bytes) s += String.fromCharCode(b);
			return btoa(s);
		})()`, videoWidth, videoHeight, 8*second), chromedp.EvalAwaitPromise))
		webp, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, vp8Of(t, webp))
	}
	return frames
}

// vp8Of returns the frame in a WebP.
func vp8Of(t *testing.T, webp []byte) []byte {
	t.Helper()
	for rest := webp[12:]; len(rest) > 8; {
		n := int(binary.LittleEndian.Uint32(rest[4:]))
		if string(rest[:4]) == "VP8 " {
			return rest[8 : 8+n]
		}
		rest = rest[8+n+n%2:]
	}
	t.Fatal("the browser made no lossy WebP")
	return nil
}

// element returns an element of Matroska (RFC 8794): its id, its length in eight bytes, its data.
func element(id uint32, data ...[]byte) []byte {
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], id)
	all := bytes.Join(data, nil)
	return append(binary.BigEndian.AppendUint64(bytes.TrimLeft(head[:], "\x00"), 1<<56|uint64(len(all))), all...)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// webm returns a video with one frame a second (RFC 9559). Its index is at its end, where most
// programs write it.
func webm(frames [][]byte) []byte {
	info := element(0x1549A966, element(0x2AD7B1, number(1_000_000)), element(0x4489, number(math.Float64bits(float64(1000*len(frames))))),
		element(0x4D80, []byte("test")), element(0x5741, []byte("test")))
	tracks := element(0x1654AE6B, element(0xAE, element(0xD7, number(1)), element(0x73C5, number(1)),
		element(0x83, number(1)), element(0x86, []byte("V_VP8")),
		// A frame lasts a second. Without this, browsers read on to learn it.
		element(0x23E383, number(1_000_000_000)),
		element(0xE0, element(0xB0, number(videoWidth)), element(0xBA, number(videoHeight)))))
	seekHead := func(cues int) []byte {
		return element(0x114D9B74, element(0x4DBB, element(0x53AB, []byte{0x1C, 0x53, 0xBB, 0x6B}), element(0x53AC, number(uint64(cues)))))
	}
	start := len(seekHead(0)) + len(info) + len(tracks)
	var clusters, points [][]byte
	at := start
	for second, frame := range frames {
		points = append(points, element(0xBB, element(0xB3, number(uint64(1000*second))),
			element(0xB7, element(0xF7, number(1)), element(0xF1, number(uint64(at))))))
		clusters = append(clusters, element(0x1F43B675, element(0xE7, number(uint64(1000*second))),
			element(0xA3, []byte{0x81, 0, 0, 0x80}, frame)))
		at += len(clusters[second])
	}
	return append(element(0x1A45DFA3, element(0x4282, []byte("webm")), element(0x4287, number(2)), element(0x4285, number(2))),
		element(0x18538067, seekHead(at), info, tracks, bytes.Join(clusters, nil), element(0x1C53BB6B, points...))...)
}
