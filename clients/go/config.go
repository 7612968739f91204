package client

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/internal/hostport"
)

// Config holds the settings of a client. New replaces empty fields by their defaults.
type Config struct {
	API   string // base URL of the API, before /api/v1
	CDN   string // base URL of the CDN; empty for a plugin: the one that the API names
	Token string // the licence token; empty: no Authorization field is sent
	// TokenFile holds the licence token, and is read again when it has changed; empty: Token is
	// used.
	TokenFile string
	Agent     string // the User-Agent, name/version

	// Plugin makes the client keep the rules for programs that search while a person types: after
	// a 429 it makes no request of that class until Retry-After has passed, and it reuses each
	// search for five minutes.
	Plugin bool
	// Folder stores the times of 429s for processes that start later; empty: memory alone.
	Folder string

	Transport http.RoundTripper // replaces the transport
	Log       *slog.Logger
}

// DefaultBase is the default address of `iconedge run`.
const DefaultBase = "http://127.0.0.1:8080"

// Flags adds the flags that all clients share to fs.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.API, "api", DefaultBase, "`URL` of the icon API, without /api/v1")
	if c.Plugin {
		fs.StringVar(&c.CDN, "cdn", "", "`URL` of the CDN for the addresses of icons (default: the one that the API names)")
	} else {
		fs.StringVar(&c.CDN, "cdn", DefaultBase, "`URL` of the CDN for the addresses of icons")
	}
	fs.StringVar(&c.Token, "license-token", "", "licence `token`; prefer the variable, because other users of the machine can see flags")
	fs.StringVar(&c.TokenFile, "license-token-file", "", "`file` of the licence token, instead of --license-token; "+
		"read again when it changes (default none)")
}

// Filled returns c with defaults for empty fields, and with bases that paths can be appended to.
func (c Config) Filled() Config {
	for _, base := range []*string{&c.API, &c.CDN} {
		if *base == "" && (base == &c.API || !c.Plugin) {
			*base = DefaultBase
		}
		*base = strings.TrimRight(*base, "/")
	}
	c.Token = strings.TrimSpace(c.Token)
	if c.Agent == "" {
		c.Agent = "iconedge/unknown"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports all errors at once. It repeats no values: the token is one of them.
func (c *Config) Validate() error {
	f := c.Filled()
	var errs []error
	if !isBase(f.API) {
		errs = append(errs, errors.New("--api must be an http or https URL without a query"))
	}
	if f.CDN != "" && !isBase(f.CDN) {
		errs = append(errs, errors.New("--cdn must be an http or https URL without a query"))
	}
	if c.TokenFile != "" {
		if strings.TrimSpace(c.Token) != "" {
			errs = append(errs, errors.New("--license-token and --license-token-file exclude each other"))
		}
		if _, err := readToken(c.TokenFile); err != nil {
			errs = append(errs, fmt.Errorf("--license-token-file: %w", err))
		}
	}
	return errors.Join(errs...)
}

func isBase(s string) bool {
	u, err := hostport.ParseURL(s)
	return err == nil && !strings.Contains(u.Path, "//")
}
