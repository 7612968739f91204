// Package certs keeps the certificates that an edge or an origin shows, and those of the authorities that it believes: PEM files, read again
// when they change. What can't be used never takes the place of what can. Which certificate a client gets the name decides that it asks for (SNI, RFC 6066, section 3).
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/files"
)

// A Pair names the PEM files of a certificate, with what it is signed by behind it, and of its key.
type Pair struct{ Cert, Key string }

// A Store holds the certificates of its pairs.
type Store struct {
	*files.Kept
	use     x509.ExtKeyUsage
	pairs   []Pair
	current atomic.Pointer[set]
}

// A set is what is shown at one time.
type set struct {
	all    []*tls.Certificate
	byName map[string]*tls.Certificate // exact names, and *.example.org
}

// Open reads all pairs, to be used by servers or by clients. The error names every one that can't be: files that can't be read, a key that does not match, a
// certificate that is for another use, or is not valid yet or no more at now.
func Open(pairs []Pair, use x509.ExtKeyUsage, now time.Time) (*Store, error) {
	s := &Store{pairs: pairs, use: use}
	var paths []string
	for _, p := range pairs {
		paths = append(paths, p.Cert, p.Key)
	}
	s.Kept = files.NewKept(s.read, paths...)
	return s, s.Reload(now)
}

// read reads all pairs, and shows them if all can be used: else what was shown stays.
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
		return nil, fmt.Errorf("certificate %s is for another use: its extended key usage lacks %s", p.Cert, useNames[use])
	case now.Before(c.Leaf.NotBefore):
		return nil, fmt.Errorf("certificate %s is not valid before %s", p.Cert, c.Leaf.NotBefore.Format(time.RFC3339))
	case now.After(c.Leaf.NotAfter):
		return nil, fmt.Errorf("certificate %s is not valid after %s", p.Cert, c.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &c, nil
}

var useNames = map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "serverAuth", x509.ExtKeyUsageClientAuth: "clientAuth"}

// serves reports whether a certificate may be put to a use: one that names none may be put to any (RFC 5280, section 4.2.1.12).
func serves(c *x509.Certificate, use x509.ExtKeyUsage) bool {
	return len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 || slices.Contains(c.ExtKeyUsage, use) || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
}

// add makes a certificate known by its names. Where two have one name, the first is shown.
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

// Certificate is what a client is shown: the certificate for the name that it asks for, or for the names one level up, or the
// first: it tells the person in front of a browser more than a handshake that fails.
func (s *Store) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	set := s.current.Load()
	name := lower(hello.ServerName)
	if name == "" && hello.Conn != nil { // an address is no name: it is not asked for (RFC 6066, section 3)
		if host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String()); err == nil {
			name = host
		}
	}
	if c := set.byName[name]; c != nil {
		return c, nil
	}
	for i := range name {
		if name[i] == '.' {
			if c := set.byName["*"+name[i:]]; c != nil {
				return c, nil
			}
			break
		}
	}
	return set.all[0], nil
}

// ClientCertificate is what a server is shown that asks for a certificate: the first. Whether it will do is for the server to say.
func (s *Store) ClientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return s.current.Load().all[0], nil
}

// Ends is when the first of the certificates will be valid no more.
func (s *Store) Ends() time.Time {
	var first time.Time
	for _, c := range s.current.Load().all {
		if first.IsZero() || c.Leaf.NotAfter.Before(first) {
			first = c.Leaf.NotAfter
		}
	}
	return first
}

// lower is a name in small letters, without the dot of the root.
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
