//go:build linux

package peers

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/iconedge/iconedge/test/listening"
)

// A Place is the folder and address where a server runs.
type Place struct {
	Dir    string // of the server alone
	Origin netip.AddrPort
	CPUs   string
	Cores  int
	PEM    string // file of a certificate and its key, for TLS
	// Host is the address of the listener; zero: loopback.
	Host netip.Addr
}

// spec returns the parts that all servers have in common, with a free port.
func (p Place) spec(name, program string, args ...string) (Spec, error) {
	listen, err := FreePort()
	if p.Host.IsValid() {
		listen = netip.AddrPortFrom(p.Host, listen.Port())
	}
	s := Spec{Name: name, Program: program, Dir: p.Dir, CPUs: p.CPUs, Cores: p.Cores, Listen: listen,
		Origin: p.Origin, PEM: p.PEM, Store: true}
	s.Args = args
	return s, err
}

// Nginx describes nginx with a cache in its folder, which should be in a tmpfs. With store unset it
// forwards and caches nothing.
func Nginx(p Place, store bool) (Spec, error) {
	s, err := p.spec("nginx", "nginx", "-p", p.Dir, "-c", filepath.Join(p.Dir, "nginx.conf"))
	s.File, s.Store = "nginx.conf", store
	if store {
		s.Memory = filepath.Join(p.Dir, "cache")
	}
	return s, err
}

// Varnish describes Varnish with a cache in memory. Its threads start before they are needed. It
// passes codings through as the origin made them; otherwise it would store only gzip and decode it
// for clients that do not accept it.
func Varnish(p Place) (Spec, error) {
	s, err := p.spec("Varnish", "varnishd")
	s.File = "varnish.vcl"
	s.Args = []string{
		"-F", "-j", "none", "-n", filepath.Join(p.Dir, "work"), "-f", filepath.Join(p.Dir, "varnish.vcl"),
		"-a", s.Listen.String(), "-T", "none", "-s", "malloc,1g",
		"-p", "thread_pool_min=100", "-p", "thread_pool_max=1000", "-p", "listen_depth=4096",
		"-p", "http_gzip_support=off", "-p", "timeout_idle=3600", "-p", "default_grace=3600",
	}
	return s, err
}

// HAProxy describes HAProxy with its small-object cache.
func HAProxy(p Place) (Spec, error) {
	s, err := p.spec("HAProxy", "haproxy", "-db", "-f", filepath.Join(p.Dir, "haproxy.cfg"))
	s.File = "haproxy.cfg"
	return s, err
}

// StaticFiles is the folder, below the server's own, of the files that H2O serves.
const StaticFiles = "www"

// H2O describes h2o, which has no cache, with static files over TLS.
func H2O(p Place) (Spec, error) {
	s, err := p.spec("h2o", "h2o", "-c", filepath.Join(p.Dir, "h2o.conf"))
	s.File, s.Memory = "h2o.conf", filepath.Join(p.Dir, StaticFiles)
	s.Env = []string{"OPENSSL_CONF=" + filepath.Join(p.Dir, "openssl.cnf")}
	s.Settings = "openssl.cnf"
	return s, err
}

// Edge describes an edge of iconedge. It sets GOMAXPROCS to the number of cores that taskset
// allows.
func Edge(name, program string, p Place, args ...string) (Spec, error) {
	s, err := p.spec(name, program)
	admin, adminErr := FreePort()
	if err == nil {
		err = adminErr
	}
	s.Admin = admin
	s.Args = []string{"edge", "--admin-listen", admin.String(), "--origin", "http://" + p.Origin.String(),
		"--log-level", "warn", "--listen"}
	if p.PEM == "" {
		s.Args = append(s.Args, s.Listen.String())
	} else {
		s.Args = append(s.Args, "127.0.0.1:0", "--tls-listen", s.Listen.String(), "--tls-cert", p.PEM, "--tls-key", p.PEM)
	}
	s.Args = append(s.Args, args...)
	s.Env = []string{"GOMAXPROCS=" + strconv.Itoa(p.Cores)}
	return s, err
}

// EdgeWithSites describes an edge of iconedge with a configuration file of 50 sites and 200 rules.
// The site that gets the requests has icons, and rules that match none of them; or it forwards
// every path, and two of its rules match.
func EdgeWithSites(name, program string, p Place, icons bool) (Spec, error) {
	s, err := p.spec(name, program, "edge", "--config", filepath.Join(p.Dir, "sites.yaml"))
	admin, adminErr := FreePort()
	s.File, s.Admin, s.Icons = "sites.yaml", admin, icons
	for i := range 50 {
		s.Sites = append(s.Sites, "site"+strconv.Itoa(i))
	}
	s.Env = []string{"GOMAXPROCS=" + strconv.Itoa(p.Cores)}
	return s, cmp.Or(err, adminErr)
}

// Origin describes an origin of iconedge over a published store.
func Origin(program, store string, p Place) (Spec, error) {
	s, err := p.spec("origin", program)
	admin, adminErr := FreePort()
	s.Admin = admin
	s.Args = []string{"origin", "--listen", s.Listen.String(), "--admin-listen", admin.String(), "--store", store, "--mirror",
		filepath.Join(p.Dir, "mirror"), "--log-level", "warn"}
	return s, cmp.Or(err, adminErr)
}

// Self describes a command of this program that listens, such as its ceiling or its origin.
func Self(name, command string, p Place, args ...string) (Spec, error) {
	program, err := os.Executable()
	if err != nil {
		return Spec{}, err
	}
	s, err := p.spec(name, program)
	s.Args = append([]string{command, "--listen", s.Listen.String()}, args...)
	s.Env = []string{"GOMAXPROCS=" + strconv.Itoa(p.Cores)}
	return s, err
}

// FreePort returns a loopback address that nothing listens on.
func FreePort() (netip.AddrPort, error) {
	addresses, err := listening.FreeAddresses(1)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.ParseAddrPort(addresses[0])
}
