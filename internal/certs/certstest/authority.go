package certstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// An Authority signs certificates.
type Authority struct {
	File string // PEM file of its own certificate
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes an authority with its certificate in dir/FILE.crt, valid for a day around now.
func NewAuthority(t testing.TB, dir, file string) *Authority {
	t.Helper()
	now := time.Now()
	template := template(Certificate{Subject: file, Begins: now.Add(-12 * time.Hour), Ends: now.Add(12 * time.Hour)})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a := &Authority{key: newKey(t)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.File, _ = write(t, dir, file, der, a.key)
	return a
}

// Pair writes a certificate signed by the authority, in the form of the function Pair.
func (a *Authority) Pair(t testing.TB, dir, file string, names ...string) (cert, key string) {
	t.Helper()
	private := newKey(t)
	template := template(Certificate{Subject: file, Names: names, Begins: a.cert.NotBefore, Ends: a.cert.NotAfter})
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, file, der, private)
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func template(c Certificate) *x509.Certificate {
	made := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: c.Subject},
		NotBefore: c.Begins, NotAfter: c.Ends}
	name(made, c.Names)
	return made
}
