package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/internal/hostport"
)

const healthHelp = `
Checks the health of a server: exit status 0 if the URL answers 200, else 1. It is meant for containers that have no other HTTP client.
/healthz reports that the process lives, /readyz that it can answer. Without a URL the command checks /healthz of an edge on this machine.

  iconedge health http://127.0.0.1:8083/readyz`

const ownHealth = "http://127.0.0.1:8082/healthz"

func health(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("health", "[URL]", healthHelp)
	within := fs.Duration("within", 3*time.Second, "time limit (`duration`) for the response")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	address := ownHealth
	_, err := hostport.ParseURL(fs.Arg(0))
	switch {
	case fs.NArg() > 1:
		return cli.Usage("iconedge health takes one URL")
	case fs.NArg() == 1 && err != nil:
		return cli.Usage("the URL must be http://HOST:PORT/PATH, such as http://127.0.0.1:8082/healthz")
	case fs.NArg() == 1:
		address = fs.Arg(0)
	}
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	return healthy(ctx, address)
}

// healthy returns nil if url answers 200. Each call uses a new connection.
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
		return fmt.Errorf("requesting %s: %s", req.URL.Path, resp.Status)
	}
	return nil
}
