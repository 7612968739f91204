// Package certs keeps the certificates that an edge or an origin presents, and the authorities that
// it trusts. It reads both from PEM files, and again when these change; a file that can't be used
// never replaces valid content. The server name that a client sends (SNI, RFC 6066, section 3)
// selects the certificate.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

// A Pair names two PEM files: a certificate followed by its intermediates, and its key.
type Pair struct{ Cert, Key string }

// A Store holds the certificates of its pairs.
type Store struct {
	*files.Watched
	use     x509.ExtKeyUsage
	pairs   []Pair
	current atomic.Pointer[set]
}

// A set holds the certificates that are in use at one time.
type set struct {
	all    []*tls.Certificate
	byName map[string]*tls.Certificate // exact names, and *.example.org
}

// Open reads all pairs, for use by servers or by clients. The error names every pair that can't be
// used: files that can't be read, a key that does not match, or a certificate for another use, or
// one that is not valid at now.
func Open(pairs []Pair, use x509.ExtKeyUsage, now time.Time) (*Store, error) {
	s := &Store{pairs: pairs, use: use}
	var paths []string
	for _, p := range pairs {
		paths = append(paths, p.Cert, p.Key)
	}
	s.Watched = files.Watch(s.read, paths...)
	return s, s.Reload(now)
}

// read reads all pairs. It replaces the current certificates only if all pairs can be used.
func (s *Store) read(now time.Time) error {
	next := &set{byName: map[string]*tls.Certificate{}}
	var errs []error
	for _, p := range s.pairs {
		c, err := load(p, s.use, now)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		next.add(c)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.current.Store(next)
	return nil
}

func load(p Pair, use x509.ExtKeyUsage, now time.Time) (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", p.Cert, p.Key, err)
	}
	switch {
	case !serves(c.Leaf, use):
		return nil, fmt.Errorf("certificate %s can't be used here: its extended key usage lacks %s", p.Cert, useNames[use])
	case now.Before(c.Leaf.NotBefore):
		return nil, fmt.Errorf("certificate %s is not valid before %s", p.Cert, c.Leaf.NotBefore.Format(time.RFC3339))
	case now.After(c.Leaf.NotAfter):
		return nil, fmt.Errorf("certificate %s is not valid after %s", p.Cert, c.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &c, nil
}

var useNames = map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "serverAuth", x509.ExtKeyUsageClientAuth: "clientAuth"}

// serves reports whether a certificate is valid for a use. A certificate that names no use is valid
// for any (RFC 5280, section 4.2.1.12).
func serves(c *x509.Certificate, use x509.ExtKeyUsage) bool {
	return len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 || slices.Contains(c.ExtKeyUsage, use) ||
		slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
}

// add registers a certificate under its names. If two certificates have the same name, the first
// one stays.
func (s *set) add(c *tls.Certificate) {
	s.all = append(s.all, c)
	names := c.Leaf.DNSNames
	for _, ip := range c.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	for _, name := range names {
		if name = lower(name); s.byName[name] == nil {
			s.byName[name] = c
		}
	}
}

// Certificate selects the certificate for a client: the one for the server name that it sends, then
// the wildcard for that name, then the first one. With the first one, a browser shows its user a
// name mismatch, which says more than a failed handshake.
func (s *Store) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	set := s.current.Load()
	name := lower(hello.ServerName)
	// Clients send no server name for an IP address (RFC 6066, section 3).
	if name == "" && hello.Conn != nil {
		if host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String()); err == nil {
			name = host
		}
	}
	if c := set.find(name); c != nil {
		return c, nil
	}
	return set.all[0], nil
}

// Names reports whether a certificate is for a server name, exactly or by a wildcard.
func (s *Store) Names(server string) bool { return s.current.Load().find(lower(server)) != nil }

// find returns the certificate for a name, or nil.
func (s *set) find(name string) *tls.Certificate {
	if c := s.byName[name]; c != nil {
		return c
	}
	if _, zone, ok := strings.Cut(name, "."); ok {
		return s.byName["*."+zone]
	}
	return nil
}

// ClientCertificate returns the first certificate to any server that requests one. The server
// decides whether to accept it.
func (s *Store) ClientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return s.current.Load().all[0], nil
}

// Ends returns the time at which the first of the certificates expires.
func (s *Store) Ends() time.Time {
	var first time.Time
	for _, c := range s.current.Load().all {
		if first.IsZero() || c.Leaf.NotAfter.Before(first) {
			first = c.Leaf.NotAfter
		}
	}
	return first
}

// lower returns a name in lower case, without the final dot.
func lower(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	if n := len(b); n > 0 && b[n-1] == '.' {
		b = b[:n-1]
	}
	return string(b)
}
