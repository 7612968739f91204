package proxy

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
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
	// MaxBody limits the body of a request, in bytes; 0: it may have any length.
	MaxBody int64
	// Idle is how long an origin may pause between two parts of a response.
	Idle time.Duration
	// Tunnels bounds the connections that have switched to another protocol.
	Tunnels tunnel.Limits
}

const defaultIdle = time.Minute

func (f *Forwarding) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&f.ProxyAll, "proxy-all", false, "forward and cache every path that is not the edge's own, by the header fields of its responses (RFC 9111)")
	fs.BoolVar(&f.StoreCookies, "store-cookies", false, "with --proxy-all, let RFC 9111 alone decide about cookies: store responses with Set-Cookie, and those to requests with Cookie that name no freshness lifetime")
	fs.BoolVar(&f.ClientRevalidation, "client-revalidation", false, "with --proxy-all, obey every directive of a client's Cache-Control, and its Pragma; without this flag only no-store and only-if-cached count")
	fs.Int64Var(&f.MaxBody, "max-body", 0, "with --proxy-all, longest body of a forwarded request in `bytes`; the edge answers 413 to longer ones (default any length)")
	fs.DurationVar(&f.Idle, "idle", defaultIdle, "with --proxy-all, `time` that an origin may pause between two parts of a response to a forwarded request")
	fs.Var(repeated.Flag(&f.PassFields, repeated.AsWritten), "pass-field", "with --proxy-all, `NAME` of a field that the edge drops unless it is passed, such as CF-Connecting-IP or X-Original-URL; may be repeated (default none)")
	f.Tunnels.Flags(fs)
}

func (f *Forwarding) Validate() error {
	errs := []error{f.Tunnels.Validate()}
	if f.MaxBody < 0 || f.Idle < 0 {
		errs = append(errs, errors.New("--max-body and --idle must not be negative"))
	}
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

// Bounds returns the limits of forwarded requests. firstByte is how long an origin may take to
// begin a response.
func (f *Forwarding) Bounds(firstByte time.Duration) Bounds {
	return Bounds{MaxBody: f.MaxBody, Patience: upstream.Patience{FirstByte: firstByte, Idle: cmp.Or(f.Idle, defaultIdle)}}
}

// Passed returns the set of the fields to pass.
func (f *Forwarding) Passed() map[string]bool {
	set := make(map[string]bool, len(f.PassFields))
	for _, name := range f.PassFields {
		set[http.CanonicalHeaderKey(name)] = true
	}
	return set
}
