package edge

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// With a socket for each event loop, an edge serves every protocol, and when it ends it answers
// the clients that had connected before, whether their connections were accepted or not.
func TestReusePort(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.ReusePort = true })
	for name, e := range s.clients(t, false) {
		if a := e.get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	var early []net.Conn
	for range 50 {
		c, err := net.Dial("tcp", s.plain)
		must(t, err)
		defer c.Close()
		early = append(early, c)
	}
	s.later(-time.Hour) // no connection has been idle for too long, even on a slow machine
	stopped := make(chan struct{})
	go func() { s.stop(); close(stopped) }()
	for _, address := range []string{s.plain, s.tls} {
		settled(t, "no connection is taken", func() bool {
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.Close()
			}
			return errors.Is(err, syscall.ECONNREFUSED)
		})
	}
	for i, c := range early {
		_, err := io.WriteString(c, "GET /mdi/home.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n")
		must(t, err)
		if a := readAnswer(t, bufio.NewReader(c)); a.StatusCode != http.StatusOK || !a.Close {
			t.Errorf("connection %d: %d, the last response: %v", i, a.StatusCode, a.Close)
		}
	}
	s.passGrace(t)
	<-stopped
}

// An edge refuses the sharing of an address where no loop could have a socket of its own.
func TestReusePortRefused(t *testing.T) {
	given := func(c *Config) { c.Listener = listenTest(t) }
	off := func(c *Config) { c.Loop = listen.LoopOff }
	for name, row := range map[string]struct {
		change []func(*Config)
		want   string // part of the error
	}{
		"alone":              {nil, ""},
		"without loops":      {[]func(*Config){off}, "--loop on"},
		"with a given one":   {[]func(*Config){given}, "systemd"},
		"not without a flag": {[]func(*Config){given, off, func(c *Config) { c.ReusePort = false }}, ""},
	} {
		c := Config{}
		c.ReusePort = true
		for _, f := range row.change {
			f(&c)
		}
		err := c.Addresses.Validate(c.Loop, c.Listener != nil)
		if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}
