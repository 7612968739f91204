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
