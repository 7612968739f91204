package mcp

import (
	"errors"
	"flag"
	"io"
	"net"
	"os"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/internal/hostport"
)

// Config holds all settings of a user. Flags gives the defaults; Run replaces fields that are zero
// by their defaults.
type Config struct {
	client.Config        // the API, the CDN, the licence token, the log
	HTTP          string // address for streamable HTTP; empty: stdin and stdout

	In       io.Reader    // replaces stdin
	Out      io.Writer    // replaces stdout
	Listener net.Listener // replaces HTTP
	Version  string       // version of the program
}

// Flags adds the flags of `iconedge mcp` to fs.
func (c *Config) Flags(fs *flag.FlagSet) {
	c.Config.Flags(fs)
	fs.StringVar(&c.HTTP, "http", "", "`address` to serve streamable HTTP on at /mcp, HOST:PORT, instead of stdin and "+
		"stdout; every client that can reach it uses your licence")
}

// filled returns c with defaults for empty fields, and with bases that paths can be appended to.
func (c Config) filled() Config {
	if c.In == nil {
		c.In = os.Stdin
	}
	if c.Out == nil {
		c.Out = os.Stdout
	}
	if c.Version == "" {
		c.Version = "unknown"
	}
	c.Agent = "iconedge-mcp/" + c.Version
	c.Config = c.Config.Filled()
	return c
}

// Validate reports all errors at once. It repeats no values: the token is one of them.
func (c *Config) Validate() error {
	err := c.Config.Validate()
	if c.HTTP != "" {
		err = errors.Join(err, hostport.Check("--http", c.HTTP))
	}
	return err
}
