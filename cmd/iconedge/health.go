package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/internal/cli"
)

const healthHelp = `
Asks a server how it is, and exits with 0 where it answers 200, else with 1: for containers, which have no other program to ask with.
/healthz says that the process lives, /readyz that it can answer. Without a URL it asks an edge on this machine whether it lives.

  iconedge health http://127.0.0.1:8083/readyz`

const ownHealth = "http://127.0.0.1:8082/healthz"

func health(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("health", "[URL]", healthHelp)
	within := fs.Duration("within", 3*time.Second, "`time` that the answer may take")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	address := ownHealth
	_, err := hostport.ParseURL(fs.Arg(0))
	switch {
	case fs.NArg() > 1:
		return cli.Usage("iconedge health takes one URL")
	case fs.NArg() == 1 && err != nil:
		return cli.Usage("the URL must be http://HOST:PORT/healthz or the like")
	case fs.NArg() == 1:
		address = fs.Arg(0)
	}
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	return healthy(ctx, address)
}

// healthy is nil where url is answered 200, on a connection of its own.
func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for %s: %s", req.URL.Path, resp.Status)
	}
	return nil
}
