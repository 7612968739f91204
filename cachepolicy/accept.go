package cachepolicy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A preference is a member of Accept, Accept-Encoding or Accept-Language (RFC 9110, section 12.5).
type preference struct {
	value  string // media range, coding or language in lower case, and its parameters as they came
	weight int    // in thousandths
}

// readPreferences reads a list, the best first; ok is false where one of its members can't be read. Members that are liked
// alike have no order among them (RFC 9110, section 12.4.2): they are sorted by name.
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

// readPreference takes a parameter called q for the weight wherever it stands (RFC 9110, section 12.5.1), once.
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

// joinPreferences writes a list that readPreferences would read again.
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
