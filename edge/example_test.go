package edge_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/iconedge/iconedge/edge"
)

// A program of its own has an edge in front of an application: it listens where the program says,
// and ends when its context does.
func Example() {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		fmt.Fprint(w, "a page")
	}))
	defer app.Close()

	cfg, err := edge.FromText(`
version: 1
sites:
  - name: shop
    hosts: ["*"]
    origins: {app: {urls: ["` + app.URL + `"]}}
    rules:
      - match: {path: "/old/**"}
        redirect: {to: "/new/$1"}
`)
	if err != nil {
		log.Fatal(err)
	}
	cfg.Listener, err = net.Listen("tcp", "127.0.0.1:0") // a program of users would set Listen
	if err != nil {
		log.Fatal(err)
	}
	cfg.AdminListener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	server, err := edge.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()

	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/page", "/page", "/old/page"} {
		resp, err := client.Get("http://" + cfg.Listener.Addr().String() + path)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		cached, _, _ := strings.Cut(resp.Header.Get("Cache-Status"), "; ttl")
		if to := resp.Header.Get("Location"); to != "" {
			cached = "to " + to
		}
		fmt.Println(resp.StatusCode, string(body), cached)
	}
	client.CloseIdleConnections()
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 a page iconedge; fwd=uri-miss; stored
	// 200 a page iconedge; hit
	// 302  to /new/page
	// <nil>
}
