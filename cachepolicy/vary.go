package cachepolicy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// VaryNames returns the fields that Vary names, in the form of http.CanonicalHeaderKey, sorted and
// without repetitions. any is true if "*" or an invalid name is among them; then no request matches
// (RFC 9111, section 4.1).
func VaryNames(h http.Header) (names []string, any bool) {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = trim(name); name == "" {
				continue
			}
			any = any || name == "*" || !isToken(name)
			names = append(names, http.CanonicalHeaderKey(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), any
}

// VaryKey returns the secondary key of a request for responses whose Vary has these names. Requests
// with equal keys select the same response (RFC 9111, section 4.1). lines returns all lines of a
// request field: none if the field is absent, which differs from an empty field.
//
// Values that are known to be equivalent give the same key. They may differ in the division into
// lines and, in all fields but Cookie, in whitespace around commas. Accept, Accept-Encoding and
// Accept-Language may differ also in order, in case and in the notation of weights.
func VaryKey(names []string, lines func(name string) []string) string {
	var key []byte
	for _, name := range names {
		key = appendNormalised(key, name, '=', lines(name))
	}
	return string(key)
}

// AppendVary appends one field to the secondary key that VaryKey returns. value is the result of
// NormaliseVary, unless the field is absent.
func AppendVary(key []byte, name, value string, absent bool) []byte {
	if absent {
		return append(append(key, name...), ';')
	}
	return appendValue(key, name, '=', value)
}

// NormaliseVary returns the value of a request field in the form that keys have.
func NormaliseVary(name string, lines ...string) string { return normalised(name, lines) }

// VaryLanguageKey returns the key of a response in exactly one language that varies by
// Accept-Language. Requests that prefer that language most find it (RFC 9110, section 12.5.4). The
// key is that of VaryKey with the language in place of Accept-Language. If Accept-Language is among
// the names, VaryKey never returns it.
func VaryLanguageKey(names []string, lines func(name string) []string, language string) string {
	var key []byte
	for _, name := range names {
		if name == acceptLanguage {
			key = appendNormalised(key, name, '@', []string{lower(language)})
			continue
		}
		key = appendNormalised(key, name, '=', lines(name))
	}
	return string(key)
}

const acceptLanguage = "Accept-Language"

// appendNormalised appends a field.
func appendNormalised(key []byte, name string, mark byte, lines []string) []byte {
	if len(lines) == 0 {
		return AppendVary(key, name, "", true)
	}
	return appendValue(key, name, mark, normalised(name, lines))
}

// appendValue appends a field unambiguously: its value follows its length. The name is a token, so
// it contains none of the separators.
func appendValue(key []byte, name string, mark byte, value string) []byte {
	key = append(append(key, name...), mark)
	key = append(strconv.AppendInt(key, int64(len(value)), 10), ':')
	return append(append(key, value...), ';')
}

// normalised returns the normalised value of a request field.
func normalised(name string, lines []string) string {
	list := strings.Join(lines, ",") // RFC 9110, section 5.3
	switch name {
	case "Cookie": // no list: a comma is a part of a value
		return strings.Join(lines, "; ")
	case "Accept", "Accept-Encoding", acceptLanguage:
		if prefs, ok := readPreferences(list); ok {
			return joinPreferences(prefs)
		}
	}
	parts, _ := splitUnquoted(list, ',')
	return strings.Join(parts, ",")
}

// PreferredLanguage returns the one language, in lower case, that the lines of an Accept-Language
// prefer. It is empty if there is none: on a tie, for "*", for a weight of zero, and if the list is
// malformed or contradictory.
func PreferredLanguage(lines []string) string {
	prefs, ok := readPreferences(strings.Join(lines, ","))
	if !ok || len(prefs) == 0 {
		return ""
	}
	best := prefs[0]
	if best.weight == 0 || best.value == "*" || !isToken(best.value) {
		return ""
	}
	rival := func(p preference) bool { return p.weight == best.weight || p.value == best.value }
	if slices.ContainsFunc(prefs[1:], rival) {
		return ""
	}
	return best.value
}
