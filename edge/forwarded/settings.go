package forwarded

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/units"
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
	// OriginHost is the Host that origins get: client, origin, or a name. Empty: client for
	// forwarded paths. Requests on the edge's own routes never carry the client's.
	OriginHost string
	// OriginSNI is the name for which https origins are verified. Empty: the name sent as Host.
	OriginSNI string
	// MaxBody limits the body of a request, in bytes; 0: it may have any length.
	MaxBody int64
	// MaxObject limits the length of a stored body, in bytes; 0: the default of --max-object.
	MaxObject int64
	// Idle is how long an origin may pause between two parts of a response.
	Idle time.Duration
	// Hold is how long the edge waits for the end of a short response, so that it can
	// answer 502 or with a stored response if the origin breaks it off; 0: 10 ms.
	Hold time.Duration
	// Hesitation is how long a request that has a stale response to fall back on waits for the
	// origin, before it considers the origin failing; 0: 500 ms.
	Hesitation time.Duration
	// ConnectTimeout is that of a connection to an origin, with TLS; 0: 3 s.
	ConnectTimeout time.Duration
	// Tunnels bounds the connections that have switched to another protocol.
	Tunnels tunnel.Limits
	vhosts.Settings
}

const (
	defaultIdle = time.Minute
	// defaultHold is short, because a page that the origin streams must begin at once.
	defaultHold       = 10 * time.Millisecond
	defaultHesitation = 500 * time.Millisecond
)

// The values of OriginHost that are no names.
const (
	hostOfClient = "client"
	hostOfOrigin = "origin"
)

func (f *Forwarding) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&f.ProxyAll, "proxy-all", false, "forward and cache every path that is not the edge's own (see "+
		"--icons), by the header fields of its responses (RFC 9111)")
	fs.BoolVar(&f.StoreCookies, "store-cookies", false, "with --proxy-all, let RFC 9111 alone decide about cookies: "+
		"store responses with Set-Cookie, and those to requests with Cookie that name no freshness lifetime")
	fs.BoolVar(&f.ClientRevalidation, "client-revalidation", false, "with --proxy-all, obey every directive of a "+
		"client's Cache-Control, and its Pragma; without this flag only no-store and only-if-cached count")
	fs.Var((*units.Size)(&f.MaxBody), "max-body", "with --proxy-all, longest body of a forwarded request in `bytes`; "+
		"the edge answers 413 to longer ones (default any length)")
	fs.Var((*units.Size)(&f.MaxObject), "max-object", "with --proxy-all, longest response that is stored, in `bytes`, "+
		"and at most a quarter of --cache-bytes or, with --cache-dir, of --cache-disk-bytes (default 1GiB)")
	fs.DurationVar(&f.Idle, "idle", defaultIdle, "with --proxy-all, `time` that an origin may pause between two parts "+
		"of a response to a forwarded request")
	fs.Var(repeated.Flag(&f.PassFields, repeated.AsWritten), "pass-field", "with --proxy-all, `NAME` of a field that "+
		"the edge drops unless it is passed, such as CF-Connecting-IP or X-Original-URL; may be repeated (default none)")
	fs.StringVar(&f.OriginHost, "origin-host", "", "`client|origin|NAME`, the Host that origins get: the client's, "+
		"the one in --origin, or NAME; the edge's own routes never pass the client's (default client with --proxy-all, origin without)")
	fs.StringVar(&f.OriginSNI, "origin-sni", "", "`NAME` that https origins get in the TLS handshake and are verified "+
		"for (default the name that is sent as Host)")
	f.Tunnels.Flags(fs)
	f.Settings.Flags(fs)
}

func (f *Forwarding) Validate() error {
	errs := []error{f.Tunnels.Validate()}
	if f.MaxBody < 0 || f.MaxObject < 0 || f.Idle < 0 {
		errs = append(errs, errors.New("--max-body, --max-object and --idle must not be negative"))
	}
	for _, name := range f.PassFields {
		if !upstream.Passable(http.CanonicalHeaderKey(name)) {
			errs = append(errs, fmt.Errorf("--pass-field %q must be one of the fields that the edge drops, such as "+
				"True-Client-IP; docs/reference/caching.md lists them", name))
		}
	}
	if h := f.OriginHost; h != "" && !hostport.ValidHost(h) {
		errs = append(errs, fmt.Errorf("--origin-host %q must be client, origin, or a name with or without a port", h))
	}
	if name, port := hostport.SplitHost(f.OriginSNI); f.OriginSNI != "" && (port != "" || !hostport.ValidHost(name)) {
		errs = append(errs, fmt.Errorf("--origin-sni %q must be a name without a port", f.OriginSNI))
	}
	return errors.Join(errs...)
}

// ClientHost reports whether forwarded requests carry the client's Host.
func (f *Forwarding) ClientHost() bool { return f.OriginHost == "" || f.OriginHost == hostOfClient }

// HostName returns the name that all origins get as Host; empty: there is none.
func (f *Forwarding) HostName() string {
	if f.ClientHost() || f.OriginHost == hostOfOrigin {
		return ""
	}
	return f.OriginHost
}

// Bounds returns the limits of forwarded requests. firstByte is how long an origin may take to
// begin a response.
func (f *Forwarding) Bounds(firstByte time.Duration) fetch.Bounds {
	return fetch.Bounds{MaxBody: f.MaxBody, MaxObject: f.MaxObject,
		Patience: upstream.Patience{FirstByte: firstByte, Idle: cmp.Or(f.Idle, defaultIdle)}, Hold: cmp.Or(f.Hold, defaultHold),
		Hesitation: cmp.Or(f.Hesitation, defaultHesitation)}
}

// Site returns the one site of an edge.
func (f *Forwarding) Site() *vhosts.Site {
	passed := make(map[string]bool, len(f.PassFields))
	for _, name := range f.PassFields {
		passed[http.CanonicalHeaderKey(name)] = true
	}
	return f.Settings.Site(f.ProxyAll, cachepolicy.Policy{SafeCookies: !f.StoreCookies, IgnoreRevalidation: !f.ClientRevalidation}, passed)
}
