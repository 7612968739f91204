package proxy

import (
	"errors"
	"flag"
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
)

// Forwarding holds everything that an operator can set about forwarded paths (--proxy-all).
type Forwarding struct {
	ProxyAll bool // forward and cache paths that are not the edge's own
	// StoreCookies leaves responses with Set-Cookie, and those to requests with Cookie, to RFC
	// 9111 alone.
	StoreCookies bool
	// ClientRevalidation obeys every directive of a client's Cache-Control, and Pragma.
	ClientRevalidation bool
	// PassFields lists fields that name another host, path, scheme, method or client, and reach the
	// origin all the same.
	PassFields []string
	// Tunnels bounds the connections that have switched to another protocol.
	Tunnels tunnel.Limits
}

func (f *Forwarding) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&f.ProxyAll, "proxy-all", false, "forward and cache every path that is not the edge's own, by the header fields of its responses (RFC 9111)")
	fs.BoolVar(&f.StoreCookies, "store-cookies", false, "with --proxy-all, let RFC 9111 alone decide about cookies: store responses with Set-Cookie, and those to requests with Cookie that name no freshness lifetime")
	fs.BoolVar(&f.ClientRevalidation, "client-revalidation", false, "with --proxy-all, obey every directive of a client's Cache-Control, and its Pragma; without this flag only no-store and only-if-cached count")
	fs.Var(repeated.Flag(&f.PassFields, repeated.AsWritten), "pass-field", "with --proxy-all, `NAME` of a field that the edge drops unless it is passed, such as CF-Connecting-IP or X-Original-URL; may be repeated (default none)")
	f.Tunnels.Flags(fs)
}

func (f *Forwarding) Validate() error {
	errs := []error{f.Tunnels.Validate()}
	for _, name := range f.PassFields {
		if !upstream.Passable(http.CanonicalHeaderKey(name)) {
			errs = append(errs, fmt.Errorf("--pass-field %q must be one of the fields that the edge drops, such as True-Client-IP; docs/reference/caching.md lists them", name))
		}
	}
	return errors.Join(errs...)
}

// Policy returns the caching policy of forwarded paths.
func (f *Forwarding) Policy() cachepolicy.Policy {
	return cachepolicy.Policy{SafeCookies: !f.StoreCookies, IgnoreRevalidation: !f.ClientRevalidation}
}

// Passed returns the set of the fields to pass.
func (f *Forwarding) Passed() map[string]bool {
	set := make(map[string]bool, len(f.PassFields))
	for _, name := range f.PassFields {
		set[http.CanonicalHeaderKey(name)] = true
	}
	return set
}

// MaxBody returns the maximum length of a request's body. Our own routes need no long ones.
func (f *Forwarding) MaxBody() int {
	if f.ProxyAll {
		return exchange.MaxForwarded
	}
	return exchange.MaxBody
}
