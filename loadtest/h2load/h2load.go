//go:build linux

// Package h2load runs h2load, nghttp2's load tester, over TLS, and reads what it prints. It says what was asked and answered, not
// whether that was right: Wrong compares it with what was wanted.
package h2load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// Config says how a server is loaded.
type Config struct {
	Program  string   // h2load's path; empty: looked for
	URLs     string   // file of them, a line each; every connection asks for them in turn
	HTTP1    bool     // HTTP/1.1 in place of HTTP/2
	Conns    int      // connections
	Streams  int      // at a time on each of them
	Requests int      // of all connections together
	Fields   []string // header lines

	Meter func() (time.Duration, error) // reads the server's CPU time
}

// Run loads a server until all requests have been answered. The error is about h2load itself; what became of the requests is in the
// Result. What is measured begins before the connections are made and ends when they are closed: h2load tells what it counted for its
// requests as a whole alone.
func Run(ctx context.Context, c Config) (*Result, error) {
	cmd := exec.CommandContext(ctx, cmp.Or(c.Program, "h2load"), c.args()...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	before, err := c.Meter()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	printed, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("running h2load: %w: %s", err, bytes.TrimSpace(complaints.Bytes())))
	}
	took := time.Since(began)
	after, err := c.Meter()
	if err != nil {
		return nil, err
	}
	r, err := Parse(printed)
	if err != nil {
		return nil, err
	}
	r.Time, r.CPU = took, after-before
	return r, nil
}

// args are h2load's. One thread: it has one core.
func (c *Config) args() []string {
	args := []string{"-t", "1", "-i", c.URLs, "-c", strconv.Itoa(c.Conns), "-m", strconv.Itoa(c.Streams), "-n", strconv.Itoa(c.Requests)}
	if c.HTTP1 {
		args = append(args, "--h1")
	}
	for _, line := range c.Fields {
		args = append(args, "-H", line)
	}
	return args
}
