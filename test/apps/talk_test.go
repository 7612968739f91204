package apps

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// express serves testdata/express.mjs over a folder of files. The differ sends it its requests too.
var express = application{
	name: "Express with express-session", client: "Node's fetch", tls: true,
	nginx:    `proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;`,
	did:      "a session from login to logout: forms, JSON, redirects, cookies, static files, ranges, errors",
	versions: func(t *testing.T) (string, string) { return npmVersion(t, npm(t, "express")), nodeVersion(t) },
	start:    func(t *testing.T) string { return startNode(t, "express.mjs", staticFiles(t)) },
	visit:    func(v *visit) { v.node("express-client.mjs") },
}

var socketIO = application{
	name: "socket.io", client: "socket.io-client", tls: true,
	nginx: `proxy_set_header Host $http_host; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; client_max_body_size 0;`,
	did:   "long polling, WebSocket, and the change from one to the other: echoes, rooms, uploads and downloads of MB, a silence of 12 s",
	versions: func(t *testing.T) (string, string) {
		return npmVersion(t, npm(t, "socket.io")), npmVersion(t, npm(t, "socket.io-client"))
	},
	start: func(t *testing.T) string { return startNode(t, "socketio.mjs") },
	visit: func(v *visit) {
		silence := "100"
		if whole() {
			silence = "12000"
		}
		v.node("socketio-client.mjs", silence)
	},
}

var events = application{
	name: "server-sent events (Node)", client: "EventSource of Chromium", tls: true,
	nginx: `proxy_set_header Host $http_host; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;`,
	did: "60 events, each sent after the page has acknowledged the one before; the server ends the stream three " +
		"times and the browser resumes it",
	versions: func(t *testing.T) (string, string) { return nodeVersion(t), chromiumVersion(t) },
	start:    func(t *testing.T) string { return startNode(t, "events.mjs") },
	visit: func(v *visit) {
		b := browse(v.T)
		b.open(v.base + "/")
		b.until(`document.body.className == "done"`)
		v.saw("events", []byte(b.text(`document.querySelector("pre").textContent`)))
	},
}

var subscriptions = application{
	name: "GraphQL subscriptions (graphql-ws)", client: "graphql-ws", tls: true,
	nginx: `proxy_set_header Host $http_host; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";`,
	did:   "queries, mutations, subscriptions of 500 values, ten at a time, a message of 1 MB, an error, a cancellation",
	versions: func(t *testing.T) (string, string) {
		return npmVersion(t, npm(t, "graphql-ws")), npmVersion(t, npm(t, "graphql-ws"))
	},
	start: func(t *testing.T) string { return startNode(t, "graphql.mjs") },
	visit: func(v *visit) { v.node("graphql-client.mjs") },
}

// staticFiles makes a folder of files with fixed contents and times.
func staticFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		if err == nil {
			err = os.Chtimes(path, fixedTime, fixedTime)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("page.html", []byte("<!doctype html><title>page</title><p>a page"))
	write("folder/index.html", []byte("<!doctype html><title>folder</title>"))
	write("style.css", []byte("body { color: green }\n"))
	write("data.json", []byte(`{"some":["data"]}`))
	write("empty.txt", nil)
	write("one.txt", []byte("1"))
	write("a b+c%20é.txt", []byte("a name with odd characters"))
	write("script.js", random(1, 40_000))
	write("large.bin", random(2, 300_000))
	write("video.webm", random(3, 1_500_000))
	return dir
}

// random returns n bytes that are always the same for a seed.
func random(seed byte, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}
