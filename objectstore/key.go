package objectstore

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxKey = 1024 // bytes, the limit of S3 ("Naming Amazon S3 objects")
	// maxSegment is NAME_MAX of common file systems, in bytes, so that all stores accept the same
	// keys.
	maxSegment = 255
	private    = ".iconedge" // folder in a DirStore with its lock and unfinished writes
)

// checkKey checks the keys of every store. A valid key can safely be joined to a root folder or a
// prefix. The error is ErrKey.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > maxKey:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrKey, maxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrKey)
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }):
		return fmt.Errorf("%w: it contains a control character or a backslash", ErrKey)
	}
	first, _, _ := strings.Cut(key, "/")
	if first == private {
		return fmt.Errorf("%w: %s is reserved for the store", ErrKey, private)
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return fmt.Errorf("%w: it has an empty segment, or one that is \".\" or \"..\", which stores refuse", ErrKey)
		case len(segment) > maxSegment:
			return fmt.Errorf("%w: a segment is longer than %d bytes", ErrKey, maxSegment)
		}
	}
	return nil
}

// checkPrefix checks the prefix of a listing, which is empty or the beginning of a key.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return checkKey(strings.TrimSuffix(prefix, "/"))
}
