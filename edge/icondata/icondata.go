// Package icondata has the form of the pieces of Iconify's icon data that an edge caches: it splits
// a response of the origin into pieces, and joins pieces into a response without parsing them.
//
// Clients request any set of icons of a pack in one response, so a cache whose keys are addresses
// hardly ever hits. A cache of pieces hits as soon as each icon has been requested once, by any
// client.
package icondata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Piece is what a response says about one name: a member of `icons`, or a member of `aliases`.
type Piece struct {
	Name   string
	Parent string // of an alias: the name of the icon or alias that it stands for; empty: an icon
	Member []byte // `"home":{"body":"…"}`
	// Deflated is Member as Deflate returns it; nil: a gzip response has it without compression.
	Deflated []byte
}

// An Answer is icon data in pieces.
type Answer struct {
	// Head has the members about the pack: `"prefix":"mdi","lastModified":1719000000,…`.
	Head     []byte
	Pieces   []Piece  // icons and aliases, each name once
	NotFound []string // names that the pack does not have
}

// ErrForm means that a response is not icon data.
var ErrForm = errors.New("not icon data")

// headMembers are the members of a response that are about the pack, in their order in a response.
var headMembers = []string{"prefix", "lastModified", "width", "height"}

// Split splits a response of an origin. It checks that each alias leads to an icon of the same
// response, so that a join of the pieces is complete. The error is ErrForm.
func Split(response []byte) (Answer, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(response, &members); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	var a Answer
	for _, name := range headMembers {
		if value, ok := members[name]; ok {
			a.Head = appendMember(a.Head, name, value)
		}
	}
	var prefix string
	var icons, aliases map[string]json.RawMessage
	for name, to := range map[string]any{"prefix": &prefix, "icons": &icons, "aliases": &aliases, "not_found": &a.NotFound} {
		if value, ok := members[name]; ok {
			if err := json.Unmarshal(value, to); err != nil {
				return Answer{}, fmt.Errorf("%w: its %s: %w", ErrForm, name, err)
			}
		}
	}
	if prefix == "" || icons == nil {
		return Answer{}, fmt.Errorf("%w: it has no prefix or no icons", ErrForm)
	}
	parents := map[string]string{}
	for name, value := range aliases {
		var alias struct{ Parent string }
		if err := json.Unmarshal(value, &alias); err != nil || alias.Parent == "" {
			return Answer{}, fmt.Errorf("%w: the alias %q has no parent", ErrForm, name)
		}
		parents[name] = alias.Parent
	}
	for _, name := range slices.Sorted(maps.Keys(icons)) {
		if _, both := parents[name]; both {
			return Answer{}, fmt.Errorf("%w: %q is an icon and an alias", ErrForm, name)
		}
		a.Pieces = append(a.Pieces, Piece{Name: name, Member: appendMember(nil, name, icons[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		if !leadsToIcon(name, parents, icons) {
			return Answer{}, fmt.Errorf("%w: the alias %q leads to no icon", ErrForm, name)
		}
		a.Pieces = append(a.Pieces, Piece{Name: name, Parent: parents[name], Member: appendMember(nil, name, aliases[name])})
	}
	return a, nil
}

// leadsToIcon reports whether an alias leads to an icon, perhaps through other aliases.
func leadsToIcon(name string, parents map[string]string, icons map[string]json.RawMessage) bool {
	for range len(parents) {
		name = parents[name]
		if _, ok := icons[name]; ok {
			return true
		}
	}
	return false
}

// appendMember appends a member of an object, after a comma if it is not the first.
func appendMember(dst []byte, name string, value json.RawMessage) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	dst = append(append(dst, quoted...), ':')
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		panic(err) // Unmarshal has read it
	}
	return append(dst, compact.Bytes()...)
}
