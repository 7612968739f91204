// Package icon holds the vocabulary that all packages share: the names of icons (Ref), their
// colours (Color) and variants (Variant), the parameters of requests (Params), and the forms of the
// answers. Edge and origin communicate only over HTTP, and this package defines the data that they
// exchange. It imports only the standard library and knows nothing of HTTP servers, stores or
// caches.
package icon

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxKey is the longest pack key or icon name, in bytes.
const MaxKey = 128

// MaxSpelling is the longest spelling of an icon's name that is not a valid name, in bytes.
const MaxSpelling = 255

// ValidSpelling reports whether s may be another spelling of an icon's name, as its author has it:
// the name of a file, which is no valid name itself. Clients fetch the icon by it.
func ValidSpelling(s string) bool {
	if s == "" || len(s) > MaxSpelling || ValidKey(s) || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r == '/' || r == '\\' || !unicode.IsPrint(r) })
}

// ErrRef means that a string is not the reference of an icon. It says nothing about whether such an
// icon exists.
var ErrRef = errors.New("an icon's name is pack/name, both of lower-case letters, digits and single hyphens, at most 128 bytes each")

// A Ref names one icon: a pack's key and a name in that pack.
type Ref struct{ Pack, Name string }

// String returns the form that ParseRef reads, such as "mdi/home".
func (r Ref) String() string { return r.Pack + "/" + r.Name }

// ParseRef reads "pack/name". The error is ErrRef.
func ParseRef(s string) (Ref, error) {
	pack, name, ok := strings.Cut(s, "/")
	if !ok || !ValidKey(pack) || !ValidKey(name) {
		return Ref{}, ErrRef
	}
	return Ref{pack, name}, nil
}

// ValidKey reports whether s has the form of a pack's key or an icon's name:
// [a-z0-9]+(-[a-z0-9]+)*, at most MaxKey bytes.
func ValidKey(s string) bool {
	if s == "" || len(s) > MaxKey || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '-' && s[i-1] != '-':
		default:
			return false
		}
	}
	return true
}
