//go:build linux

// Package h2load runs h2load, nghttp2's load tester, over TLS, and reads what it prints. It says what was asked and answered, not
// whether that was right: Wrong compares it with what was wanted.
package h2load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
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
// Result. The first tenth of them warms connections and is not measured.
func Run(ctx context.Context, c Config) (*Result, error) {
	program := c.Program
	if program == "" {
		program = "h2load"
	}
	cmd := exec.CommandContext(ctx, program, c.args()...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting h2load: %w", err)
	}
	w := watch{meter: c.Meter}
	printed, readErr := w.read(out)
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("running h2load: %w: %s", err, bytes.TrimSpace(complaints.Bytes()))
	}
	if readErr != nil {
		return nil, readErr
	}
	r, err := Parse(printed)
	if err != nil {
		return nil, err
	}
	w.fill(r)
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

// A watch reads the clocks when a tenth of the answers is there, and when all are: h2load says so as it goes.
type watch struct {
	meter    func() (time.Duration, error)
	from, to moment
}

type moment struct {
	at  time.Time
	cpu time.Duration
}

// The lines that h2load prints on its way.
const (
	tenth = "progress: 10% done"
	whole = "progress: 100% done"
)

// read returns all that is printed.
func (w *watch) read(out io.Reader) (printed []byte, err error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var seen error
		switch lines.Text() {
		case tenth:
			w.from, seen = w.now()
		case whole:
			w.to, seen = w.now()
		}
		if err == nil { // it is read on all the same: h2load must not be held up
			err = seen
		}
		printed = append(append(printed, lines.Bytes()...), '\n')
	}
	if err == nil {
		err = lines.Err()
	}
	return printed, err
}

func (w *watch) now() (moment, error) {
	m := moment{at: time.Now()}
	if w.meter == nil {
		return m, nil
	}
	var err error
	m.cpu, err = w.meter()
	return m, err
}

// fill adds what the clocks showed. Where not all was answered there is nothing to show.
func (w *watch) fill(r *Result) {
	if w.from.at.IsZero() || w.to.at.IsZero() || r.Done == 0 {
		return
	}
	r.Measured = r.Done - r.Done/10
	r.Time, r.CPU = w.to.at.Sub(w.from.at), w.to.cpu-w.from.cpu
}
