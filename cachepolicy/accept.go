package cachepolicy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A preference is a member of Accept, Accept-Encoding or Accept-Language (RFC 9110, section 12.5).
type preference struct {
	// value is a media range, coding or language in lower case, with its parameters as the client
	// sent them.
	value  string
	weight int // in thousandths
}

// readPreferences parses a list and sorts it by weight, the greatest first. Members of equal weight
// have no order of preference (RFC 9110, section 12.4.2), so they are sorted by name. ok is false
// if a member is malformed.
func readPreferences(list string) (prefs []preference, ok bool) {
	members, closed := splitUnquoted(list, ',')
	for _, member := range members {
		if member == "" {
			continue // empty elements are ignored (section 5.6.1.2)
		}
		p, ok := readPreference(member)
		if !ok {
			return nil, false
		}
		prefs = append(prefs, p)
	}
	slices.SortFunc(prefs, func(a, b preference) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.value, b.value))
	})
	return prefs, closed
}

// readPreference parses one member of a list. A parameter named q is its weight, in whatever
// position (RFC 9110, section 12.5.1); a second q is malformed.
func readPreference(member string) (p preference, ok bool) {
	parts, _ := splitUnquoted(member, ';')
	p = preference{value: lower(parts[0]), weight: 1000}
	weighted, ok := false, isToken(strings.Replace(p.value, "/", "", 1))
	for _, param := range parts[1:] {
		name, _, _ := strings.Cut(param, "=")
		if lower(trim(name)) != "q" {
			p.value += ";" + param
			continue
		}
		q, readable := weight(param)
		ok = ok && readable && !weighted
		p.weight, weighted = q, true
	}
	return p, ok
}

// joinPreferences writes a list that readPreferences parses into the same preferences.
func joinPreferences(prefs []preference) string {
	var b strings.Builder
	for i, p := range prefs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.value)
		if p.weight < 1000 {
			b.WriteString(";q=" + strconv.FormatFloat(float64(p.weight)/1000, 'f', -1, 64))
		}
	}
	return b.String()
}
