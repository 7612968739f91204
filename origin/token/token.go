// Package token issues, revokes, lists and verifies licence tokens. Package icon defines their
// form; Verify refuses malformed tokens without a request to the store.
//
// The store keeps licenses/<SHA-256 of the token>.json and never the token. A plain hash is enough
// for a secret of 202 random bits, which can't be guessed from its hash as a password could.
//
// The package imports icon and objectstore.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/iconedge/iconedge/icon"
)

// Hash returns the name under which a token's licence is stored: its SHA-256 in hex.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// generate makes a new token.
func generate() string {
	return icon.AssembleToken(secret())
}

// secret returns the random part of a token. It discards bytes from 248 on: 256 is not a multiple
// of 62, so with them the first eight characters would be more likely than the others.
func secret() string {
	out := make([]byte, 0, icon.TokenSecretLen)
	for len(out) < icon.TokenSecretLen {
		var b [2 * icon.TokenSecretLen]byte
		rand.Read(b[:]) // never fails
		for _, c := range b {
			if c < 248 && len(out) < icon.TokenSecretLen {
				out = append(out, icon.TokenAlphabet[c%62])
			}
		}
	}
	return string(out)
}
