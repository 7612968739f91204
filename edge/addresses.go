package edge

import (
	"errors"
	"flag"
	"net"

	"github.com/iconedge/iconedge/hostport"
)

// Addresses configures where the edge listens without TLS. It uses Listener and AdminListener, if
// they are set, and does not listen on the addresses.
type Addresses struct {
	Listen      string // public address, HOST:PORT
	AdminListen string // address of health, readiness, metrics and purges

	Listener, AdminListener net.Listener
}

func (a *Addresses) Flags(fs *flag.FlagSet) {
	fs.StringVar(&a.Listen, "listen", ":8080", "public `address`, HOST:PORT")
	fs.StringVar(&a.AdminListen, "admin-listen", "127.0.0.1:8082", "`address` of /healthz, /readyz, /metrics and /purge; keep it private")
}

func (a *Addresses) Validate() error {
	var errs []error
	for _, f := range []struct{ flag, address string }{{"--listen", a.Listen}, {"--admin-listen", a.AdminListen}} {
		if f.address != "" {
			errs = append(errs, hostport.Check(f.flag, f.address))
		}
	}
	return errors.Join(errs...)
}
