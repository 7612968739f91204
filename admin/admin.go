// Package admin keeps the admin listeners of edges and origins for their operator. It decides which requests they answer at all (guard.go, hosts.go): a browser
// must not carry a page's request to them, neither from another site nor from a name that the page's owner has resolve to this machine. And it
// reads the admin token and asks for it (token.go).
//
// Edge and origin share it, because a rule that two listeners hold twice is soon two rules.
package admin

import (
	"errors"
	"flag"
	"net/http"

	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/problem"
)

// Config is what an operator can set about an admin listener.
type Config struct {
	TokenFile      string // that holds the admin token; empty: none is asked for
	Hosts          Hosts  // names that are answered for besides addresses and names without a dot
	ProtectMetrics bool   // metrics require the token too
}

// Flags defines the flags of an admin listener on fs. The help names the call that requires the token anyway; empty: there is none.
func (c *Config) Flags(fs *flag.FlagSet, call string) {
	if call != "" {
		call = " " + call + " and"
	}
	fs.StringVar(&c.TokenFile, "admin-token-file", "", "`file` of the admin token that"+call+", with --admin-protect-metrics, GET /metrics must bear; read again when it changes (default none is asked for)")
	fs.Var(&c.Hosts, "admin-host", "`NAME` that the admin listener answers for, or *.NAME for every name below it; may be repeated; addresses and names without a dot are answered for anyway (default none)")
	fs.BoolVar(&c.ProtectMetrics, "admin-protect-metrics", false, "require the admin token for GET /metrics too")
}

// Validate reports what is wrong, a token file that can't be used among it. It keeps nothing of what it reads.
func (c *Config) Validate() error {
	_, err := c.Open()
	return err
}

var errProtect = errors.New("--admin-protect-metrics requires --admin-token-file")

// Open reads the token, where a file of it is named. An error means that there is nothing to serve with: metrics that are to be protected
// are not served without a token.
func (c *Config) Open() (*Access, error) {
	a := &Access{hosts: c.Hosts, protects: c.ProtectMetrics}
	a.Add("--admin-token-file", c.TokenFile, func(path string) (k *files.Kept, err error) {
		a.token, err = openToken(path)
		return a.token.Kept, err
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

// Access is which requests an admin listener answers. Its Run reads the token again when it changes. The zero value answers by the rules for Hosts
// and browsers alone, and asks for no token.
type Access struct {
	files.Set
	hosts    Hosts
	protects bool
	token    *token // nil: none is asked for
}

// Asks reports whether there is a token to ask for.
func (a *Access) Asks() bool { return a.token != nil }

// Bears reports whether the lines of Authorization that came with a request bear the token; where none is asked for, all do.
func (a *Access) Bears(authorization ...string) bool {
	return a.token == nil || a.token.proves(authorization)
}

// TokenInUse reports whether the token in use is that of its file: false while the file can't be used, and the token before it stays.
func (a *Access) TokenInUse() bool { return a.token == nil || !a.token.failed.Load() }

// Unauthorized is the answer to a call that must bear the token and does not.
func Unauthorized() *problem.Problem {
	return problem.New(http.StatusUnauthorized, "this call requires Authorization: Bearer with the admin token").
		With("WWW-Authenticate", "Bearer").With("Cache-Control", "no-store")
}

// Metrics asks for the token before next, where the operator wants metrics protected.
func (a *Access) Metrics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.protects && !a.Bears(r.Header["Authorization"]...) {
			Unauthorized().Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
