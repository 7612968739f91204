// Package certstest makes certificates for tests.
package certstest

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Pair writes a self-signed certificate of subject for names and addresses, and its key: the files
// FILE.crt and FILE.key in dir. The certificate is valid from an hour ago, for two hours.
func Pair(t testing.TB, dir, file, subject string, names ...string) (cert, key string) {
	t.Helper()
	return PairDuring(t, dir, file, Hour(subject, names...))
}

// A Certificate is valid for names and addresses from one time to another.
type Certificate struct {
	Subject      string
	Names        []string
	Begins, Ends time.Time
}

// Hour returns a certificate that is valid from an hour ago, for two hours.
func Hour(subject string, names ...string) Certificate {
	now := time.Now()
	return Certificate{Subject: subject, Names: names, Begins: now.Add(-time.Hour), Ends: now.Add(time.Hour)}
}

// PairDuring writes a self-signed certificate as Pair does.
func PairDuring(t testing.TB, dir, file string, c Certificate) (cert, key string) {
	t.Helper()
	private, template := newKey(t), template(c)
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, file, der, private)
}

// name adds names and addresses to a certificate.
func name(c *x509.Certificate, names []string) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
			continue
		}
		c.DNSNames = append(c.DNSNames, name)
	}
}

func write(t testing.TB, dir, file string, der []byte, private crypto.Signer) (cert, key string) {
	t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, file+".crt"), filepath.Join(dir, file+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// KeyHash returns the SHA-256 of a certificate's public key in base64, by which Chromium's flag
// --ignore-certificate-errors-spki-list makes it trust the certificate.
func KeyHash(t testing.TB, cert, key string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(pair.Leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(hash[:])
}
