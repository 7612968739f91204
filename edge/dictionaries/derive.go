package dictionaries

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

const (
	minDerived = 4 << 10        // bytes; the difference of a shorter body saves no packet
	maxDerived = 10 << 20       // bytes
	minLife    = 24 * time.Hour // of a response that does not change
)

// Derive returns the Use-As-Dictionary for a response with the fields h to a request for a target,
// whose body has so many bytes: the response is text that stays as it is, and its address differs
// from that of other versions in a hash, a version or a query alone. Empty: it is not such a one.
func Derive(h http.Header, target string, length int) string {
	if length < minDerived || length > maxDerived || !isText(h.Get("Content-Type")) || !isLasting(h) {
		return ""
	}
	match := deriveMatch(target)
	if match == "" {
		return ""
	}
	return `match="` + match + `"`
}

// isLasting reports whether clients may use a response for a day or longer without asking again.
func isLasting(h http.Header) bool {
	c := cachepolicy.ParseCacheControl(h["Cache-Control"]...)
	return !c.NoCache && (c.Immutable || c.HasMaxAge && c.MaxAge >= minLife)
}

// isText reports whether a media type is that of scripts, style sheets and other text, and of
// programs in WebAssembly.
func isText(contentType string) bool {
	kind := strings.ToLower(strings.TrimSpace(contentType))
	binary := strings.HasPrefix(kind, "font/") || strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "image/svg") ||
		strings.HasPrefix(kind, "application/font") || strings.HasPrefix(kind, "application/x-font")
	return !binary && entry.Compressible(contentType)
}

// The parts of the name of a file: the text before a hash, the hash, and the extensions.
var (
	// bundled is the form of bundlers whose hashes are eight digits of base64, among them hyphens.
	bundled = regexp.MustCompile(`^(.*[-.])([A-Za-z0-9_-]{8})((?:\.[a-z]{1,10}){1,2})$`)
	hashed  = regexp.MustCompile(`^(.*[-._]|)([A-Za-z0-9]{4,64})((?:\.[a-z]{1,10}){1,2})$`)
	// versioned has a number such as 3.7.1.
	versioned = regexp.MustCompile(`^(.*?[-._])(v?\d+(?:\.\d+)+)((?:\.[a-z][a-z0-9]{0,9}){1,2})$`)
	// plain is the characters that a browser and a pattern leave as they are.
	plain = regexp.MustCompile(`^/[A-Za-z0-9/._~@%!$&',;=-]*$`)
	// versions are queries that name a version alone.
	versions = regexp.MustCompile(`^(?:(?:v|ver|version|h|hash|t|ts|rev|cb|build|_)=)?[A-Za-z0-9._-]{1,64}$`)
)

// deriveMatch returns the pattern that the versions of a file have in common; empty: none.
func deriveMatch(target string) string {
	path, query, asks := strings.Cut(target, "?")
	if !plain.MatchString(path) || hasDots(path) || len(path) > maxMatch/2 {
		return ""
	}
	if asks { // a pattern without a query matches any
		if versions.MatchString(query) {
			return path
		}
		return ""
	}
	at := strings.LastIndexByte(path, '/') + 1
	folder, name := path[:at], path[at:]
	for _, form := range []*regexp.Regexp{versioned, bundled, hashed} {
		m := form.FindStringSubmatch(name)
		if m != nil && (form == versioned || isHash(m[2])) {
			return folder + m[1] + "*" + m[3]
		}
	}
	return ""
}

// isHash reports whether a word is a hash and no word: it has digits among letters, or small
// letters and a capital that is not its first letter.
func isHash(word string) bool {
	digits, letters, capital, small := 0, 0, false, false
	for i := range len(word) {
		switch c := word[i]; {
		case isDigit(c):
			digits++
		case 'A' <= c && c <= 'Z':
			letters++
			capital = capital || i > 0
		case 'a' <= c && c <= 'z':
			letters++
			small = true
		}
	}
	mixed := capital && small
	return digits > 0 && (letters > 0 || digits >= 8) || mixed
}
