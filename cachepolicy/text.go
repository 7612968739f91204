package cachepolicy

import "strings"

// trim removes optional whitespace at both ends (RFC 9110, section 5.6.3: SP and HTAB only).
func trim(s string) string { return strings.Trim(s, " \t") }

func trimLeft(s string) string { return strings.TrimLeft(s, " \t") }

// lower is strings.ToLower for ASCII letters only. Unicode would fold "ſ" and "K" (the Kelvin
// sign), which no token contains, to ASCII letters.
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

// isToken reports whether s is a token, as field names are (RFC 9110, section 5.6.2).
func isToken(s string) bool { return s != "" && strings.Trim(s, tchars) == "" }

// unquote parses the quoted-string at the start of s (RFC 9110, section 5.6.4).
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

// splitUnquoted splits s at every sep outside of a quoted-string, and removes whitespace at the
// ends of the parts. After a quote without an end it does not split, and closed is false.
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
