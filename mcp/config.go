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

// Config is everything a user can set. Flags gives the defaults; Run fills in those of fields that are zero.
type Config struct {
	API   string // base address of the API, before /api/v1
	CDN   string // base address of the CDN
	Token string // of the licence
	HTTP  string // address to serve streamable HTTP on; empty: stdin and stdout

	In       io.Reader    // instead of stdin
	Out      io.Writer    // instead of stdout
	Listener net.Listener // instead of HTTP
	Log      *slog.Logger
	Version  string // of the program
}

// defaultBase is what `iconedge run` listens on.
const defaultBase = "http://127.0.0.1:8080"

// Flags adds the flags of `iconedge mcp` to fs.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.API, "api", defaultBase, "`URL` of the icon API, without /api/v1")
	fs.StringVar(&c.CDN, "cdn", defaultBase, "`URL` of the CDN that addresses of icons are given at")
	fs.StringVar(&c.Token, "license-token", "", "licence `token`; other users of the machine see a flag: the variable is the better place")
	fs.StringVar(&c.HTTP, "http", "", "`address` to serve streamable HTTP on at /mcp, HOST:PORT, instead of stdin and stdout; who can reach it uses your licence")
}

// filled is c with the defaults where it is empty, and bases as addresses are put after them.
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

// Validate says all that is wrong at once, and repeats nothing of it.
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
