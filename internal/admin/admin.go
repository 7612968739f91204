// Package admin restricts the admin listeners of edges and origins to their operator. It refuses
// requests that a page in the operator's browser could cause, from another site or through DNS
// rebinding (guard.go, hosts.go). It reads the admin token and checks it (token.go).
//
// Edge and origin share the package, so that their listeners follow the same rules.
package admin

import (
	"errors"
	"flag"
	"net/http"

	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/problem"
)

// Config holds the settings of an admin listener.
type Config struct {
	TokenFile      string // holds the admin token; empty: the listener requires no token
	Hosts          Hosts  // accepted host names, besides IP addresses and names without a dot
	ProtectMetrics bool   // GET /metrics requires the token too
}

// Flags defines the flags of an admin listener on fs. call is the request that requires the token
// even without --admin-protect-metrics, for the help text; empty: no request does.
func (c *Config) Flags(fs *flag.FlagSet, call string) {
	if call != "" {
		call = " " + call + " and"
	}
	fs.StringVar(&c.TokenFile, "admin-token-file", "",
		"`file` of the admin token that"+call+
			", with --admin-protect-metrics, GET /metrics must bear; read again when it changes (default none)")
	fs.Var(&c.Hosts, "admin-host", "`NAME` that the Host of an admin request may have, or *.NAME for every name below "+
		"it; may be repeated; IP addresses and names without a dot are always accepted (default none)")
	fs.BoolVar(&c.ProtectMetrics, "admin-protect-metrics", false, "require the admin token for GET /metrics too")
}

// Validate returns an error that lists every invalid setting, including an unusable token file. It
// discards the content of the file.
func (c *Config) Validate() error {
	_, err := c.Open()
	return err
}

var errProtect = errors.New("--admin-protect-metrics requires --admin-token-file")

// Open reads the token file, if there is one. After an error the listener must not start: it would
// serve without the protection that the operator wants.
func (c *Config) Open() (*Access, error) {
	a := &Access{hosts: c.Hosts, protects: c.ProtectMetrics}
	a.Add("--admin-token-file", c.TokenFile, func(path string) (k *files.Watched, err error) {
		a.token, err = openToken(path)
		return a.token.Watched, err
	})
	err := a.Err()
	if c.ProtectMetrics && c.TokenFile == "" {
		err = errors.Join(err, errProtect)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Access decides which requests an admin listener answers. Its Run reads the token file again when
// it changes. The zero value requires no token; it checks only Host, Origin and Sec-Fetch-Site.
type Access struct {
	files.Set
	hosts    Hosts
	protects bool
	token    *token // nil: no request requires a token
}

// Asks reports whether the listener has a token.
func (a *Access) Asks() bool { return a.token != nil }

// Bears reports whether the Authorization lines of a request hold the token. It is true for every
// request when the listener has no token.
func (a *Access) Bears(authorization ...string) bool {
	return a.token == nil || a.token.matches(authorization)
}

// TokenInUse reports whether the token in use is the content of the token file. It is false while
// the file can't be used, because the previous token stays valid meanwhile.
func (a *Access) TokenInUse() bool { return a.token == nil || !a.token.failed.Load() }

// Unauthorized returns the 401 for a missing or invalid token.
func Unauthorized() *problem.Problem {
	return problem.New(http.StatusUnauthorized, "this call requires Authorization: Bearer with the admin token").
		With("WWW-Authenticate", "Bearer").With("Cache-Control", "no-store")
}

// Metrics wraps next, the handler of GET /metrics. It requires the token if ProtectMetrics is set.
func (a *Access) Metrics(next http.Handler) http.Handler {
	if a.protects {
		return a.Protect(next)
	}
	return next
}

// Protect wraps a handler that requires the token, if the listener has one.
func (a *Access) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Bears(r.Header["Authorization"]...) {
			Unauthorized().Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
