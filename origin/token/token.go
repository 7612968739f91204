// Package token issues, revokes, lists and verifies licence tokens, whose form package icon knows: what is not shaped like one is
// refused without asking the store.
//
// The store keeps licenses/<SHA-256 of the token>.json and never the token. A plain hash is enough for a secret of 202 random
// bits, which cannot be guessed from it as a password could.
//
// The package imports icon and objectstore.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/iconedge/iconedge/icon"
)

// Hash is the name under which a token's licence is kept: its SHA-256 in hexadecimal.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// generate makes a new token.
func generate() string {
	return icon.AssembleToken(secret())
}

// secret is the random part of a token. Bytes from 248 on are thrown away: 256 is no multiple of 62, and with them the first
// eight characters would be likelier than the others.
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
