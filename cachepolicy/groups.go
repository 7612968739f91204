package cachepolicy

import (
	"net/http"

	"github.com/dunglas/httpsfv"
)

const (
	// MaxGroups is the number of groups that one response may have or invalidate. RFC 9875, section
	// 2, requires 32 of 32 characters each.
	MaxGroups = 64
	// MaxGroupLength is the length of the longest name of a group in characters, which are ASCII.
	MaxGroupLength = 128
)

// Groups returns the cache groups of a response with the fields h (Cache-Groups; RFC 9875, section
// 2), and how many others it ignores because of the limits. A malformed field has none.
func Groups(h http.Header) (names []string, ignored int) { return groupList(h["Cache-Groups"]) }

// InvalidatedGroups returns the cache groups that a response with the fields h invalidates
// (Cache-Group-Invalidation; RFC 9875, section 3), and how many others it ignores because of the
// limits. A response to a safe method invalidates none.
func InvalidatedGroups(method string, h http.Header) (names []string, ignored int) {
	if safe(method) {
		return nil, 0
	}
	return groupList(h["Cache-Group-Invalidation"])
}

// groupList reads a list of strings as RFC 9651 defines it. It ignores members of another type, and
// parameters.
func groupList(lines []string) (names []string, ignored int) {
	if len(lines) == 0 {
		return nil, 0
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return nil, 0
	}
	for _, member := range list {
		item, _ := member.(httpsfv.Item) // the value of an inner list is none
		switch name, ok := item.Value.(string); {
		case !ok:
		case len(names) == MaxGroups || len(name) > MaxGroupLength:
			ignored++
		default:
			names = append(names, name)
		}
	}
	return names, ignored
}
