package accesslog

import (
	"bytes"
	"slices"
	"strings"
)

// hidden stands for what was left out, as OpenTelemetry's conventions for url.query have it.
const hidden = "REDACTED"

// secrets are parameters whose values open doors: tokens (RFC 6750, section 2.3), and the signed addresses of object stores that
// OpenTelemetry's conventions for url.query name.
var secrets = []string{"access_token", "token", "api_key", "apikey", "password", "secret", "sig", "signature", "awsaccesskeyid",
	"x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential"}

// Redacted is a target without the values of such parameters, and without tokens. It is target itself where it has none.
func Redacted(target []byte) []byte {
	path, query, _ := bytes.Cut(target, []byte("?"))
	if !hasSecret(query) {
		return masked(target)
	}
	out := append(bytes.Clone(path), '?')
	for pair := range bytes.SplitSeq(query, []byte("&")) {
		if isSecret(pair) {
			name, _, _ := bytes.Cut(pair, []byte("="))
			pair = append(bytes.Clone(name), "="+hidden...)
		}
		out = append(append(out, pair...), '&')
	}
	return masked(out[:len(out)-1])
}

func hasSecret(query []byte) bool {
	for pair := range bytes.SplitSeq(query, []byte("&")) {
		if isSecret(pair) {
			return true
		}
	}
	return false
}

// isSecret reports whether a parameter has a value that is not to be told.
func isSecret(pair []byte) bool {
	name, _, has := bytes.Cut(pair, []byte("="))
	return has && slices.ContainsFunc(secrets, func(s string) bool { return len(s) == len(name) && strings.EqualFold(s, string(name)) })
}

// tokens are how a licence token begins, as it is and as it may stand in an address.
var tokens = [][]byte{[]byte("iel_"), []byte("iel%5F"), []byte("iel%5f")}

// masked is text without licence tokens, wherever they stand in it. It is text itself where there are none.
func masked(text []byte) []byte {
	if !bytes.Contains(text, tokens[0][:3]) {
		return text
	}
	for _, prefix := range tokens {
		text = maskedBehind(text, prefix)
	}
	return text
}

// maskedBehind leaves out the letters and digits behind each prefix.
func maskedBehind(text, prefix []byte) []byte {
	var out []byte
	for {
		before, after, found := bytes.Cut(text, prefix)
		if !found && out == nil {
			return text
		}
		if out = append(out, before...); !found {
			return out
		}
		out = append(append(out, prefix...), hidden...)
		text = bytes.TrimLeftFunc(after, isBase62)
	}
}

func isBase62(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// page is a Referer without its query and fragment: those are another site's, and may say what that keeps to itself.
func page(referer []byte) []byte {
	referer, _, _ = bytes.Cut(referer, []byte("?"))
	referer, _, _ = bytes.Cut(referer, []byte("#"))
	return referer
}
