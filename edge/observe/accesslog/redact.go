package accesslog

import (
	"bytes"
	"slices"
	"strings"
)

// redacted replaces a secret, as in OpenTelemetry's conventions for url.query.
const redacted = "REDACTED"

// secretParams lists parameters whose values grant access: tokens (RFC 6750, section 2.3), and the
// signatures of object stores that OpenTelemetry's conventions for url.query name.
var secretParams = []string{"access_token", "token", "api_key", "apikey", "password", "secret", "sig", "signature", "awsaccesskeyid",
	"x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential"}

// Redacted returns target without the values of these parameters and without licence tokens. It
// returns target itself if there is nothing to redact.
func Redacted(target []byte) []byte {
	path, query, _ := bytes.Cut(target, []byte("?"))
	if !hasSecret(query) {
		return masked(target)
	}
	out := append(bytes.Clone(path), '?')
	for pair := range bytes.SplitSeq(query, []byte("&")) {
		if isSecret(pair) {
			name, _, _ := bytes.Cut(pair, []byte("="))
			pair = append(bytes.Clone(name), "="+redacted...)
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

// isSecret reports whether a parameter has a value that must not be logged.
func isSecret(pair []byte) bool {
	name, _, has := bytes.Cut(pair, []byte("="))
	return has && slices.ContainsFunc(secretParams,
		func(s string) bool { return len(s) == len(name) && strings.EqualFold(s, string(name)) })
}

// tokens lists the prefixes of a licence token, plain and percent-encoded.
var tokens = [][]byte{[]byte("iel_"), []byte("iel%5F"), []byte("iel%5f")}

// masked returns text without licence tokens. It returns text itself if it contains none.
func masked(text []byte) []byte {
	if !bytes.Contains(text, tokens[0][:3]) {
		return text
	}
	for _, prefix := range tokens {
		text = maskedBehind(text, prefix)
	}
	return text
}

// maskedBehind replaces the letters and digits after each prefix.
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
		out = append(append(out, prefix...), redacted...)
		text = bytes.TrimLeftFunc(after, isBase62)
	}
}

func isBase62(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// withoutQuery returns a Referer without its query and fragment, because those may hold secrets of
// another site.
func withoutQuery(referer []byte) []byte {
	referer, _, _ = bytes.Cut(referer, []byte("?"))
	referer, _, _ = bytes.Cut(referer, []byte("#"))
	return referer
}

// Path returns the path of a target, redacted. It is empty for a target that names its host, which
// clients send only to a proxy.
func Path(target []byte) string {
	path, _, _ := bytes.Cut(Redacted(target), []byte("?"))
	if !bytes.HasPrefix(path, []byte("/")) {
		return ""
	}
	return string(path)
}
