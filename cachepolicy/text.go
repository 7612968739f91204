package cachepolicy

import "strings"

// trim takes optional whitespace off both ends (RFC 9110, section 5.6.3: SP and HTAB, nothing else).
func trim(s string) string { return strings.Trim(s, " \t") }

func trimLeft(s string) string { return strings.TrimLeft(s, " \t") }

// lower is strings.ToLower for ASCII alone: "ſ" and "K" (the Kelvin sign) are no letters of a token.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

const tchars = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isToken reports whether s is a token, as the name of a field is (RFC 9110, section 5.6.2).
func isToken(s string) bool { return s != "" && strings.Trim(s, tchars) == "" }

// unquote reads the quoted-string that s begins with (RFC 9110, section 5.6.4).
func unquote(s string) (value, rest string, ok bool) {
	plain := true
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			plain = false
			i++
		case '"':
			value = s[1:i]
			if !plain {
				value = unescape(value)
			}
			return value, s[i+1:], true
		}
	}
	return "", "", false
}

func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// splitUnquoted parts s at every sep that stands in no quoted-string, and takes the whitespace off the parts' ends. What
// follows a quote without an end stays in one part, and closed is false.
func splitUnquoted(s string, sep byte) (parts []string, closed bool) {
	quoted, start := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			parts, start = append(parts, trim(s[start:i])), i+1
		}
	}
	return append(parts, trim(s[start:])), !quoted
}
