// Package release defines the form of a release in the object store, and reads and writes it: the
// small object that names the current release, the manifest that describes a release, and the
// archive of a pack. It does no I/O except on the readers and writers that callers pass.
//
// A release is a manifest. It names an archive for each pack and one search index by the SHA-256 of
// their bytes, so that releases share unchanged objects:
//
//	current                       names the current release; replaced last
//	releases/<id>/release.json    the manifest
//	packs/<sha256>.zip            an archive: an ordinary ZIP with an entry NAME.svg for each icon and alias
//	docs/<sha256>.docs            the docs of a pack: its part of the index, for the next publication
//	search/<sha256>.idx           a search index, in the form of package search
//	sets/<sha256>.json            what the sources say about their packs (Set)
//
// The comment of an archive's entry is the icon's Meta in JSON. Opening an archive reads its
// central directory only; each icon is decompressed when it is requested.
package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrDamaged means that bytes are not a valid manifest, archive or current object, or not the
// expected one. Callers add the key of the object.
var ErrDamaged = errors.New("damaged")

// CurrentKey is the key of the object that names the current release.
const CurrentKey = "current"

// Prefixes of the kinds of keys.
const (
	ManifestPrefix = "releases/"
	ArchivePrefix  = "packs/"
	DocsPrefix     = "docs/"
	IndexPrefix    = "search/"
	SetsPrefix     = "sets/"
)

const manifestName = "/release.json"

// ManifestKey returns the key of a release's manifest.
func ManifestKey(id string) string { return ManifestPrefix + id + manifestName }

// ManifestID returns the id of the release whose manifest has that key.
func ManifestID(key string) (id string, ok bool) {
	id, found := strings.CutPrefix(key, ManifestPrefix)
	id, rest := strings.CutSuffix(id, manifestName)
	return id, found && rest && ValidID(id)
}

// ArchiveKey returns the key of a pack's archive.
func ArchiveKey(hash string) string { return ArchivePrefix + hash + ".zip" }

// DocsKey returns the key of the docs of a pack.
func DocsKey(hash string) string { return DocsPrefix + hash + ".docs" }

// IndexKey returns the key of a search index.
func IndexKey(hash string) string { return IndexPrefix + hash + ".idx" }

// SetsKey returns the key of the sets of a release.
func SetsKey(hash string) string { return SetsPrefix + hash + ".json" }

// A Blob names an object by the hash of its content.
type Blob struct {
	Hash string `json:"sha256"` // in lower-case hex
	Size int64  `json:"size"`   // in bytes
}

func (b Blob) valid() bool { return isHex(b.Hash, 64) && b.Size >= 0 }

// ValidID reports whether s has the form of a release's id: 32 hexadecimal digits in lower case.
func ValidID(s string) bool { return isHex(s, 32) }

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// Current is the object that names the current release.
type Current struct {
	Release   string    `json:"release"`
	Published time.Time `json:"published"` // time at which it became current
}

// Encode returns the form that ParseCurrent reads.
func (c Current) Encode() []byte { return encode(c) }

// ParseCurrent reads the object at CurrentKey. The error is ErrDamaged.
func ParseCurrent(data []byte) (Current, error) {
	var c Current
	if err := json.Unmarshal(data, &c); err != nil {
		return Current{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if !ValidID(c.Release) {
		return Current{}, fmt.Errorf("%w: it names no valid release", ErrDamaged)
	}
	return c, nil
}

func encode(v any) []byte {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil { // only a time beyond the year 9999 can't be encoded
		panic(err)
	}
	return append(b, '\n')
}
