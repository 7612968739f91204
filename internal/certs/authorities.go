package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

// Authorities holds the certificate authorities of a PEM file, which the program trusts.
type Authorities struct {
	*files.Watched
	path    string
	current atomic.Pointer[x509.CertPool]
}

// OpenAuthorities reads the certificates of a file. A certificate that has expired at now is an
// error, and so is a block that is not a certificate.
func OpenAuthorities(path string, now time.Time) (*Authorities, error) {
	a := &Authorities{path: path}
	a.Watched = files.Watch(a.read, path)
	return a, a.Reload(now)
}

func (a *Authorities) read(now time.Time) error {
	text, err := os.ReadFile(a.path)
	if err != nil {
		return err
	}
	pool, err := parseAuthorities(text, now)
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	a.current.Store(pool)
	return nil
}

// parseAuthorities reads a sequence of certificates and ignores text between them (RFC 7468,
// section 2).
func parseAuthorities(text []byte, now time.Time) (*x509.CertPool, error) {
	pool, count := x509.NewCertPool(), 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it contains a %.40q block; it must contain certificates only", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d can't be read: %w", count+1, err)
		}
		if now.After(c.NotAfter) {
			return nil, fmt.Errorf("certificate %d is not valid after %s", count+1, c.NotAfter.Format(time.RFC3339))
		}
		pool.AddCert(c)
		count++
	}
	if count == 0 {
		return nil, errors.New("there is no certificate in it (PEM)")
	}
	return pool, nil
}

// Pool returns the current authorities. For a nil *Authorities it returns nil, which stands for the
// authorities of the system.
func (a *Authorities) Pool() *x509.CertPool {
	if a == nil {
		return nil
	}
	return a.current.Load()
}
