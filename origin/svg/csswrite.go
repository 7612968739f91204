package svg

import (
	"fmt"
	"slices"
	"strings"
)

// serialise writes tokens as CSS, in canonical form: with the fewest escapes, double quotes and
// single spaces. It reports whether the result parses to the same tokens; callers drop the value if
// it does not.
func serialise(list []token) (string, bool) {
	var b strings.Builder
	for _, t := range list {
		switch t.kind {
		case tokIdent:
			b.WriteString(serialiseName(t.text, true))
		case tokFunction:
			b.WriteString(serialiseName(t.text, true) + "(")
		case tokAt:
			b.WriteString("@" + serialiseName(t.text, true))
		case tokHash:
			b.WriteString("#" + serialiseName(t.text, false))
		case tokString:
			b.WriteString(serialiseString(t.text))
		case tokURL:
			if plainID(t.text) {
				b.WriteString("url(" + t.text + ")")
			} else {
				b.WriteString("url(" + serialiseString(t.text) + ")")
			}
		case tokNumber:
			b.WriteString(t.text)
			if t.unit == "%" {
				b.WriteString("%")
			} else {
				b.WriteString(serialiseName(t.unit, true))
			}
		case tokSpace:
			b.WriteByte(' ')
		case tokDelim:
			b.WriteString(t.text)
		default:
			return "", false
		}
	}
	again := quotedURLs(tokens([]byte(b.String())))
	return b.String(), slices.Equal(list, again)
}

// plainID reports whether a URL is "#" followed by characters that have no meaning in CSS.
func plainID(s string) bool {
	if len(s) < 2 || s[0] != '#' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; c >= 0x80 || !isName(c) && c != '.' && c != ':' {
			return false
		}
	}
	return true
}

// serialiseName escapes the characters that would end a name and, if ident is set, the ones that
// may not begin an identifier.
func serialiseName(s string, ident bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r >= 0x80, r < 0x80 && isNameStart(byte(r)):
			b.WriteRune(r)
		case isName(byte(r)) && !(ident && beginsNumber(s, i)):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\%x ", r)
		}
	}
	return b.String()
}

// beginsNumber reports whether a character of a name that may not begin one, a digit or a dash,
// stands where an identifier begins.
func beginsNumber(s string, i int) bool {
	switch i {
	case 0:
		return s[0] != '-' || len(s) == 1
	case 1:
		return s[0] == '-' && isDigit(s[1])
	}
	return false
}

func serialiseString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r < 0x20, r == 0x7f, strings.ContainsRune(`"\<>&`, r):
			fmt.Fprintf(&b, "\\%x ", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quotedURLs joins the tokens of url("…") into one tokURL, the token that url(…) has.
func quotedURLs(list []token) []token {
	var out []token
	for i := 0; i < len(list); i++ {
		if t := list[i]; t.kind == tokFunction && equalFold(t.text, "url") {
			rest := slices.DeleteFunc(slices.Clone(list[i+1:min(i+5, len(list))]), func(t token) bool { return t.kind == tokSpace })
			if len(rest) >= 2 && rest[0].kind == tokString && rest[1].is(")") {
				out = append(out, token{kind: tokURL, text: rest[0].text})
				for !list[i].is(")") {
					i++
				}
				continue
			}
			t = token{kind: tokBad}
			out = append(out, t)
			continue
		}
		out = append(out, list[i])
	}
	return out
}
