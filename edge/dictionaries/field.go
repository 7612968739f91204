package dictionaries

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/dunglas/httpsfv"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/represent"
)

// The fields of RFC 9842, section 2.
const (
	FieldUse       = "Use-As-Dictionary"
	FieldAvailable = cachepolicy.AvailableDictionary
	FieldID        = "Dictionary-Id"
)

// maxID is the length of the longest id, in characters (RFC 9842, section 2.1.3).
const maxID = 1024

// A Hash is the SHA-256 of a dictionary.
type Hash = [sha256.Size]byte

// A Declaration says for which requests a response is a dictionary.
type Declaration struct {
	match *Pattern
	dests []string // of Sec-Fetch-Dest; none: any
}

// Declared returns what a response with the fields h to a request for a target declares. ok is
// false if the response is no dictionary, or one of a kind that the edge does not know.
func Declared(h http.Header, origin, target string) (d Declaration, ok bool) {
	if len(h[FieldUse]) == 0 {
		return d, false
	}
	members, err := httpsfv.UnmarshalDictionary(h[FieldUse])
	if err != nil {
		return d, false
	}
	match, _ := value(members, "match").(string)
	if d.match, ok = newPattern(match, origin, target); !ok {
		return d, false
	}
	if kind, given := members.Get("type"); given {
		if item, _ := kind.(httpsfv.Item); item.Value != httpsfv.Token("raw") {
			return d, false
		}
	}
	if id, _ := value(members, "id").(string); len(id) > maxID {
		return d, false
	}
	if list, given := members.Get("match-dest"); given {
		inner, isList := list.(httpsfv.InnerList)
		if !isList {
			return d, false
		}
		for _, item := range inner.Items {
			dest, isText := item.Value.(string)
			if !isText {
				return d, false
			}
			d.dests = append(d.dests, dest)
		}
	}
	return d, true
}

// value returns the value of a member that is an item; nil: there is none.
func value(d *httpsfv.Dictionary, name string) any {
	member, _ := d.Get(name)
	item, _ := member.(httpsfv.Item)
	return item.Value
}

// takes reports whether a request for a target with this Sec-Fetch-Dest is one of those that the
// declaration names. A client without the field may ask for anything.
func (d *Declaration) takes(target, dest string) bool {
	if len(d.dests) > 0 && dest != "" && !slices.Contains(d.dests, dest) {
		return false
	}
	return d.match.Match(target)
}

// available returns the hash in a value of Available-Dictionary, which is a byte sequence.
func available(value []byte) (hash Hash, ok bool) {
	const digits = 44 // of base64
	if len(value) != digits+2 || value[0] != ':' || value[len(value)-1] != ':' {
		return hash, false
	}
	var room [33]byte // that of any 44 digits
	n, err := base64.StdEncoding.Decode(room[:], value[1:len(value)-1])
	copy(hash[:], room[:])
	return hash, err == nil && n == len(hash)
}

// IsShared reports whether a stored response with the fields h is the same for all clients, so that
// it may be a dictionary and may be compressed against one (RFC 9842, section 9.2). A response that
// varies by Available-Dictionary comes from an origin that makes the differences itself.
func IsShared(h http.Header) bool {
	c := cachepolicy.ParseCacheControl(h["Cache-Control"]...)
	if c.Private || c.NoStore || len(c.PrivateFields) > 0 || len(h["Set-Cookie"]) > 0 {
		return false
	}
	names, anything := cachepolicy.VaryNames(h)
	return !anything && !slices.ContainsFunc(names, func(name string) bool {
		return name == "Cookie" || name == "Authorization" || name == FieldAvailable
	})
}

// A Cause has the fields by which a browser says which page has caused a request, and how; empty:
// none.
type Cause struct{ Site, Mode, Origin string }

// Choose returns the coding in which a client gets the difference to a stored response. ok is false
// if it gets none: it prefers another coding, asks for a part of the response (which is one of the
// identity), or the page that caused the request may not have the difference. A response that
// varies by Available-Dictionary comes from an origin that makes the differences itself. allowed is
// the Access-Control-Allow-Origin of the response (AllowedOrigin); empty: none.
func (c *Cause) Choose(e *cache.Entry, a *represent.Asked, allowed string) (coding Coding, ok bool) {
	coding, ok = Accepted(a.AcceptEncoding)
	ok = ok && a.Range == "" && !slices.Contains(e.Vary, FieldAvailable)
	return coding, ok && c.MayRead(allowed)
}

// AllowedOrigin returns the Access-Control-Allow-Origin of a stored response; empty: none.
func AllowedOrigin(e *cache.Entry) string {
	for i := range e.Fields {
		if f := &e.Fields[i]; string(f.Name) == "Access-Control-Allow-Origin" {
			return string(f.Value)
		}
	}
	return ""
}

// MayRead reports whether the page that caused a request may read the response, whose
// Access-Control-Allow-Origin is allowed; empty: none. To a page that may not, the length of a
// difference would tell which version its visitor has (RFC 9842, section 9.3).
func (c *Cause) MayRead(allowed string) bool {
	switch {
	case c.Site == "same-origin", c.Mode == "", c.Mode == "navigate", c.Mode == "same-origin":
		return true
	case c.Mode != "cors" || c.Origin == "" || allowed == "":
		return false
	}
	return allowed == "*" || allowed == c.Origin
}
