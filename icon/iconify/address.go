// Package iconify knows the addresses of Iconify's API: which path is which kind, which parameters
// it takes, and the canonical form in which edge and origin speak of it. All spellings of a request
// have one canonical form, so that caches store one response for them.
//
// Paths are those of @iconify/api 3: at the root of a host, and again below Mount, where
// /{prefix}/{name}.svg is Iconify's too. The package does no I/O and knows nothing of HTTP servers.
package iconify

import (
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// Mount is the path below which all addresses are Iconify's. It is also the reserved key of no
// pack.
const Mount = "/iconify"

// A Kind is a kind of address.
type Kind uint8

// The kinds.
const (
	None            Kind = iota
	Data                 // /{prefix}.json?icons=
	Script               // /{prefix}.js?icons=
	Stylesheet           // /{prefix}.css?icons=
	SVG                  // /{prefix}:{name}.svg
	Package              // /{prefix}.json without icons: the whole set
	Collections          // /collections
	Collection           // /collection
	List                 // /list-icons
	ListCategorized      // /list-icons-categorized
	Search               // /search
	Keywords             // /keywords
	LastModified         // /last-modified
	Version              // /version
)

// fixed holds the addresses without a variable part.
var fixed = map[string]Kind{
	"/collections": Collections, "/collection": Collection, "/list-icons": List, "/list-icons-categorized": ListCategorized,
	"/search": Search, "/keywords": Keywords, "/last-modified": LastModified, "/version": Version,
}

// Lists are the addresses without a variable part.
var Lists = []string{"/collections", "/collection", "/list-icons", "/list-icons-categorized", "/search", "/keywords",
	"/last-modified", "/version"}

// An Address is a path of one of the kinds. Prefix and Name are as in the path, perhaps of nothing.
type Address struct {
	Kind         Kind
	Prefix, Name string
}

// Find returns the address of a path, which may begin with Mount. mounted means that the host
// itself is the mount.
func Find(path string, mounted bool) (Address, bool) {
	if rest, below := strings.CutPrefix(path, Mount); below && strings.HasPrefix(rest, "/") {
		return find(rest, true)
	}
	return find(path, mounted)
}

func find(path string, mounted bool) (Address, bool) {
	if kind, ok := fixed[path]; ok {
		return Address{Kind: kind}, true
	}
	if prefix, ok := packagePath(path); ok {
		return Address{Kind: Package, Prefix: prefix}, true
	}
	first, second, two := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !two {
		return single(first)
	}
	switch {
	case !isName(first):
	case second == "icons.json":
		return Address{Kind: Data, Prefix: first}, true
	case second == "icons.js":
		return Address{Kind: Script, Prefix: first}, true
	case mounted:
		if name, ok := strings.CutSuffix(second, ".svg"); ok && isName(name) {
			return Address{SVG, first, name}, true
		}
	}
	return Address{}, false
}

// files holds the kinds of files by the end of their names.
var files = map[string]Kind{".json": Data, ".js": Script, ".css": Stylesheet, ".svg": SVG}

// single returns the address of a path of one segment.
func single(file string) (Address, bool) {
	dot := strings.LastIndexByte(file, '.')
	if dot <= 0 {
		return Address{}, false
	}
	stem, kind := file[:dot], files[file[dot:]]
	if kind != SVG {
		if kind == None || !isName(stem) {
			return Address{}, false
		}
		return Address{Kind: kind, Prefix: stem}, true
	}
	prefix, name, ok := strings.Cut(stem, ":")
	if !ok {
		prefix, name, ok = strings.Cut(stem, "-")
	}
	if !ok || !isName(prefix) || !isName(name) {
		return Address{}, false
	}
	return Address{SVG, prefix, name}, true
}

// packagePath reads the path of a pack's npm package, as on unpkg (/@iconify-json/mdi@1/icons.json)
// and jsDelivr (/npm/@iconify-json/mdi/icons.json). There is one version: the current release.
func packagePath(path string) (prefix string, ok bool) {
	path = strings.TrimPrefix(path, "/npm")
	rest, ok := strings.CutPrefix(path, "/@iconify-json/")
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, "/icons.json")
	prefix, version, _ := strings.Cut(rest, "@")
	return prefix, ok && isName(prefix) && len(version) <= 32 && !strings.Contains(version, "/")
}

// isName reports whether s has the characters of a prefix or a name, as in the routes of
// @iconify/api.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return false
		}
	}
	return s != "" && len(s) <= icon.MaxKey
}
