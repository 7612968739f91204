package access

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/internal/hostport"
)

// Rules holds everything that an operator can set about clients: which ones the edge serves, how
// many calls each may make, and which proxies it believes about them.
type Rules struct {
	Limits         Limits         // by class of calls, or by plan and class; others have a default
	RequireToken   bool           // search, icon and packs require a licence token
	TrustedProxies []netip.Prefix // believed in Forwarded, X-Forwarded-For, PROXY protocol
	AllowFile      string         // list of addresses that no limit counts; empty: none
	DenyFile       string         // list of addresses that are refused; empty: none
}

func (r *Rules) Flags(fs *flag.FlagSet) {
	fs.Var(&r.Limits, "limit", "`CLASS=N/TIME` or CLASS=off, limit on the calls of one client; CLASS is search, "+
		"suggest, icon, packs, verify, cdn, pages, raster or forwarded (every request with --proxy-all that the edge "+
		"forwards), or PLAN:CLASS for each token of a plan; may be repeated")
	fs.BoolVar(&r.RequireToken, "require-token", false,
		"answer search, icon and packs only to clients with a licence token (Authorization: Bearer)")
	fs.Var(repeated.Flag(&r.TrustedProxies, hostport.ParsePrefix), "trusted-proxies", "`CIDR` of proxies whose "+
		"Forwarded, X-Forwarded-For and PROXY protocol headers the edge believes; may be repeated")
	fs.StringVar(&r.AllowFile, "allow-file", "", "`file` of addresses and networks, one on each line, that no limit "+
		"counts and no list denies; the edge reads it again when it changes (default none)")
	fs.StringVar(&r.DenyFile, "deny-file", "", "`file` of addresses and networks, one on each line, that the edge "+
		"answers 403; the edge reads it again when it changes (default none)")
}

// Validate returns every error of the rules. It reads the lists, to report those that can't be
// used.
func (r *Rules) Validate() error {
	var errs []error
	for _, f := range []struct{ flag, file string }{{"--allow-file", r.AllowFile}, {"--deny-file", r.DenyFile}} {
		if f.file == "" {
			continue
		}
		if _, err := readAddresses(f.file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.flag, err))
		}
	}
	return errors.Join(errs...)
}

// OpenLists reads the allow list and the deny list. It returns nil if there are none, and the error
// of the first file that can't be used.
func (r *Rules) OpenLists(log *slog.Logger, o Observer) (*Lists, error) {
	if r.AllowFile == "" && r.DenyFile == "" {
		return nil, nil
	}
	l := &Lists{newList("allow", r.AllowFile, log, o), newList("deny", r.DenyFile, log, o)}
	return l, l.load()
}

// Clients returns what finds the client of a request.
func (r *Rules) Clients() Clients { return Clients{Trusted: r.TrustedProxies} }
