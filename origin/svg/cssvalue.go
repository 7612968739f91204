package svg

import (
	"bytes"
	"strings"
)

func equalFold(s, lower string) bool { return len(s) == len(lower) && strings.EqualFold(s, lower) }

// functions lists the CSS functions that may stay: they fetch nothing, and take no name of anything
// to fetch.
var functions = func() map[string]bool {
	table := map[string]bool{}
	for _, name := range strings.Fields("rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix light-dark " +
		"calc min max clamp abs sign round mod rem sin cos tan asin acos atan atan2 pow sqrt hypot log exp var " +
		"matrix matrix3d translate translatex translatey translatez translate3d scale scalex scaley scalez scale3d " +
		"rotate rotatex rotatey rotatez rotate3d skew skewx skewy perspective cubic-bezier steps linear " +
		"path polygon circle ellipse inset rect xywh ray fit-content minmax " +
		"blur brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia") {
		table[name] = true
	}
	return table
}()

// harmlessTokens reports whether a value can be kept: its brackets match, its functions are known,
// and every URL in it is a reference within the SVG, and they are not many. The tokens hold no
// escapes or comments any more.
func harmlessTokens(list []token) bool {
	var open []string
	urls := 0
	for i, t := range list {
		switch t.kind {
		case tokBad, tokAt:
			return false
		case tokIdent, tokHash:
			if strings.ContainsAny(t.text, "/:") {
				return false
			}
		case tokURL:
			if urls++; urls > maxURLs {
				return false
			}
			if !strings.HasPrefix(t.text, "#") || len(t.text) == 1 || !harmlessWord(t.text) ||
				strings.ContainsAny(t.text, "\"'()\\<> \t\n") {
				return false
			}
		case tokFunction:
			if !functions[strings.ToLower(t.text)] {
				return false
			}
			open = append(open, ")")
		case tokDelim:
			switch t.text {
			case "(":
				open = append(open, ")")
			case "[":
				open = append(open, "]")
			case ")", "]":
				if len(open) == 0 || open[len(open)-1] != t.text {
					return false
				}
				open = open[:len(open)-1]
			case "+", "-", "*", "/", ",", ".", "%", "=", ":":
			default:
				return false
			}
		}
		if !t.harmless() || looksLikeAddress(list, i) {
			return false
		}
	}
	return len(open) == 0
}

// harmless reports whether no lenient parser could take this token for a function or an address. A
// unit with escapes counts as harmful, because no honest tool writes one.
func (t token) harmless() bool {
	switch t.kind {
	case tokIdent, tokHash, tokString:
		return harmlessWord(t.text)
	case tokNumber:
		return t.unit == "%" || serialiseName(t.unit, true) == t.unit
	}
	return true
}

// looksLikeAddress reports whether the token at i and the one before it could be read as part of an
// address: two slashes, a scheme that runs code, or a bracket after a token that only ends like the
// name of a function. Browsers follow none of these.
func looksLikeAddress(list []token, i int) bool {
	if i == 0 {
		return false
	}
	before := list[i-1]
	switch t := list[i]; {
	case t.is("/"):
		return before.is("/")
	case t.is(":"):
		return scriptScheme(before.text) || scriptScheme(before.unit)
	case t.is("("):
		return before.kind == tokNumber || before.kind == tokHash
	}
	return false
}

// scriptScheme reports whether name, followed by a colon, could be read as a URL scheme that runs
// code.
func scriptScheme(name string) bool { return strings.HasSuffix(strings.ToLower(name), "script") }

// harmlessWord reports whether a name or a string, with escapes decoded, can't be read as a
// function or an address by a lenient parser. Browsers follow neither.
func harmlessWord(s string) bool {
	if !strings.ContainsAny(s, "(:/@;{}\\") {
		return true
	}
	s = strings.ToLower(s)
	return !strings.ContainsAny(s, "(@;{}\\") && !strings.Contains(s, "//") && !strings.Contains(s, "script:") &&
		!strings.Contains(s, "data:")
}

// cleanValue checks one CSS value. It returns v itself if every parser reads it alike, and
// otherwise serialises it.
func cleanValue(v []byte) ([]byte, bool) {
	list := quotedURLs(tokens(v))
	if !harmlessTokens(list) {
		return nil, false
	}
	s, ok := serialise(list)
	if !ok {
		return nil, false
	}
	if bytes.ContainsAny(v, "\\\f") || bytes.Contains(v, []byte("/*")) {
		return []byte(s), true
	}
	return v, true
}

// setCSS cleans the value of a presentation attribute. A value without a function or an escape
// can't name a URL.
func (a *attr) setCSS() bool {
	if bytes.IndexByte(a.value, '(') < 0 && bytes.IndexByte(a.value, '\\') < 0 {
		return true
	}
	if _, ok := internalURL(a.value); ok {
		return true
	}
	v, ok := cleanValue(a.value)
	if ok && !bytes.Equal(v, a.value) {
		a.value, a.simple = v, false
	}
	return ok
}

// internalURL reads the form that nearly every reference has, url(#id), and returns "#id".
func internalURL(v []byte) (ref []byte, ok bool) {
	if len(v) < 7 || string(v[:5]) != "url(#" || v[len(v)-1] != ')' {
		return nil, false
	}
	for _, c := range v[5 : len(v)-1] {
		if !isName(c) && c != '.' && c != ':' || c >= 0x80 {
			return nil, false
		}
	}
	return v[4 : len(v)-1], true
}

// onlyURL reads a value that consists of one reference, in any spelling.
func onlyURL(v []byte) (ref []byte, ok bool) {
	if ref, ok = internalURL(v); ok || bytes.IndexByte(v, '(') < 0 {
		return ref, ok
	}
	if list := trim(quotedURLs(tokens(v))); len(list) == 1 && list[0].kind == tokURL {
		return []byte(list[0].text), true
	}
	return nil, false
}

// eachURL calls f with every reference "#id" in a clean value.
func eachURL(v []byte, f func(ref []byte)) {
	if bytes.IndexByte(v, '(') < 0 {
		return
	}
	if ref, ok := internalURL(v); ok {
		f(ref)
		return
	}
	for _, t := range quotedURLs(tokens(v)) {
		if t.kind == tokURL {
			f([]byte(t.text))
		}
	}
}

// canonicalCurrent writes every currentColor in v in the one spelling that icon.Recolour looks for.
func canonicalCurrent(v []byte) []byte {
	const word = "currentColor"
	if len(v) < len(word) || string(v) == word || v[0] == '#' {
		return v
	}
	out := v
	for i := 0; i+len(word) <= len(v); i++ {
		if v[i]|0x20 != 'c' || !strings.EqualFold(string(v[i:i+len(word)]), word) {
			continue
		}
		end := i + len(word)
		if i > 0 && isName(v[i-1]) || end < len(v) && isName(v[end]) || string(v[i:end]) == word {
			continue
		}
		if &out[0] == &v[0] {
			out = bytes.Clone(v)
		}
		copy(out[i:end], word)
	}
	return out
}
