//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
)

const originHelp = `
Answers /bench/N.svg for any number N with a made-up icon of --body bytes that depends only on N, and 404 to everything
else: an origin with any number of icons. /device/bench/N.svg is another icon for each value of the field X-Device.

  loadtest origin --listen 127.0.0.1:8081 --body 1000`

func runOrigin(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("origin", "", originHelp)
	listen := fs.String("listen", "127.0.0.1:0", "`address` to answer on")
	size := fs.Int("body", 1000, "`bytes` of each icon")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if *size < minIconBytes {
		return cli.Usage(fmt.Sprintf("--body must be at least %d", minIconBytes))
	}
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "listening address=%s\n", ln.Addr())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveIcon(w, r, *size) })}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}

// modified is when every icon was last modified.
var modified = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// perDevice is the prefix of icons that depend on the field X-Device.
const perDevice = "/device"

// serveIcon answers a request for an icon of size bytes. net/http does methods, conditions and
// ranges.
func serveIcon(w http.ResponseWriter, r *http.Request, size int) {
	path, byDevice := strings.CutPrefix(r.URL.Path, perDevice)
	n, ok := iconNumber([]byte(path))
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if byDevice {
		h.Set("Vary", "X-Device")
		n += uint64(len(r.Header.Get("X-Device"))) << 32
	}
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("ETag", fmt.Sprintf(`"%d-%d"`, n, size))
	http.ServeContent(w, r, "", modified, bytes.NewReader(drawIcon(n, size)))
}

// iconPath returns the path of icon n.
func iconPath(n uint64) string { return "/bench/" + strconv.FormatUint(n, 10) + ".svg" }

// iconNumber parses a result of iconPath.
func iconNumber(path []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(path, []byte("/bench/"))
	digits, isSVG := bytes.CutSuffix(digits, []byte(".svg"))
	if !ok || !isSVG {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, err == nil && iconPath(n) == string(path)
}

const (
	iconHead = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M`
	iconTail = `"/></svg>`

	minIconBytes = len(iconHead) + len(iconTail)
)

// drawIcon returns an SVG of size bytes. Its path data is as random as that of real icons: gzip
// halves it.
func drawIcon(n uint64, size int) []byte {
	b := make([]byte, 0, size+8)
	b = append(b, iconHead...)
	random := rand.New(rand.NewPCG(n, 0))
	for len(b) < size-len(iconTail) {
		r := random.Uint32()
		b = append(b, "lhvcsqaz"[r%8])
		b = strconv.AppendUint(b, uint64(r>>8%240), 10)
		b = append(b, " .-,"[r>>16%4])
	}
	return append(b[:size-len(iconTail)], iconTail...)
}
