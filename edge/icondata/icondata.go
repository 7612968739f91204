// Package icondata has the form of the pieces of Iconify's icon data that an edge caches: it splits
// a response of the origin into pieces, and joins pieces into a response without parsing them, or
// makes a stylesheet of them.
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
	"unicode/utf8"
)

// A Piece is what a response says about one name: a member of `icons`, or a member of `aliases`.
type Piece struct {
	Name   string
	Parent string // of an alias: the name of the icon or alias that it stands for; empty: an icon
	Member []byte // `"home":{"body":"…"}`
}

// An Answer is icon data in pieces.
type Answer struct {
	// Head has the members about the pack: `"prefix":"mdi","lastModified":1719000000,…`.
	Head []byte
	// Info is what the source says about the pack, an object; nil: the response does not have it.
	Info     []byte
	Callback string   // of a script; empty: the response is JSON
	Pieces   []*Piece // icons and aliases, each name once
	NotFound []string // names that the pack does not have

	prepared     []Prepared // the pieces that are joined
	begun        [2]bool    // `icons` and `aliases` have a member
	plain, coded int        // lengths of all members
	pending      int        // pieces that are not deflated
}

// ErrForm means that a response is not icon data.
var ErrForm = errors.New("not icon data")

// headMembers are the members of a response that are about the pack, in their order in a response.
var headMembers = []string{"prefix", "lastModified", "width", "height"}

// Split splits a response of an origin. It checks that each alias leads to an icon of the same
// response, so that a join of the pieces is complete. The error is ErrForm.
func Split(response []byte) (Answer, error) {
	compact := bytes.NewBuffer(make([]byte, 0, len(response)))
	if err := json.Compact(compact, response); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	members, err := objectOf(compact.Bytes())
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	for _, name := range headMembers {
		if value, ok := members[name]; ok {
			a.Head = appendMember(a.Head, name, value)
		}
	}
	a.Info = members["info"]
	if value, ok := members["not_found"]; ok {
		if err := json.Unmarshal(value, &a.NotFound); err != nil {
			return Answer{}, fmt.Errorf("%w: its not_found: %w", ErrForm, err)
		}
	}
	var prefix string
	if err := json.Unmarshal(members["prefix"], &prefix); err != nil || prefix == "" || members["icons"] == nil {
		return Answer{}, fmt.Errorf("%w: it has no prefix or no icons", ErrForm)
	}
	icons, err := objectOf(members["icons"])
	if err != nil {
		return Answer{}, err
	}
	var aliases map[string][]byte
	if value, ok := members["aliases"]; ok {
		if aliases, err = objectOf(value); err != nil {
			return Answer{}, err
		}
	}
	return a, a.add(icons, aliases)
}

// add adds the pieces of a response.
func (a *Answer) add(icons, aliases map[string][]byte) error {
	parents := make(map[string]string, len(aliases))
	for name, value := range aliases {
		var alias struct{ Parent string }
		if err := json.Unmarshal(value, &alias); err != nil || alias.Parent == "" {
			return fmt.Errorf("%w: the alias %q has no parent", ErrForm, name)
		}
		parents[name] = alias.Parent
	}
	for _, name := range slices.Sorted(maps.Keys(icons)) {
		if _, both := parents[name]; both {
			return fmt.Errorf("%w: %q is an icon and an alias", ErrForm, name)
		}
		a.Pieces = append(a.Pieces, &Piece{Name: name, Member: appendMember(nil, name, icons[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		if !leadsToIcon(name, parents, icons) {
			return fmt.Errorf("%w: the alias %q leads to no icon", ErrForm, name)
		}
		a.Pieces = append(a.Pieces, &Piece{Name: name, Parent: parents[name], Member: appendMember(nil, name, aliases[name])})
	}
	return nil
}

// objectOf returns the members of an object, whose JSON is valid and compact. Of members with the
// same name the last one counts. The error is ErrForm.
func objectOf(b []byte) (map[string][]byte, error) {
	members := map[string][]byte{}
	if len(b) == 0 || b[0] != '{' {
		return nil, fmt.Errorf("%w: an object is none", ErrForm)
	}
	for rest := b[1:]; rest[0] != '}'; {
		n := valueLen(rest)
		name, err := nameOf(rest[:n])
		if err != nil {
			return nil, err
		}
		rest = rest[n+1:] // after the colon
		n = valueLen(rest)
		members[name] = rest[:n:n]
		if rest = rest[n:]; rest[0] == ',' {
			rest = rest[1:]
		}
	}
	return members, nil
}

func nameOf(quoted []byte) (name string, err error) {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	if err := json.Unmarshal(quoted, &name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrForm, err)
	}
	return name, nil
}

// valueLen returns the length of the value at the beginning of b, which is valid and compact.
func valueLen(b []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			i += stringLen(b[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':':
			continue // inside, because depth is not 0
		default: // a number or a word
			for i+1 < len(b) && bytes.IndexByte([]byte(",:]}"), b[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// stringLen returns the length of the string at the beginning of b, with its quotes.
func stringLen(b []byte) int {
	for n := 1; ; n++ {
		n += bytes.IndexByte(b[n:], '"')
		escapes := 0
		for b[n-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return n + 1
		}
	}
}

// leadsToIcon reports whether an alias leads to an icon, perhaps through other aliases.
func leadsToIcon(name string, parents map[string]string, icons map[string][]byte) bool {
	for range len(parents) {
		name = parents[name]
		if _, ok := icons[name]; ok {
			return true
		}
	}
	return false
}

// appendMember appends a member of an object, after a comma if it is not the first. The value is
// compact.
func appendMember(dst []byte, name string, value []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	if dst == nil {
		dst = make([]byte, 0, len(quoted)+1+len(value))
	}
	return append(append(append(dst, quoted...), ':'), value...)
}
