// Package token issues, revokes, lists and verifies licence tokens. A token is "iel_" and 40 characters of base62, of which
// 34 are random (202 bits) and six are a checksum, so that a mistyped or made-up token is refused without asking the store,
// and scanners for leaked secrets find real ones alone. The form is that of GitHub's tokens ("Behind GitHub's new
// authentication token formats", 2021): the CRC-32 of the random part, in base62 with leading zeros.
//
// The store keeps licenses/<SHA-256 of the token>.json and never the token. A plain hash is enough for a secret of 202 random
// bits, which cannot be guessed from it as a password could.
//
// The package imports objectstore.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

const (
	prefix    = "iel_"
	alphabet  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLen = 34
	checkLen  = 6 // 62^6 is more than 2^32
	tokenLen  = len(prefix) + secretLen + checkLen
)

// WellFormed reports whether s has the form of a token and its checksum is right. No token with one character changed is
// well-formed: CRC-32 finds every error within 32 successive bits.
func WellFormed(s string) bool {
	if len(s) != tokenLen || !strings.HasPrefix(s, prefix) {
		return false
	}
	secret, check := s[len(prefix):len(prefix)+secretLen], s[len(prefix)+secretLen:]
	for i := range len(secret) {
		if strings.IndexByte(alphabet, secret[i]) < 0 {
			return false
		}
	}
	return subtle.ConstantTimeCompare([]byte(check), []byte(checksum(secret))) == 1
}

// Hash is the name under which a token's licence is kept: its SHA-256 in hexadecimal.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// generate makes a new token.
func generate() string {
	return assemble(secret())
}

// assemble makes a token of its random part.
func assemble(secret string) string {
	return prefix + secret + checksum(secret)
}

// secret is the random part of a token. Bytes from 248 on are thrown away: 256 is no multiple of 62, and with them the first
// eight characters would be likelier than the others.
func secret() string {
	out := make([]byte, 0, secretLen)
	for len(out) < secretLen {
		var b [2 * secretLen]byte
		rand.Read(b[:]) // never fails
		for _, c := range b {
			if c < 248 && len(out) < secretLen {
				out = append(out, alphabet[c%62])
			}
		}
	}
	return string(out)
}

func checksum(secret string) string {
	n := crc32.ChecksumIEEE([]byte(secret))
	var out [checkLen]byte
	for i := checkLen - 1; i >= 0; i-- {
		out[i] = alphabet[n%62]
		n /= 62
	}
	return string(out[:])
}
