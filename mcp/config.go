package mcp

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/iconedge/iconedge/hostport"
)

// Config holds all settings of a user. Flags gives the defaults; Run replaces fields that are zero
// by their defaults.
type Config struct {
	API   string // base URL of the API, before /api/v1
	CDN   string // base URL of the CDN
	Token string // the licence token
	HTTP  string // address for streamable HTTP; empty: stdin and stdout

	In       io.Reader    // replaces stdin
	Out      io.Writer    // replaces stdout
	Listener net.Listener // replaces HTTP
	Log      *slog.Logger
	Version  string // version of the program
}

// defaultBase is the default address of `iconedge run`.
const defaultBase = "http://127.0.0.1:8080"

// Flags adds the flags of `iconedge mcp` to fs.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.API, "api", defaultBase, "`URL` of the icon API, without /api/v1")
	fs.StringVar(&c.CDN, "cdn", defaultBase, "`URL` of the CDN for the addresses of icons")
	fs.StringVar(&c.Token, "license-token", "", "licence `token`; prefer the variable, because other users of the machine can see flags")
	fs.StringVar(&c.HTTP, "http", "", "`address` to serve streamable HTTP on at /mcp, HOST:PORT, instead of stdin and stdout; every client that can reach it uses your licence")
}

// filled returns c with defaults for empty fields, and with bases that paths can be appended to.
func (c Config) filled() Config {
	for _, base := range []*string{&c.API, &c.CDN} {
		if *base == "" {
			*base = defaultBase
		}
		*base = strings.TrimRight(*base, "/")
	}
	c.Token = strings.TrimSpace(c.Token)
	if c.In == nil {
		c.In = os.Stdin
	}
	if c.Out == nil {
		c.Out = os.Stdout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Version == "" {
		c.Version = "unknown"
	}
	return c
}

// Validate reports all errors at once. It repeats no values: the token is one of them.
func (c *Config) Validate() error {
	f := c.filled()
	var errs []error
	if !isBase(f.API) {
		errs = append(errs, errors.New("--api must be an http or https URL without a query"))
	}
	if !isBase(f.CDN) {
		errs = append(errs, errors.New("--cdn must be an http or https URL without a query"))
	}
	if f.HTTP != "" && !hostport.Valid(f.HTTP) {
		errs = append(errs, errors.New("--http must be HOST:PORT"))
	}
	return errors.Join(errs...)
}

func isBase(s string) bool {
	u, err := hostport.ParseURL(s)
	return err == nil && !strings.Contains(u.Path, "//")
}
