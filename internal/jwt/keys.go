// Package jwt decides whether a JSON Web Token (RFC 7519) is valid: signed by one of the keys of
// an issuer, within its time, and with the claims that somebody requires. It is pure: callers fetch
// the keys and give the time.
package jwt

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// Keys are the public keys of an issuer. They never change.
type Keys struct{ all []jose.JSONWebKey }

const (
	maxKeys = 256  // in a set
	minRSA  = 2048 // bits
)

// ParseKeys reads public keys: a JSON Web Key Set (RFC 7517), or PEM with public keys or
// certificates. strict refuses a set with keys that are not used for signatures of tokens;
// otherwise they are left out. A set without any usable key is an error.
func ParseKeys(text []byte, strict bool) (*Keys, error) {
	set, err := parseSet(text)
	if err != nil {
		return nil, err
	}
	if len(set) > maxKeys {
		return nil, fmt.Errorf("%d keys; must be at most %d", len(set), maxKeys)
	}
	k := &Keys{}
	for i, one := range set {
		if err := usable(&one); err == nil {
			k.all = append(k.all, one)
		} else if strict {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
	}
	if len(k.all) == 0 {
		return nil, errors.New("no public key; must have one of RSA, ECDSA or Ed25519")
	}
	return k, nil
}

func parseSet(text []byte) ([]jose.JSONWebKey, error) {
	if !bytes.Contains(text, []byte("-----BEGIN")) {
		return parseJSON(text)
	}
	var set []jose.JSONWebKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PUBLIC KEY":
			key, err = x509.ParsePKIXPublicKey(block.Bytes)
		case "RSA PUBLIC KEY":
			key, err = x509.ParsePKCS1PublicKey(block.Bytes)
		case "CERTIFICATE":
			var c *x509.Certificate
			if c, err = x509.ParseCertificate(block.Bytes); err == nil {
				key = c.PublicKey
			}
		default:
			err = fmt.Errorf("%q is no public key; must be PUBLIC KEY or CERTIFICATE", block.Type)
		}
		if err != nil {
			return nil, err
		}
		set = append(set, jose.JSONWebKey{Key: key})
	}
	return set, nil
}

// usable returns an error if a key can't verify signatures of tokens. A shared secret is none,
// because the set is public. So is a private key, whose owner has made a mistake.
func usable(k *jose.JSONWebKey) error {
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSA {
			return fmt.Errorf("RSA with %d bits; must have at least %d", key.N.BitLen(), minRSA)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return errors.New("no public key of RSA, ECDSA or Ed25519; must be one")
	}
	if !k.Valid() || k.Use != "" && k.Use != "sig" {
		return errors.New("not for signatures; must be a valid key with the use sig, or none")
	}
	return nil
}

// algorithmsOf returns the algorithms that signatures with a key may have. An algorithm that the
// key names is the only one.
func algorithmsOf(k *jose.JSONWebKey) (all []jose.SignatureAlgorithm) {
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		all = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}
	case ed25519.PublicKey:
		all = []jose.SignatureAlgorithm{jose.EdDSA}
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			all = []jose.SignatureAlgorithm{jose.ES256}
		case 384:
			all = []jose.SignatureAlgorithm{jose.ES384}
		case 521:
			all = []jose.SignatureAlgorithm{jose.ES512}
		}
	}
	return all
}

// find returns the keys that may have signed a token with this header.
func (k *Keys) find(kid, alg string) (found []crypto.PublicKey) {
	for i := range k.all {
		one := &k.all[i]
		if kid != "" && one.KeyID != "" && one.KeyID != kid || one.Algorithm != "" && one.Algorithm != alg {
			continue
		}
		for _, a := range algorithmsOf(one) {
			if string(a) == alg {
				found = append(found, one.Key)
			}
		}
	}
	if kid == "" && len(found) > maxTries {
		return nil // a token without a name of its key would cost as many verifications
	}
	return found
}

// maxTries is how many keys are tried for a token that does not name its key.
const maxTries = 4

// knows reports whether a key has the name that a token gives.
func (k *Keys) knows(kid string) bool {
	for i := range k.all {
		if k.all[i].KeyID == kid {
			return true
		}
	}
	return false
}

func parseJSON(text []byte) ([]jose.JSONWebKey, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &raw); err != nil || raw.Keys == nil {
		return nil, errors.New("no JSON Web Key Set and no PEM; must be one of them")
	}
	set := make([]jose.JSONWebKey, len(raw.Keys))
	for i, one := range raw.Keys {
		// A key of an unknown kind stays empty, because others may use it (RFC 7517, section 5).
		if err := json.Unmarshal(one, &set[i]); err != nil {
			set[i] = jose.JSONWebKey{}
		}
	}
	return set, nil
}
