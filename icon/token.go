package icon

import (
	"crypto/subtle"
	"hash/crc32"
	"strings"
)

// A licence token is "iel_" and 40 characters of base62: TokenSecretLen random ones (202 bits) and
// six of a checksum. With the checksum, the edge refuses a mistyped or invented token without a
// query to the origin, and scanners for leaked secrets recognise real tokens. The form is that of
// GitHub's tokens ("Behind GitHub's new authentication token formats", 2021): the CRC-32 of the
// random part, in base62 with leading zeros.
const (
	TokenAlphabet  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	TokenSecretLen = 34

	tokenPrefix = "iel_"
	checkLen    = 6 // 62^6 is more than 2^32
	tokenLen    = len(tokenPrefix) + TokenSecretLen + checkLen
	maxPlan     = 64 // bytes
)

// WellFormedToken reports whether s has the form of a token and a correct checksum. Changing one
// character of a well-formed token makes it malformed, because CRC-32 detects every error within 32
// successive bits.
func WellFormedToken(s string) bool {
	if len(s) != tokenLen || !strings.HasPrefix(s, tokenPrefix) {
		return false
	}
	secret, check := s[len(tokenPrefix):len(tokenPrefix)+TokenSecretLen], s[len(tokenPrefix)+TokenSecretLen:]
	for i := range len(secret) {
		if strings.IndexByte(TokenAlphabet, secret[i]) < 0 {
			return false
		}
	}
	return subtle.ConstantTimeCompare([]byte(check), []byte(checksum(secret))) == 1
}

// AssembleToken makes a token from its random part: TokenSecretLen characters of TokenAlphabet.
func AssembleToken(secret string) string {
	return tokenPrefix + secret + checksum(secret)
}

func checksum(secret string) string {
	n := crc32.ChecksumIEEE([]byte(secret))
	var out [checkLen]byte
	for i := checkLen - 1; i >= 0; i-- {
		out[i] = TokenAlphabet[n%62]
		n /= 62
	}
	return string(out[:])
}

// ValidPlan reports whether s can be the name of a token's plan, which limits also use
// ("lifetime:search=600/1m"): the characters of a pack's key, at most 64 bytes.
func ValidPlan(s string) bool { return len(s) <= maxPlan && ValidKey(s) }
