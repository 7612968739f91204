package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/files"
)

// Authorities are those of a PEM file: what they have signed is believed.
type Authorities struct {
	*files.Kept
	path    string
	current atomic.Pointer[x509.CertPool]
}

// OpenAuthorities reads the certificates of a file. One that is no more valid at now, and a block that is no certificate, are errors.
func OpenAuthorities(path string, now time.Time) (*Authorities, error) {
	a := &Authorities{path: path}
	a.Kept = files.NewKept(a.read, path)
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

// parseAuthorities reads certificates one behind the other; text between them is nobody's (RFC 7468, section 2).
func parseAuthorities(text []byte, now time.Time) (*x509.CertPool, error) {
	pool, count := x509.NewCertPool(), 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it has a %.40q in it, not certificates alone", block.Type)
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

// Pool is what they are now; nil ones are the system's.
func (a *Authorities) Pool() *x509.CertPool {
	if a == nil {
		return nil
	}
	return a.current.Load()
}
