package edge

import (
	"flag"

	"github.com/iconedge/iconedge/cachepolicy"
)

// Forwarding is what an operator can set about forwarded paths (--proxy-all).
type Forwarding struct {
	StoreCookies       bool // RFC 9111 alone decides about responses with Set-Cookie, and about requests with Cookie
	ClientRevalidation bool // every directive of a client's Cache-Control counts, and Pragma
}

func (f *Forwarding) flags(fs *flag.FlagSet) {
	fs.BoolVar(&f.StoreCookies, "store-cookies", false, "with --proxy-all, let RFC 9111 alone decide about cookies: store responses with Set-Cookie, and those to requests with Cookie that name no freshness lifetime")
	fs.BoolVar(&f.ClientRevalidation, "client-revalidation", false, "with --proxy-all, obey every directive of a client's Cache-Control, and its Pragma; without it only no-store and only-if-cached count")
}

func (f *Forwarding) validate() error { return nil }

// policy is what the cache follows on forwarded paths.
func (f *Forwarding) policy() cachepolicy.Policy {
	return cachepolicy.Policy{SafeCookies: !f.StoreCookies, IgnoreRevalidation: !f.ClientRevalidation}
}
