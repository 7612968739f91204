package cachepolicy

import (
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/dunglas/httpsfv"
)

// SearchVariance says which differences between the queries of two addresses make no difference to
// the response, as the field No-Vary-Search does (draft-ietf-httpbis-no-vary-search, section 4).
// The zero value is the default: all differences count.
type SearchVariance struct {
	AnyOrder bool     // the order of parameters with different names does not matter
	All      bool     // no parameter matters, but for those in Names
	Names    []string // decoded: those that matter if All is set, else those that do not
}

// maxSearchNames bounds the names of a field, so that a query is compared with few.
const maxSearchNames = 64

// ParseNoVarySearch reads the field No-Vary-Search. ok is false if all differences count, as they
// do if the field is malformed (section 4.1).
func ParseNoVarySearch(lines []string) (v SearchVariance, ok bool) {
	if len(lines) == 0 {
		return v, false
	}
	d, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return v, false
	}
	if member, has := d.Get("key-order"); has {
		if v.AnyOrder, ok = flag(member); !ok {
			return SearchVariance{}, false
		}
	}
	if member, has := d.Get("params"); has {
		if v.All, ok = flag(member); !ok {
			if v.Names, ok = searchNames(member); !ok {
				return SearchVariance{}, false
			}
		}
	}
	if member, has := d.Get("except"); has {
		if v.Names, ok = searchNames(member); !ok || !v.All {
			return SearchVariance{}, false
		}
	}
	return v, v.AnyOrder || v.All || len(v.Names) > 0
}

// flag returns the value of a member that is a boolean.
func flag(m httpsfv.Member) (value, ok bool) {
	item, isItem := m.(httpsfv.Item)
	if !isItem {
		return false, false
	}
	value, ok = item.Value.(bool)
	return value, ok
}

// searchNames returns the names of a member that is a list of strings, in order and each once.
func searchNames(m httpsfv.Member) (names []string, ok bool) {
	list, isList := m.(httpsfv.InnerList)
	if !isList || len(list.Items) > maxSearchNames {
		return nil, false
	}
	for _, item := range list.Items {
		text, isText := item.Value.(string)
		if !isText {
			return nil, false
		}
		names = append(names, string(appendDecoded(nil, text)))
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// counts reports whether a parameter with a decoded name makes a difference.
func (v *SearchVariance) counts(name string) bool {
	for _, one := range v.Names {
		if one == name {
			return v.All
		}
	}
	return !v.All
}

// A parameter is one of a query, as the places of its decoded name and value in a buffer.
type parameter struct{ name, value, end int }

// parameters returns the names and values of a query, as they were sent.
func parameters(query string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for one := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(one, "="); one != "" && !yield(name, value) {
				return
			}
		}
	}
}

// AppendCanonical appends the canonical form of a query, without its question mark. Two queries
// have the same form if and only if they are equivalent by v: both have the same parameters that
// count, decoded as those of a form (URL Standard, section 5.1), in the same order; with AnyOrder
// in the same order of those of each name.
func (v *SearchVariance) AppendCanonical(dst []byte, query string) []byte {
	if out, ok := v.appendPlain(dst, query); ok {
		return out
	}
	var room [512]byte
	var list [16]parameter
	text, all := room[:0], list[:0]
	for name, value := range parameters(query) {
		p := parameter{name: len(text)}
		text = appendDecoded(text, name)
		if !v.counts(unsafe.String(unsafe.SliceData(text[p.name:]), len(text)-p.name)) {
			text = text[:p.name]
			continue
		}
		p.value = len(text)
		text = appendDecoded(text, value)
		p.end = len(text)
		all = append(all, p)
	}
	if v.AnyOrder {
		sortByName(all, text)
	}
	for i, p := range all {
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = appendEncoded(dst, text[p.name:p.value])
		dst = append(dst, '=')
		dst = appendEncoded(dst, text[p.value:p.end])
	}
	return dst
}

// appendPlain is AppendCanonical for a query whose names, and the values of those that count, are
// in their canonical form. It reports false if the query is none.
func (v *SearchVariance) appendPlain(dst []byte, query string) (out []byte, ok bool) {
	if v.AnyOrder {
		return dst, false
	}
	out = dst
	for name, value := range parameters(query) {
		switch {
		case !isPlain(name):
			return dst, false
		case !v.counts(name):
			continue
		case !isPlain(value):
			return dst, false
		}
		if len(out) > len(dst) {
			out = append(out, '&')
		}
		out = append(append(append(out, name...), '='), value...)
	}
	return out, true
}

// isPlain reports whether a name or a value has only bytes that appendEncoded leaves as they are.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if !plain[s[i]] {
			return false
		}
	}
	return true
}

// plain has the bytes of names and values that are not encoded.
var plain = func() (is [256]bool) {
	for c := range is {
		b := byte(c)
		is[c] = 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || strings.IndexByte("-_.*", b) >= 0
	}
	return is
}()

func sortByName(all []parameter, text []byte) {
	slices.SortStableFunc(all, func(a, b parameter) int {
		return strings.Compare(string(text[a.name:a.value]), string(text[b.name:b.value]))
	})
}

// appendDecoded appends a name or a value decoded: a plus is a space, and two hexadecimal digits
// behind a percent sign are a byte. Bytes that are no UTF-8 stay as they are. The URL Standard
// makes all of them U+FFFD, but an origin may tell them apart, and two queries would have one
// response.
func appendDecoded(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			dst = append(dst, ' ')
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			dst = append(dst, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// appendEncoded appends text so that it has no byte that separates parameters or ends a key.
func appendEncoded(dst, text []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range text {
		if plain[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}
