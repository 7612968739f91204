package cachepolicy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// VaryNames are the fields that Vary names, as http.CanonicalHeaderKey spells them, sorted, each once; any means that "*", or
// something that is no name, is among them: no request is known to match (RFC 9111, section 4.1).
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

// VaryKey is the secondary key of a request for an answer whose Vary has these names: requests with equal keys may have the same
// answer (RFC 9111, section 4.1). The function lines returns all lines of a field of the request, none where it is absent, which
// is not the same as empty. What is known to mean the same gives the same key: lines that could be one, whitespace around
// commas, and in Accept, Accept-Encoding and Accept-Language order, case, and ways to write a weight.
func VaryKey(names []string, lines func(name string) []string) string {
	var key []byte
	for _, name := range names {
		key = appendSelecting(key, name, '=', lines(name))
	}
	return string(key)
}

// VaryLanguageKey is the key under which an answer that varies with Accept-Language, and is in exactly one language, is found by
// requests that like that language best (RFC 9110, section 12.5.4): that of VaryKey with the language in the place of
// Accept-Language. It is never one of VaryKey's, if Accept-Language is among the names.
func VaryLanguageKey(names []string, lines func(name string) []string, language string) string {
	var key []byte
	for _, name := range names {
		if name == acceptLanguage {
			key = appendSelecting(key, name, '@', []string{lower(language)})
			continue
		}
		key = appendSelecting(key, name, '=', lines(name))
	}
	return string(key)
}

const acceptLanguage = "Accept-Language"

// appendSelecting writes a field so that it can't be taken for another: its value stands behind its length. The name is a
// token, and so has none of the marks in it.
func appendSelecting(key []byte, name string, mark byte, lines []string) []byte {
	key = append(key, name...)
	if len(lines) == 0 {
		return append(key, ';')
	}
	value := selecting(name, lines)
	key = strconv.AppendInt(append(key, mark), int64(len(value)), 10)
	return append(append(append(key, ':'), value...), ';')
}

// selecting is the value of a field, normalised.
func selecting(name string, lines []string) string {
	list := strings.Join(lines, ",") // RFC 9110, section 5.3
	switch name {
	case "Accept", "Accept-Encoding", acceptLanguage:
		if prefs, ok := readPreferences(list); ok {
			return joinPreferences(prefs)
		}
	}
	parts, _ := splitUnquoted(list, ',')
	return strings.Join(parts, ",")
}

// PreferredLanguage is the one language that the lines of an Accept-Language like best, in lower case; empty where there is
// none: a tie, "*", a weight of zero, or a list that can't be read or contradicts itself.
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
