package objectstore

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxKey     = 1024        // bytes, the limit of S3 ("Naming Amazon S3 objects")
	maxSegment = 255         // bytes, NAME_MAX of the usual file systems: what one store takes, the other takes too
	private    = ".iconedge" // the folder at the root of a folder store that holds its lock and unfinished writes
)

// checkKey is the one gate in front of both stores: what passes can be joined to a root or a prefix. The error is ErrKey.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > maxKey:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrKey, maxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrKey)
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }):
		return fmt.Errorf("%w: it has a control character or a backslash in it", ErrKey)
	}
	first, _, _ := strings.Cut(key, "/")
	if first == private {
		return fmt.Errorf("%w: %s is the store's own", ErrKey, private)
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return fmt.Errorf("%w: it has an empty segment, or one of dots", ErrKey)
		case len(segment) > maxSegment:
			return fmt.Errorf("%w: a segment is longer than %d bytes", ErrKey, maxSegment)
		}
	}
	return nil
}

// checkPrefix passes the prefix of a listing: nothing, or the beginning of a key.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return checkKey(strings.TrimSuffix(prefix, "/"))
}
