//go:build linux

// Package h2load runs h2load, nghttp2's load tester, over TLS, and parses its output. It reports
// the requests and responses; the method Wrong compares them with the expected ones.
package h2load

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// The protocols, by their names in TLS.
const (
	HTTP1 = "http/1.1"
	HTTP2 = "h2"
	HTTP3 = "h3" // of package h3load, which shares Config and Result
)

// Config describes a load.
type Config struct {
	Program  string   // path of h2load; empty: search PATH
	URLs     string   // file of URLs, one a line; every connection requests them in turn
	Protocol string   // one of these; empty: HTTP2
	Conns    int      // connections
	Streams  int      // concurrent streams on each connection
	Requests int      // of all connections together
	Fields   []string // header lines

	Roots *x509.CertPool                // of h3load; h2load checks no certificate
	Meter func() (time.Duration, error) // reads the server's CPU time
}

// Run loads a server until all requests are answered. An error concerns h2load itself; the outcome
// of the requests is in the Result. The measurement includes opening and closing the connections,
// because h2load reports totals only.
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

// args returns the arguments of h2load. It uses one thread, because it has one core.
func (c *Config) args() []string {
	args := []string{"-t", "1", "-i", c.URLs, "-c", strconv.Itoa(c.Conns), "-m", strconv.Itoa(c.Streams), "-n", strconv.Itoa(c.Requests)}
	if c.Protocol == HTTP1 {
		args = append(args, "--h1")
	}
	for _, line := range c.Fields {
		args = append(args, "-H", line)
	}
	return args
}
